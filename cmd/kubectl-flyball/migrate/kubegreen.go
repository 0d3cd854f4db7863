package migrate

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

var sleepInfo = schema.GroupKind{Group: "kube-green.com", Kind: "SleepInfo"}

func kubeGreen() Tool {
	return Tool{
		Name: "kube-green", Title: "kube-green",
		Reads: Namespaced(sleepInfo),
		Marked: Namespaced(Secret, Deployment, StatefulSet, CronJob, ScaledObject,
			Postgres, Autoscaler, Rollout),
		Convert: convertSleepInfos, Sleepers: sleepInfoSleepers,
	}
}

// sleepSelection is the selection of a SleepInfo: the kinds and, for some of the kinds, the only selected name.
type sleepSelection struct {
	kinds    []schema.GroupKind
	names    map[schema.GroupKind]string
	counts   map[schema.GroupKind]int64
	nothing  []schema.GroupKind
	selector *metav1.LabelSelector
}

func convertSleepInfos(in *Input, out *Output) {
	all := in.Of(sleepInfo)
	for _, s := range all {
		convertSleepInfo(in, s, out)
	}
	if len(all) == 0 {
		return
	}
	out.Step("stop its controller and delete its webhook configurations")
	out.CheckStep("kube-green")
	out.ApplyStep()
	out.TakeOverStep("kube-green", "")
	out.Step("kubectl delete sleepinfo: its Secret goes along, and it wakes nothing, so this comes last")
}

func convertSleepInfo(in *Input, s Object, out *Output) {
	spec := s.Get("spec")
	down, okDown := hourMinute(spec.Get("sleepAt").Str, spec.Get("weekdays").Str)
	up, okUp := hourMinute(spec.Get("wakeUpAt").Str, spec.Get("weekdays").Str)
	if !spec.Get("wakeUpAt").Exists() {
		up, okUp = "", true // both tools then keep the objects asleep until a person wakes them
	}
	if !okDown || !okUp {
		out.Leave(s, "sleepAt %q and wakeUpAt %q are no hours and minutes", spec.Get("sleepAt").Str, spec.Get("wakeUpAt").Str)
		return
	}
	rules := v1alpha1.ScheduleRules{TimeZone: Zone(spec.Get("timeZone").Str), Downscale: down, Upscale: up}
	sel := selectionOf(spec)
	for _, p := range spec.Get("patches").Array() {
		convertGreenPatch(in, s, p, &sel, out)
	}
	if len(sel.kinds) == 0 {
		out.Leave(s, "it puts no kind to sleep")
	}
	rest := slices.DeleteFunc(slices.Clone(sel.kinds), func(gk schema.GroupKind) bool {
		return sel.names[gk] != "" || slices.Contains(sel.nothing, gk)
	})
	emit := func(name string, kinds []schema.GroupKind, names, exclude []string) {
		target := v1alpha1.TargetSelector{Kinds: Refs(kinds...), Names: names, ExcludeNames: exclude, Selector: sel.selector}
		e := out.Emit(&v1alpha1.Schedule{ObjectMeta: Meta(s.Namespace(), name),
			Spec: v1alpha1.ScheduleSpec{Target: target, ScheduleRules: rules}}, s)
		if n, ok := sel.counts[kinds[0]]; ok {
			e.Object.(*v1alpha1.Schedule).Spec.AsleepAs = &v1alpha1.AsleepAs{Replicas: new(n)}
			e.Note("a smaller count is raised to %d by the patch there, and stays here", n)
		}
		e.Note("a transition that comes over 60 s late is missed there, and so are objects after the 500th; not here")
		NoteSpringTransitions(e)
	}
	excluded := excludedNames(spec)
	alike := alikeKinds(rest, excluded.Of, sel.counts)
	for i, key := range alike.Keys {
		kinds, name := alike.Of[key], s.Name()
		if i > 0 {
			name += "-" + Slug(kinds[0].Kind)
		}
		emit(name, kinds, nil, excluded.Of[kinds[0]])
	}
	for _, gk := range sel.kinds {
		if name := sel.names[gk]; name != "" && !slices.Contains(sel.nothing, gk) {
			emit(s.Name()+"-"+Slug(gk.Kind), []schema.GroupKind{gk}, []string{name}, excluded.Of[gk])
		}
	}
	for _, gk := range sel.nothing {
		out.Leave(s,
			"includeRef names several objects of kind %s, and an object would have to have all of these names: it selects none there, and none here",
			gk.Kind)
	}
}

// alikeKinds groups kinds by the settings that a policy has once for all kinds of its target: excludeNames and asleepAs. In
// the tool, an excludeRef excludes objects of one kind. So kinds that differ need separate policies.
func alikeKinds(kinds []schema.GroupKind, excluded map[schema.GroupKind][]string, counts map[schema.GroupKind]int64,
) (alike Groups[string, schema.GroupKind]) {
	for _, gk := range kinds {
		key := strings.Join(excluded[gk], " ")
		if n, ok := counts[gk]; ok {
			key += fmt.Sprintf(" to %d", n)
		}
		alike.Add(key, gk)
	}
	return alike
}

// selectionOf reads the switches and the references of a SleepInfo.
func selectionOf(spec rawjson.Value) sleepSelection {
	sel := sleepSelection{names: map[schema.GroupKind]string{}, counts: map[schema.GroupKind]int64{}}
	for _, k := range []struct {
		field string
		gk    schema.GroupKind
		isOn  bool
	}{{"suspendDeployments", Deployment, true}, {"suspendStatefulSets", StatefulSet, true},
		{"suspendCronJobs", CronJob, false}} {
		if v := spec.Get(k.field); v.Exists() && v.Bool() || !v.Exists() && k.isOn {
			sel.kinds = append(sel.kinds, k.gk)
		}
	}
	var selector metav1.LabelSelector
	for _, ref := range spec.Get("includeRef").Array() {
		for key, value := range ref.Get("matchLabels").Map() {
			if selector.MatchLabels == nil {
				selector.MatchLabels = map[string]string{}
			}
			selector.MatchLabels[key] = value.String()
		}
		if name := ref.Get("name").Str; name != "" {
			gk := Object{Value: ref}.GroupKind()
			if other := sel.names[gk]; other != "" && other != name {
				sel.nothing = append(sel.nothing, gk)
			}
			sel.names[gk] = name
		}
	}
	for _, ref := range spec.Get("excludeRef").Array() {
		for _, key := range SortedKeys(ref.Get("matchLabels")) {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{ref.Get("matchLabels").Map()[key].String()}})
		}
	}
	if len(selector.MatchLabels)+len(selector.MatchExpressions) > 0 {
		sel.selector = &selector
	}
	return sel
}

// excludedNames returns the names in excludeRef, by kind.
func excludedNames(spec rawjson.Value) (names Groups[schema.GroupKind, string]) {
	for _, ref := range spec.Get("excludeRef").Array() {
		if name := ref.Get("name").Str; name != "" {
			names.Add(Object{Value: ref}.GroupKind(), name)
		}
	}
	return names
}

// hourMinute returns a cron from the time H:M and the weekdays. H and M are fields of a cron themselves.
func hourMinute(at, weekdays string) (string, bool) {
	h, m, ok := strings.Cut(at, ":")
	if !ok || h == "" || m == "" || weekdays == "" {
		return "", false
	}
	plain := func(field string) string {
		if n, err := strconv.Atoi(field); err == nil {
			return strconv.Itoa(n)
		}
		return field
	}
	return fmt.Sprintf("%s %s * * %s", plain(m), plain(h), weekdays), true
}

// sleepInfoSleepers adds the sleeping objects that are recorded in the tool's Secrets.
func sleepInfoSleepers(in *Input, out *Output) {
	for _, s := range in.Of(Secret) {
		name, ok := strings.CutPrefix(s.Name(), "sleepinfo-")
		if !ok || secretText(s, "operation-type") != "SLEEP" {
			continue
		}
		info, _ := in.Find(sleepInfo, s.Namespace(), name)
		known := map[string]bool{}
		add := func(gk schema.GroupKind, name string, originals []Original) {
			o, ok := in.Find(gk, s.Namespace(), name)
			if !ok {
				out.Leave(s, "it has an original of %s %s, which was not found", gk, name)
				return
			}
			known[o.Ref().String()] = true
			out.Sleepers = append(out.Sleepers, Sleeper{Object: o, Originals: originals})
		}
		secretOriginals(s, info, add, out)
		for _, gk := range []schema.GroupKind{Deployment, StatefulSet} {
			for _, o := range in.Of(gk) {
				_, taken := o.Annotation(v1alpha1.AnnotationLedger)
				if n := o.Get("spec.replicas"); o.Namespace() == s.Namespace() && n.Exists() && n.Int() == 0 && !taken && !known[o.Ref().String()] {
					out.Sleepers = append(out.Sleepers, Sleeper{Object: o,
						Notes: []string{"it is at 0, and there is no original of it: it counts as put to 0 by its owner, and stays so"}})
				}
			}
		}
	}
}

// secretOriginals reads both formats of a Secret: the newer merge patches by kind and name, and the older lists.
func secretOriginals(s, info Object, add func(schema.GroupKind, string, []Original), out *Output) {
	patches := rawjson.Parse(secretText(s, "original-resource-info"))
	for _, kind := range SortedKeys(patches) {
		gk := schema.ParseGroupKind(kind)
		for _, name := range SortedKeys(patches.Map()[kind]) {
			patch := patches.Map()[kind].Map()[name].String()
			if !rawjson.Valid(patch) {
				out.Leave(s, "the original of %s %s cannot be read: %s", kind, name, patch)
				continue
			}
			add(gk, name, leaves(rawjson.Parse(patch), "", setBy(info, gk)))
		}
	}
	for _, d := range rawjson.Parse(secretText(s, "deployment-replicas")).Array() {
		add(Deployment, d.Get("name").Str, []Original{{Pointer: "/spec/replicas", Was: d.Get("replicas").Raw, Set: "0"}})
	}
	for _, c := range rawjson.Parse(secretText(s, "cronjobs-info")).Array() {
		was := c.Get("suspend").Raw
		if was == "" || was == "null" {
			was = "false"
		}
		add(CronJob, c.Get("name").Str, []Original{{Pointer: "/spec/suspend", Was: was, Set: "true"}})
	}
}

func secretText(s Object, key string) string {
	if plain, ok := s.Get("stringData").Map()[key]; ok {
		return plain.String()
	}
	text, err := base64.StdEncoding.DecodeString(s.Get("data").Map()[key].String())
	if err != nil {
		return ""
	}
	return string(text)
}

// leaves returns the fields that a merge patch with originals sets. The value null means that the field was absent.
func leaves(patch rawjson.Value, at string, set map[string]string) []Original {
	var all []Original
	for _, key := range SortedKeys(patch) {
		v, pointer := patch.Map()[key], string(path.Pointer(at).Append(key))
		if v.IsObject() {
			all = append(all, leaves(v, pointer, set)...)
			continue
		}
		o := Original{Pointer: pointer, Was: v.Raw}
		if v.Type == rawjson.Null {
			o.Was = ""
		}
		var known bool
		if o.Set, known = set[pointer]; !known {
			o.AnySet = true
		}
		all = append(all, o)
	}
	return all
}

// setBy returns the values that kube-green writes to objects of a kind, by JSON pointer. They come from the SleepInfo's
// patches for the kind, or from kube-green's defaults if the SleepInfo has no patches for the kind.
func setBy(info Object, gk schema.GroupKind) map[string]string {
	set := map[string]string{}
	patched := false
	for _, p := range info.Get("spec.patches").Array() {
		if p.Get("target.group").Str == gk.Group && p.Get("target.kind").Str == gk.Kind {
			patched = true
			for _, op := range operations(p) {
				set[op.Get("path").Str] = op.Get("value").Raw
			}
		}
	}
	switch {
	case patched:
	case gk == Deployment || gk == StatefulSet:
		set["/spec/replicas"] = "0"
	case gk == CronJob:
		set["/spec/suspend"] = "true"
	}
	return set
}
