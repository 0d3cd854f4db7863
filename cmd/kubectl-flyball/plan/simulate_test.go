package plan_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// TestPartsAgree checks that a plan is the same, whether its parts are simulated side by side or the world is simulated as
// a whole. With a rate limit of a cluster policy, the namespaces depend on each other.
func TestPartsAgree(t *testing.T) {
	for name, limit := range map[string]string{"free": "", "limited": "downscaleRateLimit: {batchSize: 2, delayBetweenBatches: 10m}, "} {
		t.Run(name, func(t *testing.T) {
			w := read(t, manifests(limit))
			whole, parts := made(t, w, 1), made(t, w, 3)
			if len(whole.Changes) < 40 {
				t.Fatalf("only %d changes", len(whole.Changes))
			}
			if diff := cmp.Diff(whole, parts, cmpopts.IgnoreUnexported(plan.Plan{}, plan.Change{}, plan.Timeline{}, plan.Step{})); diff != "" {
				t.Error(diff)
			}
			if at := whole.Changes[2].At; (limit == "") != at.Equal(whole.Changes[0].At) {
				t.Errorf("the third target goes to sleep at %s", at)
			}
		})
	}
}

// TestTimelinesDoNotDependOnTheList checks that a plan without its list of changes has the same timelines, writes and sums.
func TestTimelinesDoNotDependOnTheList(t *testing.T) {
	w := read(t, manifests(""))
	listed := made(t, w, 2)
	o := threeDays()
	o.OnlyTimelines = true
	bare, err := plan.Make(t.Context(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(bare.Changes) > 0 {
		t.Errorf("%d changes are listed", len(bare.Changes))
	}
	bare.Changes = listed.Changes
	if diff := cmp.Diff(listed, bare, cmpopts.IgnoreUnexported(plan.Plan{}, plan.Change{}, plan.Timeline{}, plan.Step{})); diff != "" {
		t.Error(diff)
	}
}

// TestPlanHoldsOwnersOfOtherNamespaces checks that a world is not split between a held owner and its targets.
func TestPlanHoldsOwnersOfOtherNamespaces(t *testing.T) {
	text := manifests("holdOwner: true, ") + `
---
{apiVersion: v1, kind: Namespace, metadata: {name: ops}}
---
{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: ops, name: flux}, spec: {interval: 1m},
  status: {inventory: {entries: [{id: ns0_web0_apps_Deployment, v: v1}]}}}`
	changes := 0
	for _, c := range made(t, read(t, text), 3).Changes {
		if strings.HasPrefix(c.Target, "Kustomization") {
			changes++
		}
	}
	if changes != 6 { // three nights
		t.Errorf("the owner changes %d times", changes)
	}
	w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(text), FlyballNamespace: source.DefaultNamespace,
		Within: "ns0"}.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ClusterSchedule/nights has holdOwner: owners outside of ns0 are not read, and -A lists them"}
	if notes := made(t, w, 3).Notes; !slices.Equal(notes, want) {
		t.Errorf("the notes of one namespace are %q, want %q", notes, want)
	}
}

// manifests are three targets in each of four namespaces, under a cluster policy.
func manifests(limit string) string {
	text := `{apiVersion: flyball.dev/v1alpha1, kind: ClusterSchedule, metadata: {name: nights},
  spec: {target: {namespaces: [ns0, ns1, ns2, ns3], kinds: [{group: apps, kind: Deployment}]}, ` +
		limit + `timeZone: UTC, asleep: [{name: night, from: "20:00", to: "06:00"}]}}`
	for ns := range 4 {
		text += fmt.Sprintf("\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: ns%d}}", ns)
		for i := range 3 {
			text += fmt.Sprintf("\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns%d, name: web%d}, spec: {replicas: %d}}",
				ns, i, i+1)
		}
	}
	return text
}

func read(t *testing.T, text string) *source.World {
	t.Helper()
	w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(text), FlyballNamespace: source.DefaultNamespace}.Load()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// threeDays are the options of the plans.
func threeDays() plan.Input {
	from := time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)
	return plan.Input{From: from, To: from.AddDate(0, 0, 3), Now: from, Zone: time.UTC}
}

func made(t *testing.T, w *source.World, processors int) *plan.Plan {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	p, err := plan.Make(t.Context(), w, threeDays())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
