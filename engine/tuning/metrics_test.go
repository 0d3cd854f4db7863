package tuning

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// seriesOf returns the values of gauges, and the counts of histograms, by the value of one label.
func seriesOf(t *testing.T, r *prometheus.Registry, name, label string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					all[l.GetValue()] = m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return all
}

// TestSeriesGoWithTheirPolicies: series of roll-outs and start times exist only for existing policies.
func TestSeriesGoWithTheirPolicies(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	id := tuned
	b := newBook()
	b.sums[id] = &policy.TunedSummary{Phases: map[string]int{"Working": 3}}
	m.started(id, []time.Duration{3 * time.Second, 20 * time.Second})
	check := func(rollouts, starts map[string]float64) {
		t.Helper()
		subjects := map[workload.Ref]*subject{{Name: "web"}: {policy: id, constraint: constraint{since: noon}}, {Name: "api"}: {policy: id},
			{Name: "back"}: {policy: id, found: policy.Found{Report: v1alpha1.RecommendationStatus{TakenBack: &v1alpha1.TakenBack{}}}}}
		m.publish(b, subjects, func(workload.Policy) (running, waiting, late int) { return 1, 2, 0 })
		if diff := cmp.Diff(rollouts, seriesOf(t, registry, "flyball_tuned_rollouts", "state")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(starts, seriesOf(t, registry, "flyball_tuned_ready_seconds", "policy_kind")); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]float64{"running": 1, "waiting": 2, "constrained": 1, "late": 0, "taken_back": 1}, map[string]float64{"Tortoise": 2})
	delete(b.sums, id)
	check(map[string]float64{}, map[string]float64{})
}

// TestSeriesOfAbsentObjectsDisappear: a source without an answer, and a blind autoscaler, differ from healthy ones.
func TestSeriesOfAbsentObjectsDisappear(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	governed := func(name string, blind bool) (workload.Ref, *subject) {
		x := &subject{blind: blind}
		x.found.Report.Autoscaler = &v1alpha1.RecommendedAutoscaler{Name: name}
		return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: name}, x
	}
	subjects := map[workload.Ref]*subject{}
	for name, blind := range map[string]bool{"web": false, "api": true} {
		ref, x := governed(name, blind)
		subjects[ref] = x
	}
	plain := workload.Ref{Namespace: "shop", Name: "plain"}
	subjects[plain] = &subject{blind: true} // no autoscaler governs the target
	b := newBook()
	check := func(readable, blind map[string]float64) {
		t.Helper()
		m.publish(b, subjects, nil)
		if diff := cmp.Diff(readable, seriesOf(t, registry, "flyball_usage_readable", "source")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(blind, seriesOf(t, registry, "flyball_tuned_autoscaler_blind", "name")); diff != "" {
			t.Error(diff)
		}
	}
	b.setReadable(map[string]bool{"Metrics": true, "Prometheus": false})
	check(map[string]float64{"Metrics": 1, "Prometheus": 0}, map[string]float64{"web": 0, "api": 1})
	subjects = nil
	b.begin(nil, &world.Snapshot{})
	check(map[string]float64{}, map[string]float64{})
}

// TestOwnActualProposedAndAppliedNumbersHaveSeparateMetrics: the owner's, actual, proposed and applied numbers have
// different names, and savings are
// positive if something is saved. The system that Flyball can replace has its counters reversed (fault 8).
func TestOwnActualProposedAndAppliedNumbersHaveSeparateMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	id := tuned
	b := newBook()
	b.sums[id] = &policy.TunedSummary{Saved: workload.Requests{MilliCPU: 1500, MemoryBytes: -1 << 20}}
	x := &subject{policy: id, has: podsize.NumbersOf([]*workload.Pod{requesting("app", 700, 300<<20), requesting("app", 900, 300<<20)}, true)}
	x.found.Report = found()
	x.found.Report.Containers[0].Memory = nil
	x.found.Report.Autoscaler = &v1alpha1.RecommendedAutoscaler{Name: "web", Max: v1alpha1.RecommendedNumber{Recommended: 30},
		Min: v1alpha1.RecommendedNumber{Own: ptr.To(int32(5)), Recommended: 3}}
	x.has.Numbers["min"], x.has.Numbers["max"] = 4, 30
	check := func(name, label string, want map[string]float64) {
		t.Helper()
		m.publish(b, map[workload.Ref]*subject{{Name: "web"}: x}, func(workload.Policy) (running, waiting, late int) { return 0, 0, 0 })
		if diff := cmp.Diff(want, seriesOf(t, registry, name, label)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("flyball_tuned_request", "of", map[string]float64{"owner": 1, "actual": 0.8, "proposed": 0.5})
	check("flyball_tuned_saved", "resource", map[string]float64{"cpu": 1.5, "memory": -1 << 20})
	x.found.Report.Containers[0].CPU.Applied = true
	check("flyball_tuned_request", "of", map[string]float64{"owner": 1, "actual": 0.8, "proposed": 0.5, "applied": 0.5})
	x.found.Report.Autoscaler.Max.Recommended = 3 // only the owner's number differs
	x.has.Numbers["max"] = 4
	check("flyball_tuned_autoscaler", "of", map[string]float64{"owner": 5, "actual": 4, "proposed": 3})
	x.found.Report.Autoscaler.Min.Applied = true
	check("flyball_tuned_autoscaler", "of", map[string]float64{"owner": 5, "actual": 4, "proposed": 3, "applied": 3})
}

// found recommends 500m and 256Mi; the owner requests 1 core and 1Gi.
func found() v1alpha1.RecommendationStatus {
	request := func(own, recommended string) *v1alpha1.RecommendedRequest {
		return &v1alpha1.RecommendedRequest{Own: ptr.To(resource.MustParse(own)), Recommended: resource.MustParse(recommended)}
	}
	return v1alpha1.RecommendationStatus{Containers: []v1alpha1.RecommendedContainer{{Name: "app", CPU: request("1", "500m"),
		Memory: request("1Gi", "256Mi")}}}
}
