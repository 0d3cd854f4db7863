package workload_test

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// The test covers facet names, texts, and the order of values by capacity.
func TestAmountNamesTextsAndCapacity(t *testing.T) {
	for _, tc := range []struct {
		amount   workload.Amount
		value    int64
		facet    string
		text     string
		capacity int64
	}{
		{workload.Amount{Component: "web", Resource: workload.CPU}, 250, "requests/web/cpu", "250m", 250},
		{workload.Amount{Component: "web", Resource: workload.Memory}, 1 << 30, "requests/web/memory", "1Gi", 1 << 30},
		{workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU}, 70, "utilisation/cpu", "70%", -70},
		{workload.Amount{Kind: workload.AmountUtilisation, Component: "web", Resource: workload.Memory}, 70, "utilisation/web/memory", "70%",
			-70},
	} {
		a := tc.amount
		if facet, text, capacity := a.String(), a.Text(tc.value), a.Capacity(tc.value); facet != tc.facet || text != tc.text ||
			capacity != tc.capacity {
			t.Errorf("%+v of %d is %s, %s, %d", a, tc.value, facet, text, capacity)
		}
	}
}

// Requests and limits of each component are kept apart, in the order of the components' names.
func TestAllocationsAreReadByComponent(t *testing.T) {
	var all workload.Allocations
	all = all.Set("web", false, workload.CPU, 1).Set("proxy", false, workload.Memory, 2).Set("web", true, workload.CPU, 3).Set("web", true,
		workload.Memory, 4)
	if len(all) != 2 || all[0].Component != "proxy" || all[1].Component != "web" {
		t.Fatalf("the components are %+v", all)
	}
	for name, want := range map[workload.Resource][4]int64{workload.CPU: {0, 0, 1, 3}, workload.Memory: {2, 0, 0, 4}} {
		if got := [4]int64{all[0].Requests.Of(name), all[0].Limits.Of(name), all[1].Requests.Of(name), all[1].Limits.Of(name)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
