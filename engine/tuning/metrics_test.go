package tuning

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// seriesOf gives the values of gauges, and the counts of histograms, by the value of one label.
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

// TestSeriesGoWithTheirPolicies: how far roll-outs are, and how long pods take to start, is told of policies that there are.
func TestSeriesGoWithTheirPolicies(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	id := workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}
	b := newBook()
	b.sums[id] = &policy.TunedSummary{Phases: map[string]int{"Working": 3}}
	m.started(id, []time.Duration{3 * time.Second, 20 * time.Second})
	check := func(rollouts, starts map[string]float64) {
		t.Helper()
		m.publish(b, nil, func(workload.Policy) (running, waiting, late int) { return 1, 2, 0 })
		if diff := cmp.Diff(rollouts, seriesOf(t, registry, "flyball_tuned_rollouts", "state")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(starts, seriesOf(t, registry, "flyball_tuned_ready_seconds", "policy_kind")); diff != "" {
			t.Error(diff)
		}
	}
	check(map[string]float64{"running": 1, "waiting": 2, "late": 0}, map[string]float64{"Tortoise": 2})
	delete(b.sums, id)
	check(map[string]float64{}, map[string]float64{})
}

// TestSeriesOfWhatIsAway: a source that does not answer, and an autoscaler that cannot read its metrics, are told apart from those that do.
func TestSeriesOfWhatIsAway(t *testing.T) {
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
	subjects[plain] = &subject{blind: true} // nothing governs it
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
