package cases

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/workload"
)

// Amounts are requests and target utilisations.
type Amounts struct {
	// Requests are quantities, by component and resource.
	Requests map[string]map[workload.Resource]resource.Quantity `json:"requests,omitempty"`
	// Utilisation is in percent, by resource, or by container and resource (web/cpu).
	Utilisation map[string]int64 `json:"utilisation,omitempty"`
}

// Any reports whether the amounts are not empty.
func (a *Amounts) Any() bool { return len(a.Requests)+len(a.Utilisation) > 0 }

// claims returns the amounts as claims in a merged plan.
func (a *Amounts) claims(by workload.Policy, since time.Time) map[workload.Amount]workload.Claim[int64] {
	all := map[workload.Amount]workload.Claim[int64]{}
	for component, requests := range a.Requests {
		for name, q := range requests {
			n := q.Value()
			if name == workload.CPU {
				n = q.MilliValue()
			}
			key := workload.Amount{Kind: workload.AmountRequest, Component: component, Resource: name}
			all[key] = workload.Claim[int64]{Value: n, By: by, Since: since}
		}
	}
	for name, percent := range a.Utilisation {
		container, of, found := strings.Cut(name, "/")
		if !found {
			container, of = "", name
		}
		key := workload.Amount{Kind: workload.AmountUtilisation, Component: container, Resource: workload.Resource(of)}
		all[key] = workload.Claim[int64]{Value: percent, By: by, Since: since}
	}
	return all
}

// observedAmounts are the amounts of an object as policies see them.
type observedAmounts struct {
	// Requests and Limits are by component. Utilisation is in percent, with the keys of Amounts.Utilisation.
	Requests    map[string]requests `json:"requests,omitempty"`
	Limits      map[string]requests `json:"limits,omitempty"`
	Utilisation map[string]int64    `json:"utilisation,omitempty"`
}

// requests are in thousandths of a core and bytes.
type requests struct {
	MilliCPU    int64 `json:"milliCPU,omitempty"`
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
}

func observedAmountsOf(o workload.Observed) observedAmounts {
	all := observedAmounts{Requests: map[string]requests{}, Limits: map[string]requests{}, Utilisation: map[string]int64{}}
	for _, a := range o.Allocations {
		all.Requests[a.Component] = requests(a.Requests)
		if a.Limits != (workload.Requests{}) {
			all.Limits[a.Component] = requests(a.Limits)
		}
	}
	for _, u := range o.Utilisation {
		all.Utilisation[strings.TrimPrefix(u.Container+"/"+string(u.Resource), "/")] = u.Percent
	}
	return all
}
