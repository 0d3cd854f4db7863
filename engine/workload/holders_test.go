package workload_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

// TestHoldersOfAnEntryAreWrittenAndRead: an entry keeps the first eight other policies with the same claim.
func TestHoldersOfAnEntryAreWrittenAndRead(t *testing.T) {
	by := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	others := []workload.Policy{{Kind: "Override", Namespace: "shop", Name: "demo"}, {Kind: "ClusterSchedule", Name: "all"}}
	for i := range 7 {
		others = append(others, workload.Policy{Kind: "Trigger", Namespace: "shop", Name: fmt.Sprint("t", i)})
	}
	for _, n := range []int{0, 1, 2, 8} {
		e := workload.Entry{By: by.String(), Also: `["Override/shop/earlier"]`}
		e.SetAlso(others[:n])
		if diff := cmp.Diff(append([]workload.Policy{by}, others[:n]...), e.Claimants()); diff != "" {
			t.Errorf("with %d others: %s", n, diff)
		}
	}
	e := workload.Entry{By: by.String()}
	if e.SetAlso(others); len(e.Claimants()) != 1+8 {
		t.Errorf("of nine others the entry has %v", e.Claimants())
	}
}

// TestGarbledHoldersCountAsNone: the ledger is an annotation, so its text may come from anybody.
func TestGarbledHoldersCountAsNone(t *testing.T) {
	by := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	for _, also := range []string{`"Override/shop/demo"`, `{"a":"Override/shop/demo"}`, `["Override/shop/demo",1]`, `null`} {
		e := workload.Entry{By: by.String(), Also: also}
		if diff := cmp.Diff([]workload.Policy{by}, e.Claimants()); diff != "" {
			t.Errorf("%s: %s", also, diff)
		}
	}
}
