package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/local"
)

// errNotKept means that a target did not behave as expected, which was already printed.
var errNotKept = errors.New("a target did not do what it should")

// tolerance is the maximum delay, by the demo's clock, of a change that counts as kept. The shortest time between two
// transitions of a target is eight hours.
const tolerance = 5 * time.Hour

// kept compares the observed changes with the hours at which changes are due. It returns the delay of each change by
// the machine's clock, and the errors.
func kept(t *track, begin time.Time, rate float64) (late []time.Duration, wrong []string) {
	due := []int{}
	if t.week != nil {
		due = t.week.transitions()
	}
	if len(due) != len(t.history) {
		wrong = append(wrong, fmt.Sprintf("%s changed %d times, not %d times", t, len(t.history), len(due)))
	}
	for i := range min(len(due), len(t.history)) {
		c := t.history[i]
		transition := begin.Add(time.Duration(due[i]) * time.Hour)
		behind := time.Duration(float64(c.at.Sub(transition)) / rate)
		late = append(late, behind)
		should := "asleep"
		if t.week.awake(due[i]) {
			should = "awake"
		}
		switch {
		case (c.state == awake) != t.week.awake(due[i]):
			wrong = append(wrong, fmt.Sprintf("%s is %s at %s, should be %s", t, c.state, stamp(c.at), should))
		case behind < 0 || c.at.Sub(transition) > tolerance:
			wrong = append(wrong, fmt.Sprintf("%s was %s at %s, should have been at %s", t, should, stamp(c.at), stamp(transition)))
		}
	}
	return late, wrong
}

// restored returns the difference between the original and the current object, or "".
func restored(t *track) string { return cmp.Diff(lasting(t.original), lasting(t.latest)) }

// lasting returns the part of an object written by its owner: without the status and the API server's counters.
func lasting(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	// This counter of changes to a DaemonSet's template only rises, as metadata.generation does.
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", "deprecated.daemonset.template.generation")
	if len(out.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations")
	}
	return out.Object
}

// writesCounted returns the manager's own count of successful writes.
func writesCounted(registry prometheus.Gatherer) (int, error) {
	families, err := registry.Gather()
	if err != nil {
		return 0, fmt.Errorf("read the manager's metrics: %w", err)
	}
	total := 0.0
	for _, f := range families {
		if f.GetName() != "flyball_writes_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "result" && l.GetValue() == "applied" {
					total += m.GetCounter().GetValue()
				}
			}
		}
	}
	return int(total), nil
}

// requests are the manager's requests to the API server since an instant.
type requests struct {
	// targets is the number of writes to targets, and of counts them by resource/name. own is the number of writes to
	// Flyball's own objects, mostly to their statuses.
	targets, own, events int
	of                   map[string]int
	// reviews is the number of checks of rights. reads is the number of gets and lists. webhook is the number of writes
	// that maintain the webhook configurations.
	reviews, reads, webhook int
}

func countRequests(log []local.Request, since time.Time) requests {
	out := requests{of: map[string]int{}}
	for _, r := range log {
		if r.UserAgent != "flyball-manager" || r.Object == nil || r.Received.Before(since) || r.Stage != "ResponseComplete" ||
			r.Response.Code >= 300 {
			continue
		}
		switch {
		case r.Verb == "get" || r.Verb == "list":
			out.reads++
		case r.Verb == "watch":
		case r.Object.Resource == "events":
			out.events++
		case r.Object.APIGroup == authorizationv1.GroupName:
			out.reviews++
		case r.Object.APIGroup == v1alpha1.GroupVersion.Group:
			out.own++
		case r.Object.APIGroup == admissionregistrationv1.GroupName || r.Object.Resource == "secrets":
			out.webhook++
		default:
			out.targets++
			out.of[r.Object.Resource+"/"+r.Object.Name]++
		}
	}
	return out
}

// median returns the median of durations, or 0 if there are none.
func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
