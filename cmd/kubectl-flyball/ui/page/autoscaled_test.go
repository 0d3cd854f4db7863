package page_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/workload"
)

// TestPoliciesOfAutoscalersActOnTheirTargets checks that a Trigger on an autoscaler is a policy of the scaled object in the
// week and in the explanation, before, in and after its window, and that a policy without effect has no savings.
func TestPoliciesOfAutoscalersActOnTheirTargets(t *testing.T) {
	w, err := source.Files{Paths: []string{"../../testdata/autoscaled.yaml"}, FlyballNamespace: source.DefaultNamespace}.Load()
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	end := from.AddDate(0, 0, 7)
	found, err := page.Of(t.Context(), w, page.Input{Now: from, From: from, To: end, FreezesTo: end, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range found.Week.Groups {
		for _, row := range g.Rows {
			if all := strings.Join(g.Policies, " "); !strings.Contains(all, "Trigger/shop/peak") {
				t.Errorf("%s is under %s", row.Target, all)
			}
		}
	}
	for _, s := range found.Savings {
		if s.Policy != "Trigger/shop/peak" || s.Totals.CPUHoursSaved != 0 {
			t.Errorf("%s saves %v core hours", s.Policy, s.Totals.CPUHoursSaved)
		}
	}
	front := source.Target{Ref: workload.Ref{Namespace: "shop", Name: "front"}}
	for _, k := range w.Kinds {
		if k.Kind == "Deployment" {
			front.Kind, front.GroupKind = k, k.GroupKind
		}
	}
	for hour, asks := range map[int]string{0: "nothing", 36: "set", 72: "nothing"} {
		at := from.Add(time.Duration(hour) * time.Hour)
		e, err := explain.Of(t.Context(), w, front, explain.Input{Now: from, At: at, Zone: time.UTC, FlyballNamespace: source.DefaultNamespace})
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Nearly) > 0 || len(e.Policies) != 2 || e.Policies[1].Policy != "Trigger/shop/peak" || e.Policies[1].Asks != asks {
			t.Errorf("at %s: policies %v, nearly %v", at, e.Policies, e.Nearly)
		}
	}
}
