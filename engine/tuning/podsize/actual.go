package podsize

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Numbers has the present numbers of a target's pods and autoscaler.
type Numbers struct {
	pods  []*workload.Pod
	known bool
	// requests has the pods' requests by container and resource. Containers that no pod has are absent.
	requests map[workload.Amount]span
	// Numbers has the numbers of the autoscaler by their names in metrics: min, max and utilisation. others has the
	// names of the numbers that another policy has set.
	Numbers map[string]int64
	others  map[string]bool
}

// NumbersOf returns the state of pods, without an autoscaler yet. known reports whether the pods are known at all.
func NumbersOf(pods []*workload.Pod, known bool) Numbers {
	h := Numbers{pods: pods, known: known, requests: map[workload.Amount]span{}, Numbers: map[string]int64{}, others: map[string]bool{}}
	for _, p := range pods {
		for _, c := range Usual(p) {
			for of, amount := range map[workload.Resource]int64{workload.CPU: c.CPU, workload.Memory: c.Memory} {
				key := request(c.Name, of)
				h.requests[key] = h.requests[key].with(amount, p.Resize.State != workload.ResizeDone)
			}
		}
	}
	return h
}

// ForgetPods drops the pods. The sums for metrics and events stay. The methods that need the pods (for applied, behind
// and saved numbers) then return unknown.
func (h *Numbers) ForgetPods() { h.pods, h.known = nil, false }

// span is the range of the pods' requests of one resource for a container, in milli-CPU or bytes.
type span struct {
	least, most, sum int64
	// pods is the number of pods with the container. none is the number of these pods without a request.
	pods, none int
	// moving is true if the node of a pod has not carried out the pod's change, or never will.
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

// is reports whether the request of all pods equals an amount.
func (s span) is(amount int64) bool { return !s.moving && s.least == amount && s.most == amount }

// mean returns the mean request of a pod.
func (s span) mean() float64 { return float64(s.sum) / float64(s.pods) }

// Mean returns the mean request for a container, in milli-CPU or bytes, or false if no pod has the container.
func (h *Numbers) Mean(container string, of workload.Resource) (float64, bool) {
	pods, known := h.requests[request(container, of)]
	return pods.mean(), known
}

func request(container string, of workload.Resource) workload.Amount {
	return workload.Amount{Kind: workload.AmountRequest, Component: container, Resource: of}
}

// Recommended is a recommended request of a container.
type Recommended struct {
	Of workload.Resource
	*v1alpha1.RecommendedRequest
}

// RecommendedIn returns the recommended requests of a container.
func RecommendedIn(c *v1alpha1.RecommendedContainer) []Recommended {
	both := []Recommended{{workload.CPU, c.CPU}, {workload.Memory, c.Memory}}
	return slices.DeleteFunc(both, func(r Recommended) bool { return r.RecommendedRequest == nil })
}

// OwnAmount returns the owner's request, in milli-CPU or bytes.
func (r Recommended) OwnAmount() int64 { return amountOf(r.Own, r.Of) }

// Amount returns the recommended request, in milli-CPU or bytes.
func (r Recommended) Amount() int64 { return amountOf(&r.Recommended, r.Of) }

func amountOf(q *resource.Quantity, of workload.Resource) int64 {
	switch {
	case q == nil:
		return 0
	case of == workload.CPU:
		return q.MilliValue()
	}
	return q.Value()
}

// claimOf returns the policy's claim for a request of a container; nil: no claim. kind is the place of the request: the
// template, running pods, or pods on creation.
func claimOf(v *decide.Verdict, id workload.Policy, container string, of workload.Resource) (kind workload.AmountKind,
	claim *workload.Claim[int64]) {
	for _, kind := range []workload.AmountKind{workload.AmountRequest, workload.AmountInPlace, workload.AmountOnCreate} {
		claim, asked := v.Plan.Amounts[workload.Amount{Kind: kind, Component: container, Resource: of}]
		if asked && claim.By == id {
			return kind, &claim
		}
	}
	return 0, nil
}

// Mark marks the recommended requests that are applied.
func (h *Numbers) Mark(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) {
	for i := range st.Containers {
		c := &st.Containers[i]
		for _, r := range RecommendedIn(c) {
			r.Applied = h.isApplied(v, id, c.Name, r.Of)
		}
	}
}

// isApplied reports whether a claimed request is in place: it is written, and every pod has it. Without pods, a written
// request is in place, because the next pods will have it. If the target has pods, but none with a container of that
// name, then an operator carries the request out, and the request is in place once the target has settled.
func (h *Numbers) isApplied(v *decide.Verdict, id workload.Policy, container string, of workload.Resource) bool {
	kind, claim := claimOf(v, id, container, of)
	if !h.known || claim == nil || kind == workload.AmountRequest && !inPlace(v) {
		return false
	}
	if pods, known := h.requests[request(container, of)]; known {
		return pods.is(claim.Value)
	}
	return len(h.pods) == 0 || v.Kind.Adapter.Observe(v.Object).Settled
}

// Behind returns the reason why pods do not have the written requests of a policy yet. It returns "" if they have them,
// or if no requests are written.
func (h *Numbers) Behind(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) string {
	if !inPlace(v) {
		return ""
	}
	late := 0
	for _, p := range h.pods {
		one := NumbersOf([]*workload.Pod{p}, true)
		if one.isBehind(v, id, st) {
			late++
		}
	}
	switch {
	case late == 0:
		return ""
	case v.Kind.Adapter.Observe(v.Object).Settled:
		return fmt.Sprintf("%d of %s have other requests than the written requests until they are replaced: the target counts as settled",
			late, workload.Count(len(h.pods), "pod"))
	}
	return fmt.Sprintf("%d of %s have other requests than were set: the roll-out has not come to them, or is paused", late,
		workload.Count(len(h.pods), "pod"))
}

func (h *Numbers) isBehind(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) bool {
	for key, pods := range h.requests {
		tuned := slices.ContainsFunc(st.Containers, func(c v1alpha1.RecommendedContainer) bool { return c.Name == key.Component })
		if kind, claim := claimOf(v, id, key.Component, key.Resource); tuned && claim != nil && kind == workload.AmountRequest &&
			!pods.is(claim.Value) {
			return true
		}
	}
	return false
}

// Saved returns the difference between the owner's requests and the pods' present requests, for the requests that a
// policy claims.
func (h *Numbers) Saved(v *decide.Verdict, id workload.Policy, st *v1alpha1.RecommendationStatus) (less workload.Requests) {
	for i := range st.Containers {
		c := &st.Containers[i]
		for _, r := range RecommendedIn(c) {
			if _, claim := claimOf(v, id, c.Name, r.Of); claim == nil {
				continue
			}
			pods, known := h.requests[request(c.Name, r.Of)]
			n := r.OwnAmount()*int64(pods.pods-pods.none) - pods.sum
			if !known && r.Applied {
				n = (r.OwnAmount() - r.Amount()) * int64(len(h.pods))
			}
			if r.Of == workload.CPU {
				less.MilliCPU += n
			} else {
				less.MemoryBytes += n
			}
		}
	}
	return less
}

// MarkAutoscaler stores the present numbers of an autoscaler, and marks the recommended numbers that are applied.
func (h *Numbers) MarkAutoscaler(v *decide.Verdict, id workload.Policy, a *v1alpha1.RecommendedAutoscaler) {
	h.see(v, id)
	a.Min.Applied, a.Max.Applied = isInPlace(v, id, v.Plan.Min), isInPlace(v, id, v.Plan.Max)
	if a.Utilisation != nil {
		a.Utilisation.Applied = areTargetsApplied(v, id)
	}
}

// see stores the present numbers of an autoscaler. Of several targets for CPU it takes the claimed target, else the
// first.
func (h *Numbers) see(v *decide.Verdict, id workload.Policy) {
	if v.Kind == nil || v.Object == nil {
		return
	}
	bare := *v.Object
	bare.Ledger = nil // without a ledger, no number counts as Flyball's
	is := v.Kind.Adapter.Observe(&bare)
	h.put("min", is.Bounds.Min, v.Plan.Min, id)
	h.put("max", is.Bounds.Max, v.Plan.Max, id)
	for _, u := range is.Utilisation {
		var claim *workload.Claim[int64]
		if c, asked := v.Plan.Amounts[workload.Amount{Kind: workload.AmountUtilisation, Component: u.Container, Resource: u.Resource}]; asked {
			claim = &c
		}
		_, known := h.Numbers["utilisation"]
		if u.Resource == workload.CPU && (!known || claim != nil && claim.By == id) {
			h.put("utilisation", &u.Percent, claim, id)
		}
	}
}

func (h *Numbers) put(name string, n *int64, claim *workload.Claim[int64], id workload.Policy) {
	if n != nil {
		h.Numbers[name], h.others[name] = *n, claim != nil && claim.By != id
	}
}

// InUse returns the requests in place as text, by their subject. Requests in which pods differ are left out. If no pod
// has a request, InUse returns the recommended request if that is applied, else the owner's request.
func (h *Numbers) InUse(st *v1alpha1.RecommendationStatus) map[string]string {
	values := map[string]string{}
	for i := range st.Containers {
		c := &st.Containers[i]
		for _, r := range RecommendedIn(c) {
			key := c.Name + " " + string(r.Of)
			pods, known := h.requests[request(c.Name, r.Of)]
			switch {
			case known && pods.is(pods.least):
				values[key] = request(c.Name, r.Of).Text(pods.least)
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

// OfAutoscaler returns the numbers of the autoscaler in the form of InUse, without the numbers of other policies.
func (h *Numbers) OfAutoscaler() map[string]string {
	values := map[string]string{}
	for name, of := range map[string]string{"min": "minimum", "max": "maximum", "utilisation": "utilisation"} {
		if n, known := h.Numbers[name]; known && !h.others[name] {
			values[of] = strconv.FormatInt(n, 10)
		}
	}
	return values
}

// areTargetsApplied reports whether a policy claims a target for CPU, and the autoscaler has every claimed target.
func areTargetsApplied(v *decide.Verdict, id workload.Policy) bool {
	asks := false
	for key, claim := range v.Plan.Amounts {
		if key.Kind == workload.AmountUtilisation && key.Resource == workload.CPU {
			if !isInPlace(v, id, &claim) {
				return false
			}
			asks = true
		}
	}
	return asks
}

// isInPlace reports whether an object has the claimed value of a policy.
func isInPlace(v *decide.Verdict, id workload.Policy, claim *workload.Claim[int64]) bool {
	return claim != nil && claim.By == id && inPlace(v)
}

// inPlace reports whether nothing is left to write, and nobody has changed the object since.
func inPlace(v *decide.Verdict) bool {
	return v.Err == nil && v.Result.Patch == nil && v.Result.Failure == "" && v.Result.State != workload.StateOverridden
}
