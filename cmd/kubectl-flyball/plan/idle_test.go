package plan_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
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
	var steps []string
	for _, s := range p.Timelines[0].Steps {
		steps = append(steps, fmt.Sprintf("%s %g by use %t", s.At.Format("Mon 15:04"), s.Running, s.ByUse))
	}
	want := []string{"Mon 12:00 1 by use true", "Mon 20:00 0 by use false", "Tue 06:00 1 by use false", "Tue 08:00 1 by use true",
		"Tue 20:00 0 by use false"}
	if diff := cmp.Diff(want, steps[:len(want)]); diff != "" {
		t.Error(diff)
	}
	var text bytes.Buffer
	if err := printer.Print(&text, p, printer.Table, false); err != nil ||
		!strings.Contains(text.String(), ", ~ by use; a cell is") || !strings.Contains(text.String(), "~~~~~.....#~~~~~~.....") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// TestSleepByUseSavesOnceItHappens: a target that sleeps without use is shown as possibly awake from now on, and saves nothing more.
func TestSleepByUseSavesOnceItHappens(t *testing.T) {
	p := made(t, read(t, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: shop, name: idle}, spec: {
  target: {kinds: [{group: apps, kind: Deployment}]}, idle: {demand: "rate(requests[2m])", asleepAfter: 2h}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, uid: u, annotations: {flyball.dev/ledger:
  '{"/spec/replicas":{"was":2,"set":0,"by":"Schedule/shop/idle","since":"2037-05-11T09:00:00Z"},
    "of":"Deployment/web","namespace":"shop","uid":"u"}'}},
  spec: {replicas: 0, template: {spec: {containers: [{name: web, resources: {requests: {cpu: 500m}}}]}}}}`), 1)
	all := p.All()
	if len(all) != 1 || len(all[0].Steps) != 1 || !all[0].Steps[0].ByUse || all[0].Steps[0].Running != 0 || p.Totals.ReplicaHoursSaved != 0 {
		t.Errorf("%+v, %+v", all, p.Totals)
	}
}
