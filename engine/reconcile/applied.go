package reconcile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	switch size := v.plan.Size; {
	case o.passed != nil || size != nil && size.Once:
		a.replicas = v.standing[o.entry.id]
	case size != nil && size.By == o.entry.id:
		a.replicas = replicasOf(v.result.Values)
	}
	return a
}

// stand gives, by policy, the sizes set once that are still there, on an object and on what it governs: neither has its
// autoscaler gone on from there, nor has another policy taken over. e.mu is held.
func (e *Engine) stand(k *kind, obj *workload.Object) map[workload.Policy]string {
	sizes := standingOn(k, obj, nil)
	if target, ok := k.adapter.Governs(obj); ok {
		if tk := e.kinds[target.GroupKind]; tk != nil {
			sizes = standingOn(tk, tk.watch.Get(target.Namespace, target.Name), sizes)
		}
	}
	return sizes
}

func standingOn(k *kind, obj *workload.Object, sizes map[workload.Policy]string) map[workload.Policy]string {
	if obj == nil || !slices.ContainsFunc(obj.Ledger, func(en workload.Entry) bool { return en.Once != "" }) {
		return sizes
	}
	counts := k.adapter.Observe(obj).Components
	if len(counts) == 0 {
		return sizes
	}
	count := slices.MinFunc(counts, func(a, b workload.Component) int { return strings.Compare(a.Name, b.Name) })
	now := strconv.FormatInt(count.Replicas, 10)
	for i := range obj.Ledger {
		if en := &obj.Ledger[i]; en.Once != "" && strings.Trim(en.Set, `"`) == now {
			if sizes == nil {
				sizes = map[workload.Policy]string{}
			}
			sizes[workload.ParsePolicy(en.By)] = now
		}
	}
	return sizes
}

// refusal is what is told of a write that did not come about: where the API server takes bounds for invalid, the fields
// that ask for them come first.
func refusal(k *kind, v verdict, now time.Time, err error) string {
	if !apierrors.IsInvalid(err) {
		return err.Error()
	}
	var asked []string
	for _, b := range []struct {
		facet string
		claim *workload.Claim[int64]
	}{{"min", v.plan.Min}, {"max", v.plan.Max}} {
		if b.claim == nil || !slices.ContainsFunc(v.result.Changed, func(p string) bool { return k.adapter.BoundAt(p) == b.facet }) {
			continue
		}
		i := slices.IndexFunc(v.opinions, func(o opinion) bool { return o.entry.id == b.claim.By })
		if i < 0 || v.opinions[i].entry.policy.Field == nil {
			continue
		}
		if name := v.opinions[i].entry.policy.Field(now, b.facet); name != "" {
			asked = append(asked, fmt.Sprintf("%s of %s: %d is refused", name, b.claim.By, b.claim.Value))
		}
	}
	return strings.Join(append(asked, err.Error()), ": ")
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
