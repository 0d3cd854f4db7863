package freeze

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Context is the input of compiling besides the spec.
type Context = policy.Context

// defaultGuardAhead is the default of the CRD, for objects that did not come from an API server.
const defaultGuardAhead = 24 * time.Hour

// draft is the common form of the four kinds of rules before compiling.
type draft struct {
	id     workload.Policy
	target selection
	rules  v1alpha1.FreezeRules
	times  v1alpha1.FreezePeriod
	// suspend is spec.suspend. Entries of namespaced kinds have no namespaces.
	suspend []v1alpha1.ClusterFreezeSuspend
	status  *v1alpha1.FreezeStatus
	// generation is the generation of the spec.
	generation int64
}

// isWindow reports whether the draft is a maintenance window, which denies outside of its windows.
func (d draft) isWindow() bool { return d.id.Kind == WindowKind || d.id.Kind == ClusterWindowKind }

// draftOf returns the draft of a change freeze or maintenance window (a pointer to the API type); false: another type.
func draftOf(obj any) (draft, bool) {
	switch o := obj.(type) {
	case *v1alpha1.ChangeFreeze:
		return draft{id: workload.Policy{Kind: Kind, Namespace: o.Namespace, Name: o.Name}, status: &o.Status, generation: o.Generation,
			target: inNamespace(o.Spec.Target, o.Namespace), rules: o.Spec.FreezeRules, times: o.Spec.FreezePeriod,
			suspend: inOwnNamespace(o.Spec.Suspend)}, true
	case *v1alpha1.ClusterChangeFreeze:
		return draft{id: workload.Policy{Kind: ClusterKind, Name: o.Name}, status: &o.Status, generation: o.Generation,
			target: inCluster(o.Spec.Target), rules: o.Spec.FreezeRules, times: o.Spec.FreezePeriod, suspend: o.Spec.Suspend}, true
	case *v1alpha1.MaintenanceWindow:
		return draft{id: workload.Policy{Kind: WindowKind, Namespace: o.Namespace, Name: o.Name}, status: &o.Status, generation: o.Generation,
			target: inNamespace(o.Spec.Target, o.Namespace), rules: o.Spec.FreezeRules, suspend: inOwnNamespace(o.Spec.Suspend),
			times: v1alpha1.FreezePeriod{Windows: o.Spec.Windows, Calendars: o.Spec.Calendars}}, true
	case *v1alpha1.ClusterMaintenanceWindow:
		return draft{id: workload.Policy{Kind: ClusterWindowKind, Name: o.Name}, status: &o.Status, generation: o.Generation,
			target: inCluster(o.Spec.Target), rules: o.Spec.FreezeRules, suspend: o.Spec.Suspend,
			times: v1alpha1.FreezePeriod{Windows: o.Spec.Windows, Calendars: o.Spec.Calendars}}, true
	}
	return draft{}, false
}

func inOwnNamespace(list []v1alpha1.FreezeSuspend) []v1alpha1.ClusterFreezeSuspend {
	var all []v1alpha1.ClusterFreezeSuspend
	for _, s := range list {
		all = append(all, v1alpha1.ClusterFreezeSuspend{FreezeSuspend: s})
	}
	return all
}

// exceptionDraft is the common form of the two kinds of exceptions before compiling.
type exceptionDraft struct {
	id     workload.Policy
	target selection
	rules  v1alpha1.ExceptionRules
	status *v1alpha1.ExceptionStatus
}

// exceptionDraftOf returns the draft of an exception (a pointer to the API type); false: another type.
func exceptionDraftOf(obj any) (exceptionDraft, bool) {
	switch o := obj.(type) {
	case *v1alpha1.FreezeException:
		return exceptionDraft{workload.Policy{Kind: ExceptionKind, Namespace: o.Namespace, Name: o.Name},
			inNamespace(o.Spec.Target, o.Namespace), o.Spec.ExceptionRules, &o.Status}, true
	case *v1alpha1.ClusterFreezeException:
		return exceptionDraft{workload.Policy{Kind: ClusterExceptionKind, Name: o.Name},
			inCluster(o.Spec.Target), o.Spec.ExceptionRules, &o.Status}, true
	}
	return exceptionDraft{}, false
}

// CompileObject compiles an object (a pointer to the API type) of any of the six kinds into a rule or an exception. With
// errors it returns nil for both: an unreadable freeze denies nothing, and an unreadable exception lifts nothing. An
// object of another kind is a fault in the caller.
func CompileObject(obj any, ctx Context) (*Rule, *Exception, field.ErrorList) {
	if d, ok := draftOf(obj); ok {
		rule, errs := compileRule(d, ctx)
		return rule, nil, errs
	}
	if d, ok := exceptionDraftOf(obj); ok {
		exception, errs := compileException(d, ctx)
		return nil, exception, errs
	}
	return nil, nil, field.ErrorList{field.InternalError(nil, fmt.Errorf("%T is no freeze, window or exception", obj))}
}

func compileRule(d draft, ctx Context) (*Rule, field.ErrorList) {
	at := field.NewPath("spec")
	r := &Rule{filed: filed{id: d.id, end: forever}, enforcement: d.enforcement(), calendars: d.times.Calendars,
		recurs: len(d.times.Windows)+len(d.times.Calendars) > 0, windows: max(1, len(d.times.Windows)+len(d.times.Calendars))}
	var errs field.ErrorList
	r.reach, errs = d.target.compile(ctx.Scope, at.Child("target"))
	loc, es := times.Zone(d.rules.TimeZone, at.Child("timeZone"))
	errs, r.zone = append(errs, es...), loc
	if d.onlySuspends() {
		if len(d.suspend) == 0 {
			errs = append(errs, field.Required(at.Child("deny"),
				"with an empty list the policy only suspends, and spec.suspend lists nothing: list the denied actions, or the kinds to suspend"))
		}
	} else {
		r.deny, es = actions(d.rules.Deny, at.Child("deny"))
		errs = append(errs, es...)
	}
	errs = append(errs, policy.OneOf(at.Child("enforcement"), r.enforcement, v1alpha1.EnforcementDeny, v1alpha1.EnforcementWarn,
		v1alpha1.EnforcementAudit)...)
	_, es = d.labelChanges(at)
	errs = append(errs, es...)
	r.refusesLeaving = d.refusesLeaving() && r.enforcement == v1alpha1.EnforcementDeny
	if d.rules.Message != nil {
		r.message = *d.rules.Message
		r.why = messageText(r.message)
	}
	r.judged, es = subjects(d.rules, at)
	errs = append(errs, es...)
	errs = append(errs, r.takeTimes(d, ctx, at)...)
	if es = times.Repeated(d.times.Windows, at.Child("windows")); !ctx.Stored {
		errs = append(errs, es...)
	} else if len(es) > 0 {
		r.excused = es.ToAggregate().Error()
	}
	r.guardAhead, es = d.guardAhead(at.Child("guardAhead"))
	errs = append(errs, es...)
	r.letFinish, es = d.letFinish(at.Child("letFinish"))
	errs = append(errs, es...)
	asleep, es := d.suspended(ctx.Scope, at)
	errs = append(errs, es...)
	if len(errs) > 0 {
		return nil, errs
	}
	if r.held = []reach{{asleep}}; r.deny != 0 {
		r.held = append(r.held, r.reach)
	}
	r.engine = engine(r, asleep)
	r.engine.Invalid = r.unreadable
	return r, nil
}

// onlySuspends reports whether the list of denied actions is given and empty.
func (d draft) onlySuspends() bool { return d.rules.Deny != nil && len(d.rules.Deny) == 0 }

// enforcement returns the consequence for a denied change, which is the value of the spec or the default.
func (d draft) enforcement() v1alpha1.Enforcement {
	return cmp.Or(d.rules.Enforcement, v1alpha1.EnforcementDeny)
}

// labelChanges returns the consequence for an edit of labels that takes an object out of the target, or out of an entry of
// suspend. It is the value of the spec or the default.
func (d draft) labelChanges(at *field.Path) (v1alpha1.LabelChanges, field.ErrorList) {
	switch given := d.rules.LabelChanges; {
	case given != "":
		return given, policy.OneOf(at.Child("labelChanges"), given, v1alpha1.LabelChangesDeny, v1alpha1.LabelChangesWarn)
	case d.target.namespace == "" && d.byObjectMetadata() && !d.onlySuspends():
		return v1alpha1.LabelChangesDeny, nil
	}
	return v1alpha1.LabelChangesWarn, nil
}

// byObjectMetadata reports whether the target or an entry of suspend selects by labels or annotations of objects.
func (d draft) byObjectMetadata() bool {
	return d.target.byObjectMetadata() || slices.ContainsFunc(d.suspend,
		func(s v1alpha1.ClusterFreezeSuspend) bool { return given(s.Selector) })
}

// refusesLeaving reports whether an edit of labels or annotations must not take an object out of the target or an entry of
// suspend.
func (d draft) refusesLeaving() bool {
	changes, _ := d.labelChanges(nil)
	return changes == v1alpha1.LabelChangesDeny && d.byObjectMetadata()
}

// guardAhead returns how long before each start of denying a rule is already guarded.
func (d draft) guardAhead(at *field.Path) (time.Duration, field.ErrorList) {
	if d.rules.GuardAhead == "" {
		return defaultGuardAhead, nil
	}
	ahead, err := timeline.ParseDurationOrZero(string(d.rules.GuardAhead))
	if err != nil {
		return 0, field.ErrorList{field.Invalid(at, d.rules.GuardAhead, err.Error())}
	}
	return ahead, nil
}

// letFinish returns for how long after each start of denying controllers may finish roll-outs.
func (d draft) letFinish(at *field.Path) (time.Duration, field.ErrorList) {
	if d.rules.LetFinish == "" {
		return 0, nil
	}
	long, err := timeline.ParseDurationOrZero(string(d.rules.LetFinish))
	if err != nil {
		return 0, field.ErrorList{field.Invalid(at, d.rules.LetFinish, err.Error())}
	}
	return long, nil
}

// takeTimes sets the times when the rule denies, the first second after its last denial, and the missing calendars. A freeze
// with a missing calendar still denies at its other times. Otherwise any user who deletes a Calendar would lift the freeze.
func (r *Rule) takeTimes(d draft, ctx Context, at *field.Path) field.ErrorList {
	parts, end, errs := d.period(at)
	if r.zone == nil {
		return errs // the unknown zone has been reported
	}
	windows, es := times.EveryWindow(d.times.Windows, r.zone, at.Child("windows"))
	errs = append(errs, es...)
	at = at.Child("calendars")
	effects, es := times.Effects(d.times.Calendars, v1alpha1.EffectFrozen, v1alpha1.EffectChangesOpen, ctx.Calendars, at)
	for _, e := range es {
		if e.Type == field.ErrorTypeNotFound {
			r.missing = append(r.missing, e.BadValue.(string))
		} else {
			errs = append(errs, e)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if r.end = end; len(windows)+len(d.times.Calendars) > 0 {
		r.end = forever
	}
	base := timeline.Union(append(parts, windows...)...)
	if d.isWindow() {
		base = timeline.Not(base)
	}
	r.denies, r.surely = r.takeLost(base, effects, ctx, at)
	r.takeAnnounced(d)
	return nil
}

// takeLost returns the times when the rule denies by the strictest and by the mildest reading of the lost events of its calendars.
// The strictest is in force: a broken file, event or include must not lift a freeze. Where the two differ, the engine neither
// suspends nor restores. It does neither as long as a calendar cannot be read at all.
func (r *Rule) takeLost(base timeline.Timeline, effects []timeline.Effect, ctx Context, at *field.Path) (strict, mild timeline.Timeline) {
	most, least := slices.Clone(effects), slices.Clone(effects)
	var all times.Loss
	for i, c := range r.calendars {
		lost := ctx.LostOf(c.Name)
		if len(lost.Events) == 0 {
			continue
		}
		all.Events = append(all.Events, lost.Events...)
		why := "; where this matters, it opens nothing: mend it"
		if c.Effect == v1alpha1.EffectFrozen {
			most = append(most, timeline.Effect{During: lost.During, Active: true})
			why = "; where this matters, the freeze holds: mend it"
		} else {
			least = append(least, timeline.Effect{During: lost.During})
		}
		fault := field.Invalid(at.Index(i).Child("name"), c.Name, lost.String()+why)
		if r.lost = append(r.lost, fault); slices.Contains(r.missing, c.Name) {
			r.unreadable = append(r.unreadable, fault)
		}
	}
	r.missing = slices.DeleteFunc(r.missing, func(name string) bool { return len(ctx.LostOf(name).Events) > 0 })
	r.doubt = workload.OneLine(all.String(), maxWhy)
	return override(base, most), override(base, least)
}

// override returns a timeline with the state of base, or of the effect in force. Without effects it returns base itself.
func override(base timeline.Timeline, effects []timeline.Effect) timeline.Timeline {
	if len(effects) == 0 {
		return base
	}
	return timeline.Override(base, effects...)
}

// period returns the time from startTime to endTime, if the spec gives them, and the instant of endTime.
func (d draft) period(at *field.Path) (during []timeline.Timeline, end int64, errs field.ErrorList) {
	start, stop := d.times.StartTime, d.times.EndTime
	freezes := slices.ContainsFunc(d.times.Calendars, func(c v1alpha1.FreezeCalendar) bool { return c.Effect == v1alpha1.EffectFrozen })
	switch {
	case d.isWindow() && len(d.times.Windows) == 0:
		return nil, 0, field.ErrorList{field.Required(at.Child("windows"), "give at least one: outside them changes are denied")}
	case start.IsZero() != stop.IsZero():
		return nil, 0, field.ErrorList{field.Required(at, "startTime and endTime go together")}
	case start.IsZero() && len(d.times.Windows) == 0 && !freezes:
		return nil, 0, field.ErrorList{field.Required(at,
			"give startTime and endTime, windows, or a calendar with the effect Frozen: the freeze has no time at which it denies changes")}
	case start.IsZero():
		return nil, 0, nil
	case !stop.After(start.Time):
		return nil, 0, field.ErrorList{field.Invalid(at.Child("endTime"), stop.Format(time.RFC3339), "must be after startTime")}
	}
	window, errs := timeline.ParseWindow(v1alpha1.Window{Start: start.UTC().Format(time.RFC3339), End: stop.UTC().Format(time.RFC3339)},
		time.UTC, at)
	return []timeline.Timeline{window}, stop.Unix(), errs
}

// actions compiles a list of actions. An empty list is an error, because the API server fills in the default.
func actions(list []v1alpha1.Action, at *field.Path) (workload.Change, field.ErrorList) {
	var set workload.Change
	var errs field.ErrorList
	for i, a := range list {
		c := workload.ChangeOf(string(a))
		if c == 0 {
			errs = append(errs, field.NotSupported(at.Index(i), a,
				[]v1alpha1.Action{v1alpha1.ActionCreate, v1alpha1.ActionDelete, v1alpha1.ActionRollOut, v1alpha1.ActionScale}))
			continue
		}
		if set.Has(c) {
			errs = append(errs, field.Duplicate(at.Index(i), a))
		}
		set |= c
	}
	if len(list) == 0 {
		errs = append(errs, field.Required(at, "list at least one of Create, Delete, RollOut and Scale"))
	}
	return set, errs
}

func compileException(d exceptionDraft, ctx Context) (*Exception, field.ErrorList) {
	at, rules := field.NewPath("spec"), d.rules
	e := &Exception{filed: filed{id: d.id, end: rules.ActiveTo.Unix()}, from: rules.ActiveFrom.Unix(),
		reason: workload.OneLine(rules.Reason, maxWhy), ticket: workload.OneLine(rules.TicketURL, maxWhy)}
	var errs field.ErrorList
	e.reach, errs = d.target.compile(ctx.Scope, at.Child("target"))
	var es field.ErrorList
	e.entries, es = entries(rules.Policies, d.id.Namespace, at.Child("policies"))
	errs = append(errs, es...)
	allow, es := actions(rules.Allow, at.Child("allow"))
	e.allow, errs = allow, append(errs, es...)
	if e.end <= e.from {
		errs = append(errs, field.Invalid(at.Child("activeTo"), rules.ActiveTo.Format(time.RFC3339), "must be after activeFrom"))
	}
	if rules.Reason == "" {
		errs = append(errs, field.Required(at.Child("reason"), "say why the exception is made"))
	}
	if c := rules.Constraints; c != nil {
		e.labels, e.users, e.groups = labels.SelectorFromValidatedSet(c.RequireLabels), sets.New(c.AllowedUsers...), sets.New(c.AllowedGroups...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return e, nil
}
