package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// placement is where a policy is created, and which objects it selects.
type placement struct {
	namespace, name string
	kinds           []schema.GroupKind
	names           []string
	excludeNames    []string
	annotations     map[string]string
	selector        *metav1.LabelSelector
	priority        int32
	// cluster is the selection of a ClusterSchedule. It is nil for a Schedule.
	cluster *v1alpha1.ClusterTargetSelector
	notes   []string
}

// emit adds the policies for the time settings of a placement. All time settings come from the first scope that sets
// any of them. If they have no counterpart, emit returns false and adds a note.
func (w *work) emit(from Object, own downscalerScope, at placement, scopes []downscalerScope) bool {
	i := slices.IndexFunc(scopes, func(s downscalerScope) bool { return s.sets(timeSettings) })
	if i < 0 {
		w.out.Leave(from, "downscale-replicas is set, and no times are known for it")
		return false
	}
	rules, notes, why := w.times(scopes[i])
	if why != "" {
		w.out.Leave(from, "%s", why)
		return false
	}
	replicas, why := replicasOf(scopes)
	if why != "" {
		w.out.Leave(from, "%s", why)
		return false
	}
	grace := "15m"
	for _, s := range scopes {
		if g := s["grace-period"]; g != "" {
			grace = g
			break
		}
	}
	if rules.GracePeriod, why = gracePeriod(grace); why != "" {
		w.out.Leave(from, "%s", why)
		return false
	}
	if own["scale-children"] != "" {
		notes = append(notes, "scale-children is dropped: children follow the object that controls them")
	}
	at.notes = slices.Concat(at.notes, notes)
	w.emitLevels(from, at, rules, replicas)
	return true
}

// gracePeriod returns the time for which new objects are left alone, or why there is none. The tool writes it as a duration or in seconds.
func gracePeriod(text string) (grace v1alpha1.Duration, why string) {
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	d, err := timeline.ParseDurationOrZero(text)
	switch {
	case err != nil:
		return "", fmt.Sprintf("grace-period is %q, which cannot be read", text)
	case d == 0:
		return "", ""
	}
	return v1alpha1.Duration(text), ""
}

// times returns the rules for the time settings of a scope, with notes, or the reason why there are no rules.
func (w *work) times(s downscalerScope) (rules v1alpha1.ScheduleRules, notes []string, why string) {
	_, hasDown := s["downtime"]
	_, hasUp := s["uptime"]
	hasPeriods := s.sets([]string{"downscale-period", "upscale-period"})
	if hasDown && hasUp || hasPeriods && (hasDown || hasUp) {
		return rules, nil, "it sets more than one of downtime, uptime and the two periods, which is an error there"
	}
	read := func(setting string) spans {
		x, unread := w.spans(s, setting)
		notes, why = append(notes, x.notes()...), cmp.Or(why, unread)
		return x
	}
	if hasPeriods {
		down, up := read("downscale-period"), read("upscale-period")
		if why != "" {
			return rules, nil, why
		}
		return periods(down, up, notes)
	}
	x := read("uptime")
	if hasDown {
		x = read("downtime")
	}
	if why != "" {
		return rules, nil, why
	}
	rules = v1alpha1.ScheduleRules{TimeZone: "UTC", OnManualChange: v1alpha1.ManualEnforce}
	in, outside := &rules.Awake, &rules.Asleep
	if hasDown {
		in, outside = outside, in
	}
	switch {
	case x.always:
		*in = []v1alpha1.Window{AllDay()}
	case x.isNever():
		*outside = []v1alpha1.Window{AllDay()}
	default:
		rules.TimeZone, *in = x.all()
	}
	return rules, notes, ""
}

// periods returns rules with two crons: one for the starts of downscale-period, and one for the starts of
// upscale-period.
func periods(down, up spans, notes []string) (rules v1alpha1.ScheduleRules, _ []string, why string) {
	downZone, downCron, okDown := down.cron()
	upZone, upCron, okUp := up.cron()
	switch {
	case down.isNever():
		return rules, nil, "it sets upscale-period alone, so nothing puts to sleep"
	case down.dates || up.dates:
		return datedPeriods(&down, &up, notes)
	case okDown && up.isNever():
		notes = append(notes, "in its period the tool undoes changes of people; here they count until the next downscale")
		return v1alpha1.ScheduleRules{TimeZone: downZone, Downscale: downCron}, notes, ""
	}
	notes = append(notes, "between its periods the tool leaves everything as it is; here the period that began last gives the state")
	rules = v1alpha1.ScheduleRules{TimeZone: downZone, Downscale: downCron, Upscale: upCron, OnManualChange: v1alpha1.ManualEnforce}
	if okDown && okUp && downZone == upZone {
		return rules, notes, ""
	}
	zone, starts, oneDown := down.weekly()
	upZone, ends, oneUp := up.weekly()
	if !oneDown || !oneUp || zone != upZone {
		return rules, nil,
			"the periods begin in several time zones, or always, or there is no upscale-period for several times of downscale-period"
	}
	rules.TimeZone, rules.Downscale, rules.Upscale, rules.Asleep = zone, "", "", Between(starts, ends)
	if len(rules.Asleep) == 0 {
		return rules, nil, "each upscale-period begins together with a downscale-period, so nothing wakes"
	}
	return rules, notes, ""
}

// datedPeriods returns the rules of periods that have only dates. Objects are asleep from each start of
// downscale-period until the next start of upscale-period.
func datedPeriods(down, up *spans, notes []string) (rules v1alpha1.ScheduleRules, _ []string, why string) {
	if len(down.starts)+len(up.starts) > 0 || down.always || up.always {
		return rules, nil, "the periods mix dates with days of the week"
	}
	starts, ends := down.instants(), up.instants()
	if len(ends) == 0 && len(starts) > 1 {
		return rules, nil, "downscale-period has several dates, and there is no upscale-period between them"
	}
	rules = v1alpha1.ScheduleRules{TimeZone: "UTC", Otherwise: v1alpha1.OtherwiseNothing}
	for _, start := range starts {
		i := slices.IndexFunc(ends, func(end v1alpha1.Window) bool { return instant(end.Start).After(instant(start.Start)) })
		w := v1alpha1.Window{Start: start.Start, End: noEnd}
		if i >= 0 {
			w.End = ends[i].Start
		}
		rules.Asleep = append(rules.Asleep, w)
	}
	return rules, append(notes, "the period that began last gives the state, also after its end; changes of people count meanwhile"), ""
}

// replicasOf returns the number of replicas that sleeping objects keep.
func replicasOf(scopes []downscalerScope) (int64, string) {
	for _, s := range scopes {
		if text := s["downscale-replicas"]; text != "" {
			n, ok := Count(text)
			if !ok {
				return 0, fmt.Sprintf("downscale-replicas is %q: only a count has a counterpart (a share is for PodDisruptionBudgets)", text)
			}
			return n, ""
		}
	}
	return 0, ""
}

// emitLevels adds one policy for each form of sleep that the kinds need.
func (w *work) emitLevels(from Object, at placement, rules v1alpha1.ScheduleRules, replicas int64) {
	var counted, suspended, bounded, paused []schema.GroupKind
	for _, gk := range at.kinds {
		switch {
		case gk == Autoscaler:
			bounded = append(bounded, gk)
		case gk == CronJob || gk == Job || gk == DaemonSet || replicas == 0:
			suspended = append(suspended, gk)
		case gk == ScaledObject:
			paused = append(paused, gk)
		default:
			counted = append(counted, gk)
		}
	}
	put := func(suffix string, kinds []schema.GroupKind, as *v1alpha1.AsleepAs) {
		if len(kinds) > 0 {
			r := rules
			r.AsleepAs, r.Priority = as, at.priority
			w.put(from, at, suffix, kinds, r)
		}
	}
	put("", counted, &v1alpha1.AsleepAs{Replicas: new(replicas)})
	suffix := ""
	if len(counted) > 0 {
		suffix = "-suspended"
	}
	put(suffix, suspended, nil)
	put("-paused", paused, &v1alpha1.AsleepAs{Annotations: map[string]string{"autoscaling.keda.sh/paused-replicas": Number(replicas)}})
	if replicas == 0 && len(bounded) > 0 {
		w.out.Leave(from, "a HorizontalPodAutoscaler cannot have minReplicas 0: leave it out, or set downscale-replicas for it")
		return
	}
	put("-bounds", bounded, &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: new(replicas)}})
}

func (w *work) put(from Object, at placement, suffix string, kinds []schema.GroupKind, rules v1alpha1.ScheduleRules) {
	target := v1alpha1.TargetSelector{Kinds: Refs(kinds...), Names: at.names, Annotations: at.annotations, Selector: at.selector}
	if len(at.names) == 0 {
		target.ExcludeNames = slices.Concat(w.excludedNames(), at.excludeNames)
	}
	var e *Emitted
	if at.cluster != nil {
		c := &v1alpha1.ClusterSchedule{ObjectMeta: Meta("", at.name+suffix)}
		c.Spec.Target, c.Spec.ScheduleRules = *at.cluster, rules
		c.Spec.Target.TargetSelector = target
		e = w.out.Emit(c, from)
	} else {
		s := &v1alpha1.Schedule{ObjectMeta: Meta(at.namespace, at.name+suffix)}
		s.Spec.Target, s.Spec.ScheduleRules = target, rules
		e = w.out.Emit(s, from)
	}
	e.Notes = slices.Clone(at.notes)
	NoteSpringTransitions(e)
}

// forced adds the policy for force-downtime or force-uptime. If the setting has no counterpart, forced returns false
// and adds a note.
func (w *work) forced(from Object, s downscalerScope, at placement) bool {
	_, hasDown := s["force-downtime"]
	_, hasUp := s["force-uptime"]
	if !s.sets(forceSettings) {
		return true
	}
	if hasDown && hasUp {
		w.out.Leave(from, "it sets both force-downtime and force-uptime")
		return false
	}
	which := "force-uptime"
	if hasDown {
		which = "force-downtime"
	}
	x, why := w.spans(s, which)
	if why != "" {
		w.out.Leave(from, "%s", why)
		return false
	}
	at.notes = slices.Concat(at.notes, x.notes())
	rules := v1alpha1.ScheduleRules{TimeZone: "UTC", OnManualChange: v1alpha1.ManualEnforce}
	windows := []v1alpha1.Window{AllDay()}
	switch {
	case x.isNever():
		return true
	case !x.always:
		rules.TimeZone, windows = x.all()
		rules.Otherwise = v1alpha1.OtherwiseNothing
	}
	if hasDown {
		rules.Asleep = windows
	} else {
		rules.Awake = windows
	}
	replicas, why := replicasOf(w.scopes(s))
	if why != "" {
		w.out.Leave(from, "%s", why)
		return false
	}
	at.priority = priorityForced
	w.emitLevels(from, at, rules, replicas)
	return true
}
