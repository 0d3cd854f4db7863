package podsize

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

// TestAmountsOfPods checks that requests for pods, and the limits by the owner's ratio, are kept apart from requests for
// the object.
func TestAmountsOfPods(t *testing.T) {
	amounts := map[workload.Amount]workload.Claim[int64]{
		{Kind: workload.AmountInPlace, Component: "main", Resource: workload.CPU}:    {Value: 400},
		{Kind: workload.AmountInPlace, Component: "main", Resource: workload.Memory}: {Value: 100},
		{Kind: workload.AmountRequest, Component: "side", Resource: workload.CPU}:    {Value: 10},
		{Kind: workload.AmountInPlace, Component: "gone", Resource: workload.CPU}:    {Value: 10},
	}
	own := workload.Allocations{
		{Component: "main", Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 200}, Limits: workload.Requests{MemoryBytes: 300}},
		{Component: "side", Requests: workload.Requests{MilliCPU: 1000}},
	}
	want := map[string]workload.Allocation{"main": {Component: "main", Requests: workload.Requests{MilliCPU: 400, MemoryBytes: 100},
		Limits: workload.Requests{MemoryBytes: 150}}}
	if diff := cmp.Diff(want, InPlace(amounts, own)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	inTemplate := workload.Allocations{own[0], {Component: "side", Requests: workload.Requests{MilliCPU: 10}}}
	if diff := cmp.Diff(inTemplate, InTemplate(amounts, own)); diff != "" || own[1].Requests.MilliCPU != 1000 {
		t.Errorf("in the template (-want +got):\n%s", diff)
	}
	limited := workload.Allocations{{Component: "side", Requests: workload.Requests{MilliCPU: 1000},
		Limits: workload.Requests{MilliCPU: 3000}}}
	if got := InTemplate(amounts, limited); got[0].Limits.MilliCPU != 30 {
		t.Errorf("a limit of three times the request: %+v", got)
	}
	for rule, want := range map[workload.LimitRule]workload.Allocation{
		workload.LimitsStay: {Component: "side", Requests: workload.Requests{MilliCPU: 3000}, Limits: workload.Requests{MilliCPU: 3000}},
		workload.LimitsGo:   {Component: "side", Requests: workload.Requests{MilliCPU: 4000}},
	} {
		asked := map[workload.Amount]workload.Claim[int64]{}
		for _, kind := range []workload.AmountKind{workload.AmountInPlace, workload.AmountRequest} {
			asked[workload.Amount{Kind: kind, Component: "side", Resource: workload.CPU}] = workload.Claim[int64]{Value: 4000, Limits: rule}
		}
		if got := InTemplate(asked, limited)[0]; got != want {
			t.Errorf("rule %d in the template: %+v", rule, got)
		}
		if got := InPlace(asked, limited)["side"]; got != want {
			t.Errorf("rule %d in place: %+v", rule, got)
		}
	}
}
