package tuning

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/workload"
)

// has is what the pods of a target and its autoscaler have now, whatever was written for them.
type has struct {
	pods []*fleet.Pod
	// requests by container; one that no pod has a container of is not there.
	requests map[workload.Amount]span
	// numbers of the autoscaler, by the names that metrics have for them: min, max and utilisation. Others are those that another policy has set.
	numbers map[string]int64
	others  map[string]bool
}

func hasOf(pods []*fleet.Pod) has {
	h := has{pods: pods, requests: map[workload.Amount]span{}, numbers: map[string]int64{}, others: map[string]bool{}}
	for _, p := range pods {
		for _, c := range p.Containers {
			for of, amount := range map[workload.Resource]int64{workload.CPU: c.CPU, workload.Memory: c.Memory} {
				key := request(c.Name, of)
				h.requests[key] = h.requests[key].with(amount, p.Resize.State != fleet.ResizeDone)
			}
		}
	}
	return h
}

// span is what pods request of one resource for one container, in milli-CPU or bytes.
type span struct {
	least, most, sum int64
	// pods have such a container, none of them that request nothing.
	pods, none int
	// moving: the node of a pod has still to carry out what the pod asks for, or will not.
	moving bool
}

func (s span) with(amount int64, moving bool) span {
	if s.pods == 0 {
		s.least, s.most = amount, amount
	}
	s.least, s.most, s.sum, s.moving = min(s.least, amount), max(s.most, amount), s.sum+amount, s.moving || moving
	s.pods++
	if amount == 0 {
		s.none++
	}
	return s
}

// is says whether all pods have an amount.
func (s span) is(amount int64) bool { return !s.moving && s.least == amount && s.most == amount }

// mean is what a pod requests on average.
func (s span) mean() float64 { return float64(s.sum) / float64(s.pods) }

func request(container string, of workload.Resource) workload.Amount {
	return workload.Amount{Kind: workload.AmountRequest, Component: container, Resource: of}
}

// recommended is one request that is recommended.
type recommended struct {
	of workload.Resource
	*v1alpha1.RecommendedRequest
}

func requestsOf(c *v1alpha1.RecommendedContainer) []recommended {
	both := []recommended{{workload.CPU, c.CPU}, {workload.Memory, c.Memory}}
	return slices.DeleteFunc(both, func(r recommended) bool { return r.RecommendedRequest == nil })
}

// own is what the owner asks for, in milli-CPU or bytes.
func (r recommended) own() int64 { return amountOf(r.Own, r.of) }

func amountOf(q *resource.Quantity, of workload.Resource) int64 {
	switch {
	case q == nil:
		return 0
	case of == workload.CPU:
		return q.MilliValue()
	}
	return q.Value()
}

// claimOf gives what a policy asks for as a request, whichever way it gets to the pods; nil: nothing.
func claimOf(v *decide.Verdict, id workload.Policy, container string, of workload.Resource) (kind workload.AmountKind, claim *workload.Claim[int64]) {
	for _, kind := range []workload.AmountKind{workload.AmountRequest, workload.AmountInPlace, workload.AmountOnCreate} {
		claim, asked := v.Plan.Amounts[workload.Amount{Kind: kind, Component: container, Resource: of}]
		if asked && claim.By == id {
			return kind, &claim
		}
	}
	return 0, nil
}

// isApplied says whether a request that a policy asks for is in place: it is written where it has to be, and every pod has it. Of a target
// without pods, the next ones will. Where no pod has a container of that name an operator carries it out, and it has once the target has settled.
func (h *has) isApplied(v *decide.Verdict, id workload.Policy, container string, of workload.Resource) bool {
	kind, claim := claimOf(v, id, container, of)
	if claim == nil || kind == workload.AmountRequest && !inPlace(v) {
		return false
	}
	if pods, known := h.requests[request(container, of)]; known {
		return pods.is(claim.Value)
	}
	return len(h.pods) == 0 || v.Kind.Adapter.Observe(v.Object).Settled
}

// behind says what keeps pods from the requests that a policy has written into their target; empty: nothing, or they are not written.
func (h *has) behind(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) string {
	if !inPlace(v) {
		return ""
	}
	late := 0
	for _, p := range h.pods {
		one := hasOf([]*fleet.Pod{p})
		if one.isBehind(v, id, st) {
			late++
		}
	}
	switch {
	case late == 0:
		return ""
	case v.Kind.Adapter.Observe(v.Object).Settled:
		return fmt.Sprintf("%d of %s have other requests than were set, and keep them until somebody replaces them: the target counts as settled", late, workload.Count(len(h.pods), "pod"))
	}
	return fmt.Sprintf("%d of %s have other requests than were set: the roll-out has not come to them, or is paused", late, workload.Count(len(h.pods), "pod"))
}

func (h *has) isBehind(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) bool {
	for key, pods := range h.requests {
		tuned := slices.ContainsFunc(st.Containers, func(c v1alpha1.RecommendedContainer) bool { return c.Name == key.Component })
		if kind, claim := claimOf(v, id, key.Component, key.Resource); tuned && claim != nil && kind == workload.AmountRequest && !pods.is(claim.Value) {
			return true
		}
	}
	return false
}

// saved is what the pods request less than their owner has it, by what a policy asks for.
func (h *has) saved(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) (less workload.Requests) {
	for i := range st.Containers {
		c := &st.Containers[i]
		for _, r := range requestsOf(c) {
			if _, claim := claimOf(v, id, c.Name, r.of); claim == nil {
				continue
			}
			pods, known := h.requests[request(c.Name, r.of)]
			n := r.own()*int64(pods.pods-pods.none) - pods.sum
			if !known && r.Applied {
				n = (r.own() - amountOf(&r.Recommended, r.of)) * int64(len(h.pods))
			}
			if r.of == workload.CPU {
				less.MilliCPU += n
			} else {
				less.MemoryBytes += n
			}
		}
	}
	return less
}

// see takes down the numbers of an autoscaler as it is. Of several targets for CPU it is the one that a policy asks for, else the first.
func (h *has) see(v *decide.Verdict, id workload.Policy) {
	if v.Kind == nil || v.Object == nil {
		return
	}
	bare := *v.Object
	bare.Ledger = nil // so that nothing is taken for Flyball's
	is := v.Kind.Adapter.Observe(&bare)
	h.put("min", is.Bounds.Min, v.Plan.Min, id)
	h.put("max", is.Bounds.Max, v.Plan.Max, id)
	for _, u := range is.Utilisation {
		var claim *workload.Claim[int64]
		if c, asked := v.Plan.Amounts[workload.Amount{Kind: workload.AmountUtilisation, Component: u.Container, Resource: u.Resource}]; asked {
			claim = &c
		}
		_, known := h.numbers["utilisation"]
		if u.Resource == workload.CPU && (!known || claim != nil && claim.By == id) {
			h.put("utilisation", &u.Percent, claim, id)
		}
	}
}

func (h *has) put(name string, n *int64, claim *workload.Claim[int64], id workload.Policy) {
	if n != nil {
		h.numbers[name], h.others[name] = *n, claim != nil && claim.By != id
	}
}

// inUse gives the requests in place as text, by what they are of. Those in which pods differ are left out. What no pod tells is what is
// recommended where that is applied, else what the owner has.
func (h *has) inUse(st *v1alpha1.RecommendationStatus) map[string]string {
	values := map[string]string{}
	for i := range st.Containers {
		c := &st.Containers[i]
		for _, r := range requestsOf(c) {
			key := c.Name + " " + string(r.of)
			pods, known := h.requests[request(c.Name, r.of)]
			switch {
			case known && pods.is(pods.least):
				values[key] = request(c.Name, r.of).Text(pods.least)
			case known:
			case r.Applied:
				values[key] = r.Recommended.String()
			case r.Own != nil:
				values[key] = r.Own.String()
			}
		}
	}
	return values
}

// ofAutoscaler gives the numbers of the autoscaler in the same way, but for those of other policies.
func (h *has) ofAutoscaler() map[string]string {
	values := map[string]string{}
	for name, of := range map[string]string{"min": "minimum", "max": "maximum", "utilisation": "utilisation"} {
		if n, known := h.numbers[name]; known && !h.others[name] {
			values[of] = strconv.FormatInt(n, 10)
		}
	}
	return values
}

// areTargetsApplied says whether the autoscaler has every target for CPU that a policy asks for, and that it asks for one.
func areTargetsApplied(v *decide.Verdict, id workload.Policy) bool {
	asks := false
	for key := range v.Plan.Amounts {
		if key.Kind == workload.AmountUtilisation && key.Resource == workload.CPU {
			if !amountInPlace(v, id, key) {
				return false
			}
			asks = true
		}
	}
	return asks
}
