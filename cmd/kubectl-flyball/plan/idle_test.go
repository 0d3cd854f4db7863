package plan_test

import (
	"slices"
	"testing"
)

// TestSleepWithoutUseIsPossibleAndNotPlanned: a plan has the writes of windows alone, counts nothing else as saved, and says so.
func TestSleepWithoutUseIsPossibleAndNotPlanned(t *testing.T) {
	p := made(t, read(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: shop, name: idle}, spec: {
  target: {kinds: [{group: apps, kind: Deployment}]}, timeZone: UTC, asleep: [{name: night, from: "20:00", to: "06:00"}],
  idle: {demand: "rate(requests[2m])", asleepAfter: 2h}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {replicas: 2, template: {spec: {
  containers: [{name: web, resources: {requests: {cpu: 500m}}}]}}}}`), 1)
	const note = "Schedule/shop/idle may put targets to sleep after 2h without use, and wakes them by use: " +
		"nobody knows both in advance, so they are not part of the plan"
	if !slices.Contains(p.Notes, note) {
		t.Errorf("the notes are %q", p.Notes)
	}
	if saved := p.Totals.CPUHoursSaved; saved != 3*10 {
		t.Errorf("saved %v core hours, want those of the nights", saved)
	}
}
