package deletioncost

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// Kinds returns the rows of deletion costs in the table of policy kinds.
func Kinds() []policy.Row {
	return policy.Pair(Kind, "deletioncosts", "fdc",
		policy.NewKind[v1alpha1.DeletionCost, v1alpha1.DeletionCostList](Compile, func(d *v1alpha1.DeletionCost) policy.Meta {
			return parts(d.Spec.Target, d.Spec.Target.Kinds, d.Spec.DeletionCostRules, &d.Status)
		}),
		policy.NewKind[v1alpha1.ClusterDeletionCost, v1alpha1.ClusterDeletionCostList](CompileCluster,
			func(d *v1alpha1.ClusterDeletionCost) policy.Meta {
				return parts(d.Spec.Target, d.Spec.Target.Kinds, d.Spec.DeletionCostRules, &d.Status)
			}))
}

// parts returns the parts of a policy object that the engine uses. They include the kinds of the target, because the
// validity of a policy can depend on them. The needed right is to patch pods, unless the policy is suspended.
func parts(target any, refs []v1alpha1.KindRef, rules v1alpha1.DeletionCostRules, status *v1alpha1.DeletionCostStatus) policy.Meta {
	return policy.Meta{Status: &status.PolicyStatus, Kinds: v1alpha1.GroupKinds(refs), Rights: func() []policy.Right {
		if rules.Suspend {
			return nil
		}
		return []policy.Right{{Verb: "patch", Kind: schema.GroupKind{Kind: "Pod"}, Field: "spec.target", Asks: []any{target, rules}}}
	}}
}

// statusOf returns the status of an object; nil for an object of a different kind.
func statusOf(obj policy.Object) *v1alpha1.DeletionCostStatus {
	switch d := obj.(type) {
	case *v1alpha1.DeletionCost:
		return &d.Status
	case *v1alpha1.ClusterDeletionCost:
		return &d.Status
	}
	return nil
}

// Condition implements policy.Reporter.
func (d *deletionCost) Condition() string { return v1alpha1.ConditionActive }

// AppliedLimit implements policy.Reporter.
func (d *deletionCost) AppliedLimit() int { return 0 }

// FillStatus implements policy.Reporter. FillPods writes the status.
func (d *deletionCost) FillStatus(policy.Object, time.Time, policy.Summary, []policy.Applied) (activeBefore string) {
	return d.rules.Algorithm
}

// maxWriters is the number of foreign writers named in a status.
const maxWriters = 10

// FillPods implements policy.PodOrderer.
func (d *deletionCost) FillPods(obj policy.Object, pods policy.PodSummary) {
	st := statusOf(obj)
	if st == nil {
		return
	}
	st.Pods, st.WritesLastHour, st.Spread, st.ForeignWriters = int32(pods.Pods), int32(pods.Writes), nil, nil
	if !pods.LastWrite.IsZero() {
		st.LastWriteTime = &metav1.Time{Time: pods.LastWrite.Truncate(time.Second)}
	}
	if pods.Pods > 0 {
		st.Spread = &v1alpha1.SpreadStatus{Now: int32(pods.Spread), Half: int32(pods.SpreadAtHalf)}
	}
	names := slices.SortedFunc(maps.Keys(pods.Foreign), func(a, b string) int {
		return cmp.Or(cmp.Compare(pods.Foreign[b], pods.Foreign[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), maxWriters)] {
		st.ForeignWriters = append(st.ForeignWriters, v1alpha1.ForeignWriter{Manager: name, Pods: int32(pods.Foreign[name])})
	}
}

// Told implements policy.PodOrderer.
func (d *deletionCost) Told(obj policy.Object) (writes int, last time.Time) {
	st := statusOf(obj)
	if st == nil || st.LastWriteTime == nil {
		return 0, time.Time{}
	}
	return int(st.WritesLastHour), st.LastWriteTime.Time
}
