package migrate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

var appProject = schema.GroupKind{Group: "argoproj.io", Kind: "AppProject"}

func argoSyncWindows() Tool {
	return Tool{Name: "argocd", Title: "Argo CD sync windows", Reads: Namespaced(appProject, Application),
		Convert: convertProjects}
}

func convertProjects(in *Input, out *Output) {
	found := false
	for _, p := range in.Of(appProject) {
		if windows := p.Get("spec.syncWindows").Array(); len(windows) > 0 {
			found = true
			convertProject(in, p, windows, out)
		}
	}
	if found {
		out.Step("turn the adapter of Applications on, apply the objects below, and then take syncWindows out of the AppProjects; an " +
			"Application that is itself in Git is reset by its own sync")
	}
}

// convertProject adds a Schedule for each group of Applications that have the same windows.
func convertProject(in *Input, p Object, windows []rawjson.Value, out *Output) {
	var members Groups[string, string]
	for _, app := range in.Of(Application) {
		if app.Namespace() != p.Namespace() || cmp.Or(app.Get("spec.project").Str, "default") != p.Name() {
			continue
		}
		var key []string
		for i, w := range windows {
			if appliesTo(w, app) {
				key = append(key, fmt.Sprint(i))
			}
		}
		if len(key) > 0 {
			members.Add(strings.Join(key, ","), app.Name())
		}
	}
	if in.Files && len(in.Of(Application)) == 0 {
		for i, w := range windows {
			for _, name := range Texts(w.Get("applications")) {
				if !strings.ContainsAny(name, "?[{") && strings.Trim(name, "*") != "" && !w.Get("namespaces.0").Exists() &&
					!w.Get("clusters.0").Exists() {
					members.Add(fmt.Sprint(i), name)
					continue
				}
				out.Leave(p,
					"syncWindows[%d]: to find out which Applications it holds for, the Applications are needed: give their manifests too, or work on "+
						"the cluster", i)
			}
			if !w.Get("applications.0").Exists() {
				out.Leave(p,
					"syncWindows[%d]: to find out which Applications it holds for, the Applications are needed: give their manifests too, or work on "+
						"the cluster", i)
			}
		}
	}
	for i, set := range members.Keys {
		var held []rawjson.Value
		for _, text := range strings.Split(set, ",") {
			n, _ := Count(text) // the text was formatted above, so it can be parsed
			held = append(held, windows[n])
		}
		name := p.Name()
		if i > 0 {
			name = fmt.Sprintf("%s-%d", name, i+1)
		}
		emitSync(p, name, held, members.Of[set], out)
		emitManual(p, name, held, members.Of[set], out)
	}
}

// appliesTo reports whether a window applies to an Application. Usually one of its lists has to match. With andOperator,
// every list that is not empty has to match.
func appliesTo(w rawjson.Value, app Object) bool {
	destination := app.Get("spec.destination")
	lists := []struct {
		globs  []string
		values []string
	}{
		{Texts(w.Get("applications")), []string{app.Name()}},
		{Texts(w.Get("namespaces")), []string{destination.Get("namespace").Str}},
		{Texts(w.Get("clusters")), []string{destination.Get("server").Str, destination.Get("name").Str}},
	}
	and := w.Get("andOperator").Bool()
	given, matched := 0, 0
	for _, l := range lists {
		if len(l.globs) == 0 {
			continue
		}
		given++
		if slices.ContainsFunc(l.globs, func(g string) bool {
			return slices.ContainsFunc(l.values, func(v string) bool { return v != "" && globbed(g, v) })
		}) {
			matched++
		}
	}
	return matched > 0 && (!and || matched == given)
}

// globbed reports whether a glob matches a text. In a glob, * is any text, ? is any letter, [..] is a set of letters,
// and {a,b} is a choice.
func globbed(glob, text string) bool {
	pattern := regexp.QuoteMeta(glob)
	pattern = strings.NewReplacer(`\*`, ".*", `\?`, ".", `\[`, "[", `\]`, "]", `\{`, "(", `\}`, ")", ",", "|").Replace(pattern)
	re, err := regexp.Compile("^" + pattern + "$")
	return err == nil && re.MatchString(text)
}

// syncWindow returns a sync window as a window of a policy with the given time zone.
func syncWindow(w rawjson.Value, zone string) v1alpha1.Window {
	window := v1alpha1.Window{Cron: w.Get("schedule").Str, Duration: v1alpha1.Duration(w.Get("duration").Str)}
	return InZone([]v1alpha1.Window{window}, Zone(w.Get("timeZone").Str), zone)[0]
}

// emitSync adds Schedules for the windows that a group of Applications has in common.
func emitSync(p Object, name string, held []rawjson.Value, apps []string, out *Output) {
	zone := Zone(held[0].Get("timeZone").Str)
	var allow, deny []v1alpha1.Window
	for _, w := range held {
		window := syncWindow(w, zone)
		if w.Get("kind").Str == "allow" {
			allow = append(allow, window)
		} else {
			deny = append(deny, window)
		}
	}
	rules := []v1alpha1.ScheduleRules{{Awake: allow}}
	switch {
	case len(allow) == 0:
		rules = []v1alpha1.ScheduleRules{{Asleep: deny}}
	case len(deny) > 0: // deny windows take precedence
		rules = append(rules, v1alpha1.ScheduleRules{Asleep: deny, Otherwise: v1alpha1.OtherwiseNothing, Priority: 1})
	}
	for i, r := range rules {
		r.TimeZone = zone
		s := &v1alpha1.Schedule{ObjectMeta: Meta(p.Namespace(), name), Spec: v1alpha1.ScheduleSpec{ScheduleRules: r}}
		s.Spec.Target = v1alpha1.TargetSelector{Kinds: Refs(Application), Names: apps}
		if i > 0 {
			s.Name += "-deny"
		}
		e := out.Emit(s, p)
		e.Note("automated sync is off while it is asleep; the Applications are listed by name, so add new ones to the list")
		if i == 0 && slices.ContainsFunc(held, func(w rawjson.Value) bool { return w.Get("syncOverrun").Bool() }) {
			e.Note("syncOverrun is dropped: a sync that has begun always goes on here")
		}
	}
}

// emitManual adds the freezes for windows without manualSync. In Argo CD, a deny window without manualSync refuses
// manual syncs while it is open. Allow windows refuse manual syncs while no allow window is open, if one of them has no
// manualSync.
func emitManual(p Object, name string, held []rawjson.Value, apps []string, out *Output) {
	var deny, allow []v1alpha1.Window
	denies, allows := false, false
	zone := Zone(held[0].Get("timeZone").Str)
	for _, w := range held {
		window := syncWindow(w, zone)
		switch refuses := !w.Get("manualSync").Bool(); {
		case w.Get("kind").Str == "allow":
			allow, allows = append(allow, window), allows || refuses
		case refuses:
			deny = append(deny, window)
		default:
			denies = true
		}
	}
	target := v1alpha1.TargetSelector{Kinds: Refs(Application), Names: apps}
	rules := v1alpha1.FreezeRules{TimeZone: zone, Deny: []v1alpha1.Action{v1alpha1.ActionRollOut},
		ExcludeSubjects: []v1alpha1.FreezeSubject{{Kind: "ServiceAccount", Namespace: p.Namespace(), Name: "argocd-application-controller"}},
		Message:         &v1alpha1.FreezeMessage{Reason: fmt.Sprintf("sync window of the project %s", p.Name())}}
	note := func(e *Emitted) {
		e.Note("manualSync is not true, so syncs by hand are refused; here that goes for other edits of the Application's spec too")
		e.Note("automated sync is the Schedule's matter, so the account of Argo CD's application controller is left out: check its name")
	}
	if len(deny) > 0 {
		f := &v1alpha1.ChangeFreeze{ObjectMeta: Meta(p.Namespace(), name)}
		f.Spec = v1alpha1.ChangeFreezeSpec{Target: target, FreezePeriod: v1alpha1.FreezePeriod{Windows: deny}, FreezeRules: rules}
		note(out.Emit(f, p))
	}
	if allows {
		e := out.Emit(&v1alpha1.MaintenanceWindow{ObjectMeta: Meta(p.Namespace(), name),
			Spec: v1alpha1.MaintenanceWindowSpec{Target: target, Windows: allow, FreezeRules: rules}}, p)
		note(e)
		if denies {
			e.Note("while a deny window with manualSync is open, syncs by hand pass there even outside of the allow windows, and not here")
		}
	}
}
