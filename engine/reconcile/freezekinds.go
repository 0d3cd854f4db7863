package reconcile

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
)

// freezeKinds are the rows of change freezes and maintenance windows. What the engine does for them is spec.suspend; what
// they deny is judged at admission.
func freezeKinds() []policyKind {
	rows := []policyKind{
		{
			name:   freeze.Kind,
			object: func() client.Object { return &v1alpha1.ChangeFreeze{} },
			list:   func() client.ObjectList { return &v1alpha1.ChangeFreezeList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				_, p, _ := freeze.Compile(obj.(*v1alpha1.ChangeFreeze), e.freezeContext())
				return p
			},
		},
		{
			name:   freeze.ClusterKind,
			object: func() client.Object { return &v1alpha1.ClusterChangeFreeze{} },
			list:   func() client.ObjectList { return &v1alpha1.ClusterChangeFreezeList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				_, p, _ := freeze.CompileCluster(obj.(*v1alpha1.ClusterChangeFreeze), e.freezeContext())
				return p
			},
		},
		{
			name:   freeze.WindowKind,
			object: func() client.Object { return &v1alpha1.MaintenanceWindow{} },
			list:   func() client.ObjectList { return &v1alpha1.MaintenanceWindowList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				_, p, _ := freeze.CompileWindow(obj.(*v1alpha1.MaintenanceWindow), e.freezeContext())
				return p
			},
		},
		{
			name:   freeze.ClusterWindowKind,
			object: func() client.Object { return &v1alpha1.ClusterMaintenanceWindow{} },
			list:   func() client.ObjectList { return &v1alpha1.ClusterMaintenanceWindowList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				_, p, _ := freeze.CompileClusterWindow(obj.(*v1alpha1.ClusterMaintenanceWindow), e.freezeContext())
				return p
			},
		},
	}
	for i := range rows {
		rows[i].orphan = func(client.Object) bool { return false }
		rows[i].calendars = func(client.Object) []v1alpha1.CalendarRef { return nil }
		rows[i].harmless = func(obj client.Object) bool { return len(freezeParts(obj).rules.Suspend) == 0 }
	}
	return rows
}

func (e *Engine) freezeContext() freeze.Context { return freeze.Context{Scope: e.opts.Scope} }

// freezePart is what the four kinds have in common.
type freezePart struct {
	status *v1alpha1.FreezeStatus
	rules  *v1alpha1.FreezeRules
	kinds  []v1alpha1.KindRef
}

// freezeParts takes a change freeze or maintenance window apart; the parts of any other object are nil.
func freezeParts(obj client.Object) freezePart {
	switch o := obj.(type) {
	case *v1alpha1.ChangeFreeze:
		return freezePart{&o.Status, &o.Spec.FreezeRules, o.Spec.Target.Kinds}
	case *v1alpha1.ClusterChangeFreeze:
		return freezePart{&o.Status, &o.Spec.FreezeRules, o.Spec.Target.Kinds}
	case *v1alpha1.MaintenanceWindow:
		return freezePart{&o.Status, &o.Spec.FreezeRules, o.Spec.Target.Kinds}
	case *v1alpha1.ClusterMaintenanceWindow:
		return freezePart{&o.Status, &o.Spec.FreezeRules, o.Spec.Target.Kinds}
	}
	return freezePart{}
}

// reportFreeze fills in what only the status of freezes has: whether it denies now and when that changes. These are instants
// of the policy itself, so they are written when the state changes and not as time goes by.
func reportFreeze(obj client.Object, state policy.State) {
	part := freezeParts(obj)
	if part.status == nil {
		return
	}
	part.status.Active = state.Name == "Frozen"
	part.status.NextFreezeTime, part.status.NextOpenTime = timeOf(state.Next), nil
	if part.status.Active {
		part.status.NextFreezeTime, part.status.NextOpenTime = nil, timeOf(state.Next)
	}
}

// unjudged names a kind that a freeze lists and that is not adapted: nothing of it is frozen.
func (r *rollup) unjudged(kinds []v1alpha1.KindRef) string {
	r.e.mu.RLock()
	defer r.e.mu.RUnlock()
	for _, k := range kinds {
		gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
		if r.e.kinds[gk] == nil {
			return fmt.Sprintf("no adapter for %s is ready; see kubectl get adapters.flyball.dev", gk)
		}
	}
	return ""
}
