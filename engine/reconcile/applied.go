package reconcile

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// maxApplied is how many targets a status lists with their values.
const maxApplied = 20

// appliedBy gives the values that one policy has in place on a target: those it won, once nothing is left to write.
func appliedBy(v verdict, o opinion, out outcome) applied {
	if !o.entry.policy.Reports || o.derived || v.result.Patch != nil || out.failure != "" {
		return applied{}
	}
	var a applied
	low, high := v.plan.Min, v.plan.Max
	if low != nil && low.By == o.entry.id {
		a.min = v.result.Values["min"]
	}
	if high != nil && high.By == o.entry.id {
		a.max = v.result.Values["max"]
	}
	switch {
	case v.plan.Size != nil && v.plan.Size.By == o.entry.id:
		a.replicas = replicasOf(v.result.Values)
	case o.passed != nil:
		bounds := workload.Bounds{Min: numberOf(v.result.Values["min"]), Max: numberOf(v.result.Values["max"])}
		a.replicas = strconv.FormatInt(bounds.Clamp(o.passed.Replicas), 10)
	}
	return a
}

// replicasOf is the size of a target; where its components differ, of the first by name.
func replicasOf(values map[string]string) string {
	var facets []string
	for facet := range values {
		if strings.HasPrefix(facet, "replicas/") {
			facets = append(facets, facet)
		}
	}
	if len(facets) == 0 {
		return ""
	}
	return values[slices.Min(facets)]
}

func numberOf(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// report fills in what only the status of triggers has, and gives the trigger that was active before.
func report(obj client.Object, t *tally, state policy.State) (before string) {
	st := triggerStatusOf(obj)
	if st == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, st.ActiveTrigger = st.ActiveTrigger, state.Active
	st.Applied = nil
	for _, f := range first(t.applied, maxApplied) {
		st.Applied = append(st.Applied, v1alpha1.AppliedValues{
			Kind: f.ref.GroupKind.String(), Namespace: f.ref.Namespace, Name: f.ref.Name,
			Min: numberOf(f.text.min), Max: numberOf(f.text.max), Replicas: numberOf(f.text.replicas),
		})
	}
	return before
}

func triggerStatusOf(obj client.Object) *v1alpha1.TriggerStatus {
	switch o := obj.(type) {
	case *v1alpha1.Trigger:
		return &o.Status
	case *v1alpha1.ClusterTrigger:
		return &o.Status
	default:
		return nil
	}
}

// announceHandOver sends an event where one trigger takes over from another and the policy's state stays the same.
func (r *rollup) announceHandOver(obj client.Object, old, cur *v1alpha1.PolicyStatus, state policy.State, before string) {
	if r.e.recorder == nil || old.State != cur.State || before == "" || state.Active == "" || before == state.Active {
		return
	}
	r.e.recorder.Eventf(obj, nil, corev1.EventTypeNormal, "HandedOver", "Transition", "from %s to %s; %d targets", before, state.Message, cur.Targets.Total)
}
