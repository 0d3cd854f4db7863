package plan_test

import "testing"

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
