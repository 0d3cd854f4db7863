package plan_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestSavingsCountWholePods checks that a plan counts the requests of a pod as the metric of savings does: with init
// containers that always restart, limits in place of requests, and the overhead of the runtime.
func TestSavingsCountWholePods(t *testing.T) {
	w := read(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: shop, name: nights},
  spec: {target: {kinds: [{group: apps, kind: Deployment}]}, timeZone: UTC, asleep: [{name: night, from: "20:00", to: "06:00"}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {replicas: 1, template: {spec: {overhead: {cpu: 50m},
  initContainers: [{name: proxy, restartPolicy: Always, resources: {requests: {cpu: 150m, memory: 1Gi}}}],
  containers: [{name: web, resources: {requests: {cpu: 300m}, limits: {cpu: "2", memory: 1Gi}}}]}}}}`)
	saved := made(t, w, 1).Totals
	const nights = 3 * 10 // hours
	if saved.CPUHoursSaved != nights*0.5 || saved.MemoryGiBHoursSaved != nights*2 {
		t.Errorf("saved %v core hours and %v GiB hours, want %v and %v", saved.CPUHoursSaved, saved.MemoryGiBHoursSaved, nights*0.5, nights*2)
	}
}

// autoscaled returns the manifests of an autoscaled Deployment, a Trigger that sets a size once, and a Tortoise that changes nothing.
func autoscaled(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/autoscaled.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAutoscalersKeepTheirBoundsInAPlan checks that a target follows the bounds of its autoscaler, and that a size in the
// hands of the autoscaler saves and costs nothing.
func TestAutoscalersKeepTheirBoundsInAPlan(t *testing.T) {
	p := made(t, read(t, autoscaled(t)), 1)
	var counts []int64
	for _, line := range p.All() {
		for _, s := range line.Steps {
			if s.Replicas == nil {
				continue
			}
			if counts = append(counts, *s.Replicas); s.Running != 1 {
				t.Errorf("%s runs at %v of its size at %s", line.Target, s.Running, s.At)
			}
		}
	}
	if want := []int64{4, 15, 10}; !slices.Equal(counts, want) {
		t.Errorf("replicas %v, want %v", counts, want)
	}
	if saved := p.Totals; saved.ReplicaHoursSaved != 0 || saved.CPUHoursSaved != 0 {
		t.Errorf("saved %v replica hours and %v core hours of an autoscaler", saved.ReplicaHoursSaved, saved.CPUHoursSaved)
	}
}

// TestCostsBelongToThePolicyThatActs checks that the cost of a raised size is in the sum of the policy that raises it.
func TestCostsBelongToThePolicyThatActs(t *testing.T) {
	alone := strings.Replace(autoscaled(t), "{group: autoscaling, kind: HorizontalPodAutoscaler}", "{group: apps, kind: Deployment}", 1)
	alone = strings.Replace(alone, "min: 12, max: 60, ", "", 1)
	alone = strings.Replace(alone, "name: front}}}", "name: other}}}", 1)
	p := made(t, read(t, alone), 1)
	for _, line := range p.All() {
		for by, sum := range line.Shares() {
			if by != "Trigger/shop/peak" || sum.CPUHoursSaved != -24*(15-4) || sum.CPUHoursSaved != p.Totals.CPUHoursSaved {
				t.Errorf("%s saves %v core hours of %s, and all save %v", by, sum.CPUHoursSaved, line.Target, p.Totals.CPUHoursSaved)
			}
		}
	}
	if p.Totals.CPUHoursSaved == 0 {
		t.Error("a raised size costs nothing")
	}
}
