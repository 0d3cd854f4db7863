// Package schedule compiles a Schedule or ClusterSchedule. During sleep the claim is to sleep; otherwise the claim is that
// no policy of the same or a lower priority puts targets to sleep. The package only returns claims, with the start of each
// claim and the time of the next change. The ledger restores the targets.
//
// Decisions (docs/decisions): 0049.
package schedule

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of schedules in ledger entries and messages.
const (
	Kind        = "Schedule"
	ClusterKind = "ClusterSchedule"
)

// Context is the input of compiling a schedule besides its spec.
type Context = policy.Context

// Compile compiles a Schedule. With errors, it returns policy.Broken.
func Compile(s *v1alpha1.Schedule, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: Kind, Namespace: s.Namespace, Name: s.Name}
	selector, errs := selector.Namespaced(s.Spec.Target, s.Namespace, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, &s.Spec.ScheduleRules, &s.ObjectMeta, ctx)
}

// CompileCluster compiles a ClusterSchedule. With errors, it returns policy.Broken.
func CompileCluster(s *v1alpha1.ClusterSchedule, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: ClusterKind, Name: s.Name}
	selector, errs := selector.Cluster(s.Spec.Target, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, &s.Spec.ScheduleRules, &s.ObjectMeta, ctx)
}

func compile(id workload.Policy, selector *selector.Selector, errs field.ErrorList, rules *v1alpha1.ScheduleRules, meta *metav1.ObjectMeta,
	ctx Context) (*policy.Policy, field.ErrorList) {
	at, unread := field.NewPath("spec"), len(errs) // an unreadable target bounds nothing
	zone, es := times.Zone(rules.TimeZone, at.Child("timeZone"))
	errs = append(errs, es...)
	asleep, es := compileTimes(*rules, zone, ctx.Calendars, at)
	errs = append(errs, es...)
	order, es := compileOrder(rules.Order, id.Namespace == "", at.Child("order"))
	errs = append(errs, es...)
	errs = append(errs, validate(*rules, ctx.AuthorsAsked, at)...)
	idle, es := CompileIdle(rules.Idle, id.Namespace, at.Child("idle"))
	errs = append(errs, es...)
	if len(errs) > 0 {
		broken := policy.Broken(id, errs)
		if unread == 0 {
			bounds := compileBounds(id, *rules)
			broken.Bounds, broken.Bounded = &bounds, selector
		}
		return broken, errs
	}
	s := &schedule{rules: rules, times: asleep, zone: zone, idle: idle}
	s.grace, _ = timeline.ParseDurationOrZero(string(rules.GracePeriod)) // validate reports unreadable durations
	if rules.Age != nil {
		s.asleepAfter, _ = timeline.ParseDuration(string(rules.Age.AsleepAfter))
	}
	s.bounds = compileBounds(id, *rules)
	s.times.created = meta.CreationTimestamp.Time
	return &policy.Policy{
		ID:             id,
		Target:         selector,
		Needs:          needs(rules.AsleepAs),
		Pipeline:       s.pipeline(),
		State:          s.state,
		Down:           limit(rules.DownscaleRateLimit),
		Up:             limit(rules.UpscaleRateLimit),
		Order:          order,
		SetAnnotations: annotationKeys(rules.AsleepAs),
		Extras:         policy.Extras{Bounds: &s.bounds, Idle: idle, HoldsOwners: rules.HoldOwner},
	}, nil
}

type schedule struct {
	// rules are those of the object, which nothing changes.
	rules *v1alpha1.ScheduleRules
	times sleepTimes
	// claims are the last results of times.
	claims timeline.Kept[claimed]
	zone   *time.Location
	// bounds are the limits within which the schedule yields to Overrides, with the schedule's name.
	bounds pipeline.Bounds
	// asleepAfter is the age from which a target sleeps. grace is the age until which a target is not changed. Zero: no
	// such age.
	asleepAfter, grace time.Duration
	// idle is the rule by the use of targets; nil: none.
	idle *demand.Rule
}

// pipeline reads from top to bottom: a suspended policy keeps its values; a policy that yields to an Override claims
// nothing; the window decides asleep or awake; idle decides by use where the window leaves it the decision; the level decides the
// form of sleep for this target.
func (s *schedule) pipeline() pipeline.Pipeline {
	return pipeline.Pipeline{
		{Name: "suspended", Run: s.suspended},
		{Name: "override", Run: s.yield},
		{Name: "window", Run: s.window},
		{Name: "idle", Run: s.byUse},
		{Name: "level", Run: s.level},
	}
}

func (s *schedule) suspended(f *pipeline.Frame) error {
	if !s.rules.Suspend {
		return nil
	}
	f.Sayf("spec.suspend is true: everything stays as it is")
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{By: s.bounds.By, Class: workload.ClassKeep})
	f.Done = true
	return nil
}

// yield ends the pipeline without a claim while an Override keeps the target awake and the schedule yields to it.
func (s *schedule) yield(f *pipeline.Frame) error {
	for i := range f.Input.Overrides {
		o := &f.Input.Overrides[i]
		until, why := s.bounds.Yields(o, f.Input.Now)
		if why != "" {
			f.Sayf("does not yield to %s: %s", o.By, why)
			continue
		}
		f.Sayf("yields to %s%s", o.By, untilText(until))
		f.Decision.WakeAt(until)
		f.Done = true
	}
	return nil
}

func untilText(until time.Time) string {
	if until.IsZero() {
		return ""
	}
	return " until " + until.Format(time.RFC3339)
}

func (s *schedule) window(f *pipeline.Frame) error {
	st, says := s.at(f.Input.Now)
	f.Decision.WakeAt(st.Until)
	st, says = s.byAge(f, st, says)
	if f.Tracing() {
		f.Sayf("%s", describe(st, says))
	}
	if !says && s.idle == nil {
		s.keepAsleep(f)
		return nil
	}
	if st.Active && s.isGraced(f) {
		s.keepAsleep(f)
		return nil
	}
	if t := &f.Input.Target; st.Active && (t.RunsToCompletion || s.times.firings != nil) && s.isMadeAsleep(t.Created, st, f.Input.Now) {
		next, why := "night", ", and ends by itself"
		if s.times.firings != nil {
			next, why = "downscale", ""
		}
		f.Sayf("left alone until the next %s: it was made while asleep, at %s%s", next, t.Created.Format(time.RFC3339), why)
		s.keepAsleep(f)
		return nil
	}
	in := workload.Intent{By: s.bounds.By, Class: workload.ClassAwake, Priority: s.rules.Priority, Since: st.Since}
	if st.Active {
		in.Class = workload.ClassSleep
		in.Enforce = s.rules.OnManualChange == v1alpha1.ManualEnforce
	}
	f.Decision.Intents = append(f.Decision.Intents, in)
	f.Done = !st.Active && s.idle == nil
	return nil
}

// byAge returns the state of a target that sleeps from a certain age. st and says are the state of the schedule.
func (s *schedule) byAge(f *pipeline.Frame, st timeline.Span, says bool) (timeline.Span, bool) {
	made := f.Input.Target.Created
	if s.asleepAfter == 0 || made.IsZero() {
		return st, says
	}
	from := made.Add(s.asleepAfter)
	if f.Input.Now.Before(from) {
		f.Decision.WakeAt(from)
		return st, says
	}
	if !says || !st.Active { // otherwise the state still begins with the night
		st.Since = from
	}
	return timeline.Span{Active: true, Since: st.Since, Name: "age"}, true
}

// isGraced reports whether a target was created so recently that it is not changed yet.
func (s *schedule) isGraced(f *pipeline.Frame) bool {
	made := f.Input.Target.Created
	until := made.Add(s.grace)
	if s.grace == 0 || made.IsZero() || made.After(f.Input.Now.Add(maxSkew)) || !f.Input.Now.Before(until) {
		return false
	}
	f.Decision.WakeAt(until)
	f.Sayf("left alone until %s: it was made at %s, and gracePeriod is %s", until.Format(time.RFC3339), made.Format(time.RFC3339),
		s.rules.GracePeriod)
	return true
}

// keepAsleep ends the pipeline without a claim to sleep or to wake. If only people wake the targets, a target that already
// sleeps keeps sleeping, for example after a take-over.
func (s *schedule) keepAsleep(f *pipeline.Frame) {
	f.Done = true
	if s.times.firings != nil {
		f.Decision.Intents = append(f.Decision.Intents, workload.Intent{By: s.bounds.By, Class: workload.ClassKeep})
	}
}

// maxSkew is the longest time by which the API server's clock may be ahead. The age of an object that was created even
// later is ignored.
const maxSkew = time.Hour

// isMadeAsleep reports whether an object was created since the policy fell asleep. If the policy is never awake, it
// reports whether the object was created after the policy.
func (s *schedule) isMadeAsleep(made time.Time, st timeline.Span, now time.Time) bool {
	began := st.Since
	if began.IsZero() {
		began = s.times.created
	}
	return made.After(began) && made.Before(now.Add(maxSkew))
}

func (s *schedule) level(f *pipeline.Frame) error {
	in := &f.Decision.Intents[0]
	as := s.rules.AsleepAs
	switch {
	case as == nil:
		in.Size = &workload.Size{Mode: workload.SizeSleep}
	case as.Replicas != nil:
		in.Size = &workload.Size{Mode: workload.SizeAtMost, Replicas: *as.Replicas}
	case as.Percent != nil:
		in.Size = &workload.Size{Mode: workload.SizePercent, Percent: *as.Percent}
	case as.Bounds != nil:
		own := f.Input.Target.Bounds
		in.Min = notAbove(as.Bounds.Min, own.Min)
		in.Max = as.Bounds.Max
		if own.Max != nil && *own.Max > 0 { // some kinds use 0 for no limit
			in.Max = notAbove(as.Bounds.Max, own.Max)
		}
	case as.Hold != nil:
		in.Hold = *as.Hold
	default:
		in.Annotations = as.Annotations
	}
	if in.Size != nil {
		in.Size.Capacity = f.Input.Target.Capacity(*in.Size)
	}
	if f.Tracing() {
		f.Sayf("%s", levelText(as))
	}
	return nil
}

// notAbove returns the lower one of the requested bound and the owner's bound: a target never has more asleep than awake.
// Nil: no bound is requested.
func notAbove(asked, own *int64) *int64 {
	if asked != nil && own != nil && *own < *asked {
		return own
	}
	return asked
}

// state returns the state for status, printed columns and metrics.
func (s *schedule) state(now time.Time) policy.Summary {
	if s.rules.Suspend {
		return policy.Summary{Name: "Suspended", Message: "spec.suspend is true: everything stays as it is"}
	}
	st, says := s.at(now)
	name := "Awake"
	switch {
	case !says && s.idle != nil:
		name = "OnDemand"
	case !says:
		name = "Idle"
	case st.Active:
		name = "Asleep"
	}
	message := describe(st, says)
	if s.rules.Age != nil {
		message += "; each target sleeps from " + string(s.rules.Age.AsleepAfter) + " after it was made"
	}
	if s.idle != nil {
		message += "; each target sleeps after " + string(s.rules.Idle.AsleepAfter) + " without use"
	}
	return policy.Summary{Name: name, Asleep: st.Active, Since: st.Since, Next: st.Until, Message: message}
}

func describe(st timeline.Span, says bool) string {
	word := "awake"
	switch {
	case !says:
		word = "asks for nothing"
	case st.Active:
		word = "asleep"
	}
	text := word
	if !st.Since.IsZero() {
		text += " since " + st.Since.Format(time.RFC3339)
	}
	if st.Name != "" {
		text += " (" + st.Name + ")"
	}
	if st.Until.IsZero() {
		return text + ", no further transition"
	}
	return text + ", next transition " + st.Until.Format(time.RFC3339)
}

func levelText(as *v1alpha1.AsleepAs) string {
	switch {
	case as == nil:
		return "suspended, or every component at its minimum"
	case as.Replicas != nil:
		return "at most " + workload.Count(*as.Replicas, "replica")
	case as.Percent != nil:
		return fmt.Sprintf("%d%% of the replicas", *as.Percent)
	case as.Bounds != nil:
		return "bounds narrowed"
	case as.Hold != nil:
		return "held"
	default:
		return "annotated"
	}
}

func limit(r *v1alpha1.RateLimit) policy.Limit {
	if r == nil {
		return policy.Limit{}
	}
	delay, _ := timeline.ParseDuration(string(r.DelayBetweenBatches)) // validate reports an unreadable duration
	return policy.Limit{Batch: int(r.BatchSize), Delay: delay}
}

func needs(as *v1alpha1.AsleepAs) []v1alpha1.Capability {
	switch {
	case as == nil:
		return []v1alpha1.Capability{v1alpha1.CapabilitySuspend, v1alpha1.CapabilityScale}
	case as.Replicas != nil, as.Percent != nil:
		return []v1alpha1.Capability{v1alpha1.CapabilityScale}
	case as.Bounds != nil:
		return []v1alpha1.Capability{v1alpha1.CapabilityBounds}
	case as.Hold != nil:
		return []v1alpha1.Capability{v1alpha1.CapabilityHold}
	default:
		return []v1alpha1.Capability{v1alpha1.CapabilityAnnotate}
	}
}

// annotationKeys returns the annotations set by a schedule, sorted.
func annotationKeys(as *v1alpha1.AsleepAs) []string {
	if as == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(as.Annotations))
}
