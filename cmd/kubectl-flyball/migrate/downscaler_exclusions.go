package migrate

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
)

// kube-downscaler ("the tool") leaves some namespaces and objects alone. The policies printed by migrate must not put
// them to sleep. A namespace that the tool leaves alone is excluded from the policies by its name. An object gets the
// label that keeps it out of every policy, by commands that come before the policies. Objects are also left alone if
// Flyball has no counterpart for their settings.

// filters are the flags that restrict the tool to some objects.
type filters struct {
	onlyNamespaces []string
	notNamespaces  []*regexp.Regexp
	notNames       []*regexp.Regexp
	// selector is set if objects must have one label with one value. onlyLabels are the patterns of labels that a selector
	// cannot express.
	selector   *metav1.LabelSelector
	onlyLabels []*regexp.Regexp
}

var plainName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func (w *work) readFilters() {
	c := &w.config
	for _, name := range strings.Split(c.setting("namespace"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			w.onlyNamespaces = append(w.onlyNamespaces, name)
		}
	}
	w.notNamespaces = w.patterns("exclude-namespaces", "kube-system,kube-downscaler")
	w.notNames = w.patterns("exclude-deployments", "")
	labels := c.setting("matching-labels")
	if key, value, ok := strings.Cut(labels, "="); ok && !strings.ContainsAny(labels, ",*+?()[]|^$\\ ") {
		w.selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	} else {
		w.onlyLabels = w.patterns("matching-labels", "")
	}
}

// patterns returns the patterns of a flag. An invalid pattern counts as a literal name.
func (w *work) patterns(flag, byDefault string) []*regexp.Regexp {
	var all []*regexp.Regexp
	for _, p := range strings.Split(cmp.Or(w.config.setting(flag), byDefault), ",") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		re, err := regexp.Compile(p)
		if err != nil {
			re = regexp.MustCompile(regexp.QuoteMeta(p))
		}
		all = append(all, re)
	}
	return all
}

func matchesAny(all []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(all, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

// literal matches a pattern that can be written as a glob. Such a pattern has only literal characters, ".*" for any
// text, and "\." for a dot.
var literal = regexp.MustCompile(`^(?:[a-z0-9-]|\.\*|\\\.)*$`)

// globOf returns the glob that matches the same names as a pattern, or false if there is no such glob. A pattern
// matches a part of a name, whereas a glob matches the whole name.
func globOf(pattern string) (glob string, ok bool) {
	rest, atStart := strings.CutPrefix(pattern, "^")
	rest, atEnd := strings.CutSuffix(rest, "$")
	if rest == "" || !literal.MatchString(rest) {
		return "", false
	}
	glob = strings.NewReplacer(`.*`, "*", `\.`, ".").Replace(rest)
	if !atStart {
		glob = "*" + strings.TrimPrefix(glob, "*")
	}
	if !atEnd {
		glob = strings.TrimSuffix(glob, "*") + "*"
	}
	return glob, strings.Trim(glob, "*") != ""
}

// excludedNames returns globs for the names that the flags exclude.
func (w *work) excludedNames() (globs []string) {
	for _, re := range w.notNames {
		if glob, ok := globOf(re.String()); ok && !slices.Contains(globs, glob) {
			globs = append(globs, glob)
		}
	}
	return globs
}

// namedOut reports whether an object is excluded by excludeNames of the policies.
func (w *work) namedOut(o Object) bool {
	return slices.ContainsFunc(w.notNames, func(re *regexp.Regexp) bool {
		_, ok := globOf(re.String())
		return ok && re.MatchString(o.Name())
	})
}

// reaches reports whether the tool handles a namespace.
func (w *work) reaches(namespace string) bool {
	return (len(w.onlyNamespaces) == 0 || slices.Contains(w.onlyNamespaces, namespace)) && !matchesAny(w.notNamespaces, namespace)
}

// filtered reports whether the flags exclude an object. The object is in a namespace that the tool handles, and has the
// label that the policies select.
func (w *work) filtered(o Object) bool {
	if matchesAny(w.notNames, o.Name()) {
		return true
	}
	for key, value := range o.Labels() {
		if matchesAny(w.onlyLabels, key+"="+value) {
			return false
		}
	}
	return len(w.onlyLabels) > 0
}

// exclude reads the setting exclude. It returns true for is if the object is excluded for good, and not only in spans of
// time. The result set is true if the setting exists.
func (w *work) exclude(o Object, s downscalerScope) (is, set bool) {
	if _, set = s["exclude"]; !set {
		return false, false
	}
	x, why := w.spans(s, "exclude")
	if why != "" {
		w.out.Leave(o, "%s", why)
	}
	return x.always || why != "", true
}

// excludeInSpans adds the policy for an object that the setting exclude excludes only at some times.
func (w *work) excludeInSpans(from Object, s downscalerScope, at placement) {
	x, _ := w.spans(s, "exclude") // an object with an unreadable span is left alone for good
	if x.always || x.isNever() {
		return
	}
	at.notes = append(slices.Clone(at.notes),
		"in the spans of exclude the tool leaves an object as it is, asleep or awake; here it is awake then")
	at.notes = append(at.notes, x.notes()...)
	rules := v1alpha1.ScheduleRules{Priority: priorityExcluded, Otherwise: v1alpha1.OtherwiseNothing}
	rules.TimeZone, rules.Awake = x.all()
	w.put(from, at, "", at.kinds, rules)
}

// withOwnExclude returns the names of the objects in a namespace that have a setting exclude of their own. It takes
// precedence over the namespace's setting.
func (w *work) withOwnExclude(namespace string) (names []string) {
	for _, gk := range w.kinds {
		for _, o := range w.in.Of(gk) {
			if _, set := annotated(o)["exclude"]; set && o.Namespace() == namespace {
				names = append(names, o.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// excludeNamespace reports whether the tool leaves a namespace alone. It also records the manual steps for such a
// namespace.
func (w *work) excludeNamespace(ns Object, s downscalerScope) bool {
	if !w.reaches(ns.Name()) {
		return true
	}
	is, set := w.exclude(ns, s)
	switch at, ok := w.excludeUntil(ns, s); {
	case is, ok && at == "":
		w.excluded.Insert(ns.Name())
		return true
	case ok:
		w.keepAwake(ns, ns.Name(), at, v1alpha1.TargetSelector{})
	}
	if set {
		w.included.Insert(ns.Name())
	}
	return false
}

// leaveAlone reports whether the tool leaves an object alone for good. It also records the manual steps for such an
// object. The parameter looksAt is true if the tool handles the object's kind.
func (w *work) leaveAlone(o Object, s downscalerScope, looksAt bool) bool {
	if !w.reaches(o.Namespace()) || !w.isSelected(o) {
		return true
	}
	is, set := w.exclude(o, s)
	inherited := !set && w.excluded.Has(o.Namespace()) // the object's namespace is excluded
	missing := !set && w.explicit && !w.included.Has(o.Namespace())
	at, ok := w.excludeUntil(o, s)
	if is || w.filtered(o) || ok && at == "" {
		if looksAt && !inherited && !missing && !w.namedOut(o) {
			w.label(o)
		}
		return true
	}
	if ok && looksAt {
		w.keepAwake(o, o.Namespace(), at, v1alpha1.TargetSelector{Kinds: Refs(o.GroupKind()), Names: []string{o.Name()}})
	}
	if looksAt && o.GroupKind() == DaemonSet && isAsleep(o) && !inherited && !missing {
		w.resting.Add(command{o.GroupKind(), o.Namespace()}, o.Name())
	}
	return inherited || missing
}

// keepAwake adds the Override for the setting exclude-until of a namespace or an object.
func (w *work) keepAwake(from Object, namespace, until string, target v1alpha1.TargetSelector) {
	name := "downscaler-until"
	if len(target.Names) > 0 {
		name += "-" + from.Name()
	}
	o := &v1alpha1.Override{ObjectMeta: Meta(namespace, name)}
	o.Spec.Target = target
	o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake, Until: until, Reason: "exclude-until of kube-downscaler"}
	w.out.Emit(o, from)
}

// overridesFirst moves the Overrides before the schedules, so that no schedule is applied without them.
func (w *work) overridesFirst() {
	slices.SortStableFunc(w.out.Emitted, func(a, b *Emitted) int { return isSchedule(a) - isSchedule(b) })
}

// isSchedule returns 0 for an Override, and 1 for another object.
func isSchedule(e *Emitted) int {
	if _, is := e.Object.(*v1alpha1.Override); is {
		return 0
	}
	return 1
}

// label records that an object gets the label that keeps it out of every policy.
func (w *work) label(o Object) {
	w.alone.Add(command{o.GroupKind(), o.Namespace()}, o.Name())
}

// isAsleep reports whether the tool keeps an object asleep.
func isAsleep(o Object) bool {
	_, ok := o.Annotation(downscalerPrefix + "original-replicas")
	return ok
}

// isControlled reports whether an object has a controller. The tool and the policies act on the controller instead.
func isControlled(o Object) bool {
	return o.Get("metadata.ownerReferences.#(controller==true)").Exists()
}

// isSelected reports whether an object has the label that the policies select.
func (w *work) isSelected(o Object) bool {
	if w.selector == nil {
		return true
	}
	for key, value := range w.selector.MatchLabels {
		if o.Labels()[key] != value {
			return false
		}
	}
	return true
}

// excludeUntil returns the instant of the setting exclude-until, in the format of RFC 3339. It returns "" if the
// setting cannot be parsed. The object is then left alone for good.
func (w *work) excludeUntil(o Object, s downscalerScope) (at string, set bool) {
	text, set := s["exclude-until"]
	if !set {
		return "", false
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.Format(time.RFC3339), true
		}
	}
	w.out.Leave(o, "exclude-until is %q, which is no instant: it is left alone for good", text)
	return "", true
}

// command is the key of objects that share one command: their kind, their namespace, and for exclude-until the instant.
type command struct {
	schema.GroupKind
	namespace string
}

// unexplained lists the sleeping objects that no known setting of the tool puts to sleep.
func (w *work) unexplained() {
	if w.config.found {
		return
	}
	for _, k := range downscaler().Reads[1:] {
		for _, o := range w.in.Of(k.GroupKind) {
			if isAsleep(o) && !hasTimes(annotated(o)) && !hasTimes(w.namespaceScope(o.Namespace())) && !annotated(o).sets(forceSettings) {
				w.out.Leave(o, "it sleeps, and nothing here says when: the flags of the tool do, and its Deployment was not found")
			}
		}
	}
}

// steps adds the manual steps to the output.
func (w *work) steps() {
	var stop []string
	for _, d := range w.config.all {
		stop = append(stop, Command("scale", Deployment, d.Namespace(), []string{d.Name()}, "--replicas=0"))
	}
	stop = append(stop, "kubectl delete mutatingwebhookconfiguration webhook.kube-downscaler.k8s --ignore-not-found",
		"kubectl get validatingadmissionpolicy,validatingadmissionpolicybinding -o name | "+
			"grep -e -downscaler-reserved-annotations | xargs -r kubectl delete")
	w.out.Step("stop its controller, and do not delete it yet: its flags are read again. "+
		"Its webhook and its admission policies would refuse or undo the take-over", stop...)
	set := func(verb string, of Groups[command, string], pair func(c command) string) (all []string) {
		for _, c := range of.Keys {
			all = append(all, Command(verb, c.GroupKind, c.namespace, of.Of[c], pair(c)+" --overwrite"))
		}
		return all
	}
	exclude := func(command) string { return v1alpha1.LabelExclude + "=true" }
	w.overridesFirst()
	if mark := set("label", w.alone, exclude); len(mark) > 0 {
		w.out.Step("mark the objects that the tool leaves alone, before any policy is there; in Git too", mark...)
	}
	if rest := set("label", w.resting, exclude); len(rest) > 0 {
		w.out.Step("label the DaemonSets that sleep, until the take-over takes the label away: so each has one roll-out", rest...)
	}
	w.out.CheckStep("kube-downscaler")
	w.out.ApplyStep()
	w.out.TakeOverStep("kube-downscaler", "")
	last := "take the annotations downscaler/ away, in Git too, and delete the tool"
	if w.explicit {
		last += fmt.Sprintf("; but keep %sexclude: \"false\", by which policies select", downscalerPrefix)
	}
	w.out.Step(last)
}
