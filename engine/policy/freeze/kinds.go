package freeze

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/target"
)

// Kinds are the rows of freezes, windows and exceptions in the table of policy kinds. What the engine does for freezes and
// windows is spec.suspend; what they deny is judged at admission, and so is what exceptions lift.
func Kinds() []policy.Kind {
	rows := []policy.Kind{
		ruleKind[v1alpha1.ChangeFreeze, v1alpha1.ChangeFreezeList](Kind, "changefreezes", Compile),
		ruleKind[v1alpha1.ClusterChangeFreeze, v1alpha1.ClusterChangeFreezeList](ClusterKind, "clusterchangefreezes", CompileCluster),
		ruleKind[v1alpha1.MaintenanceWindow, v1alpha1.MaintenanceWindowList](WindowKind, "maintenancewindows", CompileWindow),
		ruleKind[v1alpha1.ClusterMaintenanceWindow, v1alpha1.ClusterMaintenanceWindowList](ClusterWindowKind, "clustermaintenancewindows", CompileClusterWindow),
		policy.NewKind[v1alpha1.FreezeException, v1alpha1.FreezeExceptionList](ExceptionKind, "freezeexceptions", asPolicy(CompileException)),
		policy.NewKind[v1alpha1.ClusterFreezeException, v1alpha1.ClusterFreezeExceptionList](ClusterExceptionKind, "clusterfreezeexceptions", asPolicy(CompileClusterException)),
	}
	for i := range rows {
		rows[i].ClusterScoped = i%2 == 1
	}
	return rows
}

func ruleKind[T, L any, PT interface {
	*T
	policy.Object
}, PL interface {
	*L
	runtime.Object
}](name, resource string, compile func(PT, Context) (*Rule, *policy.Policy, field.ErrorList)) policy.Kind {
	k := policy.NewKind[T, L, PT, PL](name, resource, func(obj PT, ctx Context) (*policy.Policy, field.ErrorList) {
		_, p, errs := compile(obj, ctx)
		return p, errs
	})
	k.Status = func(obj policy.Object) *v1alpha1.PolicyStatus { return &partsOf(obj).status.PolicyStatus }
	k.ChangesNothing = func(obj policy.Object) bool { return len(partsOf(obj).rules.Suspend) == 0 }
	return k
}

// asPolicy makes a policy of an exception. It acts on no target.
func asPolicy[PT policy.Object](compile func(PT, Context) (*Exception, field.ErrorList)) func(PT, Context) (*policy.Policy, field.ErrorList) {
	return func(obj PT, ctx Context) (*policy.Policy, field.ErrorList) {
		e, errs := compile(obj, ctx)
		if len(errs) > 0 {
			return &policy.Policy{Target: target.Nothing(), Invalid: errs}, errs
		}
		return &policy.Policy{ID: e.id, Target: target.Nothing(), Extras: e}, nil
	}
}

// RuleOf gives the rule of a compiled freeze or window; nil for any other policy.
func RuleOf(p *policy.Policy) *Rule {
	if o, ok := p.Extras.(ruleExtras); ok {
		return o.rule
	}
	return nil
}

// ExceptionOf gives the exception of a compiled one; nil for any other policy.
func ExceptionOf(p *policy.Policy) *Exception {
	e, _ := p.Extras.(*Exception)
	return e
}

// parts are what the four kinds of freezes and windows have in common; nil for an object of another kind.
type parts struct {
	status *v1alpha1.FreezeStatus
	rules  *v1alpha1.FreezeRules
}

func partsOf(obj policy.Object) parts {
	switch o := obj.(type) {
	case *v1alpha1.ChangeFreeze:
		return parts{&o.Status, &o.Spec.FreezeRules}
	case *v1alpha1.ClusterChangeFreeze:
		return parts{&o.Status, &o.Spec.FreezeRules}
	case *v1alpha1.MaintenanceWindow:
		return parts{&o.Status, &o.Spec.FreezeRules}
	case *v1alpha1.ClusterMaintenanceWindow:
		return parts{&o.Status, &o.Spec.FreezeRules}
	}
	return parts{}
}

// StatusOf is the status of a freeze or window; nil for an object of another kind.
func StatusOf(obj policy.Object) *v1alpha1.FreezeStatus { return partsOf(obj).status }

// ExceptionStatusOf is the status of an exception; nil for an object of another kind.
func ExceptionStatusOf(obj policy.Object) *v1alpha1.ExceptionStatus {
	switch o := obj.(type) {
	case *v1alpha1.FreezeException:
		return &o.Status
	case *v1alpha1.ClusterFreezeException:
		return &o.Status
	}
	return nil
}

// ruleExtras are what freezes and windows offer beyond what all policies do; rule is nil where the spec cannot be read.
type ruleExtras struct{ rule *Rule }

var (
	_ policy.Reporter = ruleExtras{}
	_ policy.Judge    = ruleExtras{}
)

// Condition implements policy.Reporter.
func (ruleExtras) Condition() string { return v1alpha1.ConditionActive }

// AppliedLimit implements policy.Reporter.
func (ruleExtras) AppliedLimit() int { return 0 }

// JudgedKinds implements policy.Judge.
func (o ruleExtras) JudgedKinds() []schema.GroupKind {
	if o.rule == nil {
		return nil
	}
	return o.rule.reach.selector.Kinds()
}

// FillStatus implements policy.Reporter. What it writes are instants of the policy itself, so they change when the state
// changes and not as time goes by.
func (ruleExtras) FillStatus(obj policy.Object, state policy.State, _ []policy.Applied) (activeBefore string) {
	st := partsOf(obj).status
	if st == nil {
		return ""
	}
	st.Active = state.Name == stateFrozen
	st.NextFreezeTime, st.NextOpenTime = instant(state), nil
	if st.Active {
		st.NextFreezeTime, st.NextOpenTime = nil, instant(state)
	}
	return ""
}

// stateFrozen is the state of a freeze while it denies changes.
const stateFrozen = "Frozen"

func instant(state policy.State) *metav1.Time {
	if state.Next.IsZero() {
		return nil
	}
	at := metav1.NewTime(state.Next).Rfc3339Copy()
	return &at
}
