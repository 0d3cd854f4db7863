package tuning

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
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
