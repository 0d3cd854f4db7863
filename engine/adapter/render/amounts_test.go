package render

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestAmountsOfObjects checks that requests for pods are kept apart from requests for the object.
func TestAmountsOfObjects(t *testing.T) {
	amounts := map[workload.Amount]workload.Claim[int64]{
		{Kind: workload.AmountInPlace, Component: "main", Resource: workload.CPU}: {Value: 400},
		{Kind: workload.AmountRequest, Component: "side", Resource: workload.CPU}: {Value: 10},
	}
	if got := ofObjects(amounts); len(got) != 1 || len(amounts) != 2 {
		t.Errorf("%v of %v are for objects", got, amounts)
	}
}
