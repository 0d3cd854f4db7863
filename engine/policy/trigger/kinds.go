package trigger

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// Kinds are the rows of triggers in the table of policy kinds. Whether a trigger is valid can depend on the kinds it lists.
func Kinds() []policy.Kind {
	namespaced := kind[v1alpha1.Trigger, v1alpha1.TriggerList](KindName, "triggers", Compile,
		func(t *v1alpha1.Trigger) (*v1alpha1.TargetSelector, *v1alpha1.TriggerStatus) {
			return &t.Spec.Target, &t.Status
		})
	cluster := kind[v1alpha1.ClusterTrigger, v1alpha1.ClusterTriggerList](ClusterKindName, "clustertriggers", CompileCluster,
		func(t *v1alpha1.ClusterTrigger) (*v1alpha1.TargetSelector, *v1alpha1.TriggerStatus) {
			return &t.Spec.Target.TargetSelector, &t.Status
		})
	cluster.ClusterScoped = true
	return []policy.Kind{namespaced, cluster}
}

// kind makes a row; parts takes an object apart into what the two kinds have in common.
func kind[T, L any, PT interface {
	*T
	policy.Object
}, PL interface {
	*L
	runtime.Object
}](name, resource string, compile func(PT, Context) (*policy.Policy, field.ErrorList),
	parts func(PT) (*v1alpha1.TargetSelector, *v1alpha1.TriggerStatus),
) policy.Kind {
	k := policy.NewKind[T, L, PT, PL](name, resource, compile)
	k.Status = func(obj policy.Object) *v1alpha1.PolicyStatus {
		_, status := parts(obj.(PT))
		return &status.PolicyStatus
	}
	k.Kinds = func(obj policy.Object) []schema.GroupKind {
		selector, _ := parts(obj.(PT))
		kinds := make([]schema.GroupKind, len(selector.Kinds))
		for i, ref := range selector.Kinds {
			kinds[i] = schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
		}
		return kinds
	}
	return k
}

// maxApplied is how many targets a status lists with their values.
const maxApplied = 20

// extras are what triggers offer beyond what all policies do. Of a trigger that cannot be read they are empty.
type extras struct {
	field    func(now time.Time, facet string) string
	template *policy.Template
}

var (
	_ policy.Reporter   = extras{}
	_ policy.FieldNamer = extras{}
	_ policy.Maker      = extras{}
)

// Condition implements policy.Reporter.
func (extras) Condition() string { return v1alpha1.ConditionActive }

// AppliedLimit implements policy.Reporter.
func (extras) AppliedLimit() int { return maxApplied }

// FillStatus implements policy.Reporter.
func (extras) FillStatus(obj policy.Object, state policy.State, applied []policy.Applied) (activeBefore string) {
	var st *v1alpha1.TriggerStatus
	switch t := obj.(type) {
	case *v1alpha1.Trigger:
		st = &t.Status
	case *v1alpha1.ClusterTrigger:
		st = &t.Status
	default:
		return ""
	}
	activeBefore, st.ActiveTrigger = st.ActiveTrigger, state.Active
	st.Applied = nil
	for _, a := range applied {
		st.Applied = append(st.Applied, v1alpha1.AppliedValues{
			Kind: a.Target.GroupKind.String(), Namespace: a.Target.Namespace, Name: a.Target.Name, Min: a.Min, Max: a.Max, Replicas: a.Replicas,
		})
	}
	return activeBefore
}

// Field implements policy.FieldNamer.
func (e extras) Field(now time.Time, facet string) string {
	if e.field == nil {
		return ""
	}
	return e.field(now, facet)
}

// Template implements policy.Maker.
func (e extras) Template() *policy.Template { return e.template }
