package trigger

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/times"
)

// Kinds returns the rows of triggers in the table of policy kinds.
func Kinds() []policy.Row {
	return policy.Pair(KindName, "triggers", "ftrg",
		policy.NewKind[v1alpha1.Trigger, v1alpha1.TriggerList](Compile, func(t *v1alpha1.Trigger) policy.Meta {
			return parts(&t.Spec.Target, t.Spec.TriggerRules, &t.Status, func() []policy.Right {
				return rights(t.Spec.Target, t.Spec.Target.Kinds, t.Spec.TriggerRules, t.Spec.Template)
			})
		}),
		policy.NewKind[v1alpha1.ClusterTrigger, v1alpha1.ClusterTriggerList](CompileCluster, func(t *v1alpha1.ClusterTrigger) policy.Meta {
			return parts(&t.Spec.Target.TargetSelector, t.Spec.TriggerRules, &t.Status,
				func() []policy.Right { return rights(t.Spec.Target, t.Spec.Target.Kinds, t.Spec.TriggerRules, nil) })
		}))
}

// parts returns the parts of a trigger that the engine uses. They include the kinds of the target, because the validity of
// a trigger can depend on them.
func parts(selector *v1alpha1.TargetSelector, rules v1alpha1.TriggerRules, status *v1alpha1.TriggerStatus,
	rights func() []policy.Right) policy.Meta {
	lists := make([][]v1alpha1.WindowCalendar, len(rules.Triggers))
	for i := range rules.Triggers {
		lists[i] = rules.Triggers[i].Calendars
	}
	return policy.Meta{Status: &status.PolicyStatus, Kinds: v1alpha1.GroupKinds(selector.Kinds), Calendars: times.Names(lists...),
		Rights: rights}
}

// rights returns the rights needed by a trigger: to change the selected objects, and to create, change and delete the
// template's object. Suspended entries of spec.triggers need no rights.
func rights(target any, kinds []v1alpha1.KindRef, rules v1alpha1.TriggerRules, template *runtime.RawExtension) []policy.Right {
	var all []policy.Right
	rules.Triggers = slices.DeleteFunc(slices.Clone(rules.Triggers), func(t v1alpha1.TimeTrigger) bool { return t.Suspend })
	if len(rules.Triggers) > 0 {
		all = append(all, policy.Right{Verb: "patch", Field: "spec.target.kinds", Asks: []any{target, rules}})
	}
	if template == nil {
		return all
	}
	for _, ref := range kinds {
		for _, verb := range []string{"create", "patch", "delete"} {
			all = append(all, policy.Right{
				Verb: verb, Kind: ref.GroupKind(), Field: "spec.template", Asks: []any{target, template},
			})
		}
	}
	return all
}

// maxApplied is the number of targets with values in a status.
const maxApplied = 20

// reporter implements policy.Reporter for triggers.
type reporter struct{}

// Condition implements policy.Reporter.
func (reporter) Condition() string { return v1alpha1.ConditionActive }

// AppliedLimit implements policy.Reporter.
func (reporter) AppliedLimit() int { return maxApplied }

// FillStatus implements policy.Reporter.
func (reporter) FillStatus(obj policy.Object, _ time.Time, state policy.Summary, applied []policy.Applied) (activeBefore string) {
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
