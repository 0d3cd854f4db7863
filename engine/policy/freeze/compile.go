package freeze

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Context is what compiling needs to know besides the spec.
type Context = policy.Context

// defaultGuardAhead is that of the CRD, for objects that did not come from an API server.
const defaultGuardAhead = 24 * time.Hour

// draft is what the four kinds of rules have in common before compiling.
type draft struct {
	id      workload.Policy
	target  selection
	rules   v1alpha1.FreezeRules
	period  *v1alpha1.FreezePeriod
	windows []v1alpha1.Window
}

// draftOf takes a change freeze or maintenance window (a pointer to the API type) apart; false: it is neither.
func draftOf(obj any) (draft, bool) {
	switch o := obj.(type) {
	case *v1alpha1.ChangeFreeze:
		return draft{id: workload.Policy{Kind: Kind, Namespace: o.Namespace, Name: o.Name},
			target: inNamespace(o.Spec.Target, o.Namespace), rules: o.Spec.FreezeRules, period: &o.Spec.FreezePeriod}, true
	case *v1alpha1.ClusterChangeFreeze:
		return draft{id: workload.Policy{Kind: ClusterKind, Name: o.Name},
			target: inCluster(o.Spec.Target), rules: o.Spec.FreezeRules, period: &o.Spec.FreezePeriod}, true
	case *v1alpha1.MaintenanceWindow:
		return draft{id: workload.Policy{Kind: WindowKind, Namespace: o.Namespace, Name: o.Name},
			target: inNamespace(o.Spec.Target, o.Namespace), rules: o.Spec.FreezeRules, windows: o.Spec.Windows}, true
	case *v1alpha1.ClusterMaintenanceWindow:
		return draft{id: workload.Policy{Kind: ClusterWindowKind, Name: o.Name},
			target: inCluster(o.Spec.Target), rules: o.Spec.FreezeRules, windows: o.Spec.Windows}, true
	}
	return draft{}, false
}

// Compile compiles a ChangeFreeze. With errors there is no rule: a freeze that cannot be read denies nothing, and the
// engine's part is policy.Broken.
func Compile(f *v1alpha1.ChangeFreeze, ctx Context) (*Rule, *policy.Policy, field.ErrorList) {
	d, _ := draftOf(f)
	return compile(d, ctx)
}

// CompileCluster compiles a ClusterChangeFreeze, as Compile does.
func CompileCluster(f *v1alpha1.ClusterChangeFreeze, ctx Context) (*Rule, *policy.Policy, field.ErrorList) {
	d, _ := draftOf(f)
	return compile(d, ctx)
}

// CompileWindow compiles a MaintenanceWindow, as Compile does.
func CompileWindow(w *v1alpha1.MaintenanceWindow, ctx Context) (*Rule, *policy.Policy, field.ErrorList) {
	d, _ := draftOf(w)
	return compile(d, ctx)
}

// CompileClusterWindow compiles a ClusterMaintenanceWindow, as Compile does.
func CompileClusterWindow(w *v1alpha1.ClusterMaintenanceWindow, ctx Context) (*Rule, *policy.Policy, field.ErrorList) {
	d, _ := draftOf(w)
	return compile(d, ctx)
}

func compile(d draft, ctx Context) (*Rule, *policy.Policy, field.ErrorList) {
	at := field.NewPath("spec")
	r := &Rule{id: d.id, end: forever, enforcement: d.rules.Enforcement, windows: max(1, len(d.windows))}
	var errs field.ErrorList
	r.reach, errs = d.target.compile(ctx.Scope, at.Child("target"))
	loc, es := when.Zone(d.rules.TimeZone, at.Child("timeZone"))
	errs, r.zone = append(errs, es...), loc
	r.deny, es = actions(d.rules.Deny, at.Child("deny"))
	errs = append(errs, es...)
	switch r.enforcement {
	case v1alpha1.EnforcementDeny, v1alpha1.EnforcementWarn, v1alpha1.EnforcementAudit:
	case "":
		r.enforcement = v1alpha1.EnforcementDeny
	default:
		errs = append(errs, field.NotSupported(at.Child("enforcement"), r.enforcement,
			[]v1alpha1.Enforcement{v1alpha1.EnforcementDeny, v1alpha1.EnforcementWarn, v1alpha1.EnforcementAudit}))
	}
	_, es = d.labelChanges(at)
	errs = append(errs, es...)
	r.refusesLeaving = d.refusesLeaving() && r.enforcement == v1alpha1.EnforcementDeny
	if d.rules.Message != nil {
		r.message = *d.rules.Message
		r.why = messageText(r.message)
	}
	r.denies, r.end, es = d.times(loc, at)
	errs = append(errs, es...)
	r.guardAhead, es = d.guardAhead(at.Child("guardAhead"))
	errs = append(errs, es...)
	asleep, es := d.suspended(ctx.Scope, at)
	errs = append(errs, es...)
	if len(errs) > 0 {
		broken := policy.Broken(d.id, errs)
		broken.Extras = ruleExtras{}
		return nil, broken, errs
	}
	r.engine = engine(r, asleep, d.period)
	return r, r.engine, nil
}

// labelChanges is what happens to an edit of labels by which an object leaves the target: what the spec says, or the default.
func (d draft) labelChanges(at *field.Path) (v1alpha1.LabelChanges, field.ErrorList) {
	switch given := d.rules.LabelChanges; given {
	case v1alpha1.LabelChangesDeny, v1alpha1.LabelChangesWarn:
		return given, nil
	case "":
		if d.target.namespace == "" && d.target.byObjectMetadata() {
			return v1alpha1.LabelChangesDeny, nil
		}
		return v1alpha1.LabelChangesWarn, nil
	default:
		return given, field.ErrorList{field.NotSupported(at.Child("labelChanges"), given,
			[]v1alpha1.LabelChanges{v1alpha1.LabelChangesDeny, v1alpha1.LabelChangesWarn})}
	}
}

// refusesLeaving says whether an object may not leave the target by an edit of its labels or annotations.
func (d draft) refusesLeaving() bool {
	changes, _ := d.labelChanges(nil)
	return changes == v1alpha1.LabelChangesDeny && d.target.byObjectMetadata()
}

// guardAhead is how long before its beginning a freeze is guarded. The times between the closings of a maintenance window are
// no beginning of anything: it is guarded only while it denies.
func (d draft) guardAhead(at *field.Path) (time.Duration, field.ErrorList) {
	switch {
	case d.period == nil:
		return 0, nil
	case d.period.GuardAhead == "":
		return defaultGuardAhead, nil
	}
	ahead, err := timeline.ParseDurationOrZero(string(d.period.GuardAhead))
	if err != nil {
		return 0, field.ErrorList{field.Invalid(at, d.period.GuardAhead, err.Error())}
	}
	return ahead, nil
}

// times says when the rule denies and from which second on it never does again.
func (d draft) times(loc *time.Location, at *field.Path) (timeline.Timeline, int64, field.ErrorList) {
	if d.period != nil {
		if !d.period.EndTime.After(d.period.StartTime.Time) {
			return timeline.Timeline{}, 0, field.ErrorList{field.Invalid(at.Child("endTime"), d.period.EndTime.Format(time.RFC3339), "must be after startTime")}
		}
		during, errs := timeline.ParseWindow(timeline.WindowSpec{
			Start: d.period.StartTime.UTC().Format(time.RFC3339), End: d.period.EndTime.UTC().Format(time.RFC3339),
		}, time.UTC, at)
		return during.Timeline, d.period.EndTime.Unix(), errs
	}
	if len(d.windows) == 0 {
		return timeline.Timeline{}, 0, field.ErrorList{field.Required(at.Child("windows"), "give at least one: outside them changes are denied")}
	}
	if loc == nil {
		return timeline.Timeline{}, 0, nil // the unknown zone has been reported
	}
	windows, errs := when.Windows(d.windows, loc, at.Child("windows"))
	if len(errs) > 0 {
		return timeline.Timeline{}, 0, errs
	}
	return timeline.Not(timeline.Windows(windows)), forever, nil
}

// actions compiles a list of actions; none is an error, since the API server fills in the default.
func actions(list []v1alpha1.Action, at *field.Path) (workload.Change, field.ErrorList) {
	var set workload.Change
	var errs field.ErrorList
	for i, a := range list {
		c, ok := change(a)
		if !ok {
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

func change(a v1alpha1.Action) (workload.Change, bool) {
	switch a {
	case v1alpha1.ActionCreate:
		return workload.ChangeCreate, true
	case v1alpha1.ActionDelete:
		return workload.ChangeDelete, true
	case v1alpha1.ActionRollOut:
		return workload.ChangeRollOut, true
	case v1alpha1.ActionScale:
		return workload.ChangeScale, true
	}
	return 0, false
}

// CompileException compiles a FreezeException. With errors there is none: an exception that cannot be read lifts nothing.
func CompileException(e *v1alpha1.FreezeException, ctx Context) (*Exception, field.ErrorList) {
	id := workload.Policy{Kind: ExceptionKind, Namespace: e.Namespace, Name: e.Name}
	return compileException(id, inNamespace(e.Spec.Target, e.Namespace), e.Spec.ExceptionRules, ctx)
}

// CompileClusterException compiles a ClusterFreezeException, as CompileException does.
func CompileClusterException(e *v1alpha1.ClusterFreezeException, ctx Context) (*Exception, field.ErrorList) {
	id := workload.Policy{Kind: ClusterExceptionKind, Name: e.Name}
	return compileException(id, inCluster(e.Spec.Target), e.Spec.ExceptionRules, ctx)
}

func compileException(id workload.Policy, selects selection, rules v1alpha1.ExceptionRules, ctx Context) (*Exception, field.ErrorList) {
	at := field.NewPath("spec")
	e := &Exception{id: id, from: rules.ActiveFrom.Unix(), to: rules.ActiveTo.Unix(), reason: rules.Reason, ticket: rules.TicketURL}
	var errs field.ErrorList
	e.reach, errs = selects.compile(ctx.Scope, at.Child("target"))
	var es field.ErrorList
	e.entries, es = entries(rules.Policies, id.Namespace, at.Child("policies"))
	errs = append(errs, es...)
	allow, es := actions(rules.Allow, at.Child("allow"))
	e.allow, errs = allow, append(errs, es...)
	if e.to <= e.from {
		errs = append(errs, field.Invalid(at.Child("activeTo"), rules.ActiveTo.Format(time.RFC3339), "must be after activeFrom"))
	}
	if rules.Reason == "" {
		errs = append(errs, field.Required(at.Child("reason"), "say why the exception is made"))
	}
	if c := rules.Constraints; c != nil {
		e.labels, e.users, e.groups = workload.NewPairs(c.RequireLabels), setOf(c.AllowedUsers), setOf(c.AllowedGroups)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return e, nil
}

func setOf(list []string) map[string]struct{} {
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]struct{}, len(list))
	for _, s := range list {
		m[s] = struct{}{}
	}
	return m
}

// CompileObject compiles an object of any of the six kinds; an object of another kind is an error of the caller.
func CompileObject(obj any, ctx Context) (*Rule, *Exception, field.ErrorList) {
	if d, ok := draftOf(obj); ok {
		rule, _, errs := compile(d, ctx)
		return rule, nil, errs
	}
	var exception *Exception
	var errs field.ErrorList
	switch o := obj.(type) {
	case *v1alpha1.FreezeException:
		exception, errs = CompileException(o, ctx)
	case *v1alpha1.ClusterFreezeException:
		exception, errs = CompileClusterException(o, ctx)
	default:
		errs = field.ErrorList{field.InternalError(nil, fmt.Errorf("%T is no freeze, window or exception", obj))}
	}
	return nil, exception, errs
}
