package freeze

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/policy/times"
)

// Kinds returns the rows of freezes, windows and exceptions in the table of policy kinds. The engine executes only
// spec.suspend of freezes and windows; denials and exceptions are judged at admission.
func Kinds() []policy.Row {
	rows := slices.Concat(
		policy.Pair(Kind, "changefreezes", "ffrz",
			policy.NewKind[v1alpha1.ChangeFreeze, v1alpha1.ChangeFreezeList](compile, parts),
			policy.NewKind[v1alpha1.ClusterChangeFreeze, v1alpha1.ClusterChangeFreezeList](compile, parts)),
		policy.Pair(WindowKind, "maintenancewindows", "fmw",
			policy.NewKind[v1alpha1.MaintenanceWindow, v1alpha1.MaintenanceWindowList](compile, parts),
			policy.NewKind[v1alpha1.ClusterMaintenanceWindow, v1alpha1.ClusterMaintenanceWindowList](compile, parts)),
		policy.Pair(ExceptionKind, "freezeexceptions", "ffex",
			policy.NewKind[v1alpha1.FreezeException, v1alpha1.FreezeExceptionList](compile, parts),
			policy.NewKind[v1alpha1.ClusterFreezeException, v1alpha1.ClusterFreezeExceptionList](compile, parts)),
	)
	for i := range rows {
		rows[i].Restricts = true
	}
	return rows
}

// compile returns the policy with the rule or the exception. RuleOf and ExceptionOf return these from the policy.
func compile[PT policy.Object](obj PT, ctx Context) (*policy.Policy, field.ErrorList) {
	rule, exception, errs := CompileObject(obj, ctx)
	switch d, isRule := draftOf(obj); {
	case len(errs) == 0 && isRule:
		return rule.engine, nil
	case len(errs) == 0:
		return &policy.Policy{ID: exception.id, Target: selector.Nothing(), Extras: policy.Extras{Judge: exception}}, nil
	case isRule:
		broken := policy.Broken(d.id, errs)
		broken.Extras = extras(nil)
		return broken, errs
	default:
		e, _ := exceptionDraftOf(obj)
		return policy.Broken(e.id, errs), errs
	}
}

// parts returns the parts of an object that the engine uses. An exception has no shared status, because it acts on no
// target.
func parts[PT policy.Object](obj PT) policy.Meta {
	d, isRule := draftOf(obj)
	if !isRule {
		return policy.Meta{}
	}
	return policy.Meta{Status: &d.status.PolicyStatus, ChangesNothing: len(d.suspend) == 0, Rights: d.rights,
		Calendars: times.Names(d.times.Calendars), Recalls: d.status.Announced}
}

// rights returns the rights needed by a freeze or window: to put the kinds of spec.suspend to sleep. A freeze or window
// without such kinds needs no right.
func (d draft) rights() []policy.Right {
	if len(d.suspend) == 0 {
		return nil
	}
	return []policy.Right{{
		Verb: "patch", Field: "spec.suspend",
		Asks: []any{d.target.spec, d.times, d.rules.TimeZone, d.suspend},
	}}
}

// RuleOf returns the rule of a compiled freeze or window; nil for any other policy.
func RuleOf(p *policy.Policy) *Rule {
	j, _ := p.Judge.(judge)
	return j.rule
}

// NewException returns a namespaced exception, or a cluster exception for the given namespaces if namespace is empty,
// and its selector and rules to fill in.
func NewException(namespace, name string, namespaces []string) (policy.Object, *v1alpha1.TargetSelector, *v1alpha1.ExceptionRules) {
	if namespace == "" {
		e := &v1alpha1.ClusterFreezeException{ObjectMeta: metav1.ObjectMeta{Name: name}}
		e.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(ClusterExceptionKind))
		e.Spec.Target.Namespaces = namespaces
		return e, &e.Spec.Target.TargetSelector, &e.Spec.ExceptionRules
	}
	e := &v1alpha1.FreezeException{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	e.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(ExceptionKind))
	return e, &e.Spec.Target, &e.Spec.ExceptionRules
}

// ExceptionOf returns the exception of a compiled exception; nil for any other policy.
func ExceptionOf(p *policy.Policy) *Exception {
	e, _ := p.Judge.(*Exception)
	return e
}

// StatusOf returns the status of a freeze or window; nil for an object of another kind.
func StatusOf(obj policy.Object) *v1alpha1.FreezeStatus {
	d, _ := draftOf(obj)
	return d.status
}

// ExceptionStatusOf returns the status of an exception; nil for an object of another kind.
func ExceptionStatusOf(obj policy.Object) *v1alpha1.ExceptionStatus {
	d, _ := exceptionDraftOf(obj)
	return d.status
}

// extras returns the extras of a freeze or window; rule is nil for an unreadable spec.
func extras(rule *Rule) policy.Extras {
	return policy.Extras{Reporter: reporter{rule}, Judge: judge{rule}}
}

// judge implements policy.Judge for freezes and windows.
type judge struct{ rule *Rule }

// JudgedBy implements policy.Judge.
func (j judge) JudgedBy() *selector.Selector {
	if j.rule == nil {
		return selector.Nothing()
	}
	return j.rule.reach.selector
}

// Denies implements policy.Judge.
func (judge) Denies() bool { return true }

// JudgedBy implements policy.Judge. The changes of these objects are allowed.
func (e *Exception) JudgedBy() *selector.Selector { return e.reach.selector }

// Denies implements policy.Judge.
func (*Exception) Denies() bool { return false }

// reporter implements policy.Reporter for freezes and windows. rule is nil for an unreadable spec.
type reporter struct{ rule *Rule }

// Condition implements policy.Reporter.
func (reporter) Condition() string { return v1alpha1.ConditionActive }

// AppliedLimit implements policy.Reporter.
func (reporter) AppliedLimit() int { return 0 }

// FillStatus implements policy.Reporter. It writes only instants that come from the policy itself. So the status changes
// only when the state changes.
func (r reporter) FillStatus(obj policy.Object, now time.Time, state policy.Summary, _ []policy.Applied) (activeBefore string) {
	st := StatusOf(obj)
	if st == nil {
		return ""
	}
	st.Active = state.Name == stateFrozen
	st.NextFreezeTime, st.NextOpenTime = instant(state), nil
	if st.Active {
		st.NextFreezeTime, st.NextOpenTime = nil, instant(state)
	}
	if r.rule != nil {
		st.Announced = r.rule.Announced(now)
	}
	return ""
}

// stateFrozen is the state of a freeze while it denies changes.
const stateFrozen = "Frozen"

func instant(state policy.Summary) *metav1.Time {
	if state.Next.IsZero() {
		return nil
	}
	at := metav1.NewTime(state.Next).Rfc3339Copy()
	return &at
}

// Resources returns the resources of the freeze kinds, by kind.
func Resources() map[string]string {
	all := map[string]string{}
	for _, k := range Kinds() {
		all[k.Name] = k.Resource
	}
	return all
}
