package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

var (
	fleet = workload.Policy{Kind: "ClusterSchedule", Name: "fleet"}
	web   = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	api   = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "depot", Name: "api"}
	small = &workload.Requests{MilliCPU: 500, MemoryBytes: 100}
)

type scene struct {
	*status.Savings
	t        *testing.T
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	gone     map[workload.Policy]bool
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)), registry: prometheus.NewRegistry(),
		gone: map[workload.Policy]bool{}}
	s.Savings = status.NewSavings(s.clock, status.Rates{}, func(id workload.Policy) bool { return !s.gone[id] })
	if err := s.registry.Register(s.Savings); err != nil {
		t.Fatal(err)
	}
	return s
}

// expect compares the collected series: by policy and namespace, the replicas, cores and bytes saved now, and their
// sums over time.
func (s *scene) expect(reason string, want map[string][6]float64) {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	place := map[string]int{
		"flyball_saved_replicas": 0, "flyball_saved_cpu_cores": 1, "flyball_saved_memory_bytes": 2,
		"flyball_saved_replica_seconds_total": 3, "flyball_saved_cpu_core_seconds_total": 4, "flyball_saved_memory_byte_seconds_total": 5,
	}
	got := map[string][6]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() { // in order of their names
				key += l.GetValue() + " "
			}
			values := got[key]
			values[place[f.GetName()]] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			got[key] = values
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
}

func TestSumsOverTimeAreExact(t *testing.T) {
	s := newScene(t)
	s.expect("nothing is saved", map[string][6]float64{})
	s.Set(web, []adapter.Saving{{By: nights, Replicas: 3}}, small)
	s.clock.Step(10 * time.Second)
	s.expect("ten seconds", map[string][6]float64{"shop/nights Schedule shop ": {3, 1.5, 300, 30, 15, 3000}})
	s.clock.Step(250 * time.Millisecond) // between two scrapes
	s.Set(web, []adapter.Saving{{By: nights, Replicas: 2}}, small)
	s.clock.Step(250 * time.Millisecond)
	s.Set(web, nil, nil)
	s.clock.Step(time.Hour)
	s.expect("awake again: the sums stay", map[string][6]float64{"shop/nights Schedule shop ": {0, 0, 0, 31.25, 15.625, 3125}})
	s.Set(web, []adapter.Saving{{By: nights, Replicas: 1}}, nil)
	s.clock.Step(time.Second)
	s.expect("the requests are not known", map[string][6]float64{"shop/nights Schedule shop ": {1, 0, 0, 32.25, 15.625, 3125}})
}

func TestSeriesAreByPolicyAndNamespace(t *testing.T) {
	s := newScene(t)
	s.Set(web, []adapter.Saving{{By: nights, Replicas: 3}, {By: fleet, Replicas: 1}}, small)
	s.Set(api, []adapter.Saving{{By: fleet, Replicas: 2}}, small)
	s.Set(workload.Ref{GroupKind: web.GroupKind, Namespace: "depot", Name: "other"}, []adapter.Saving{{By: fleet, Replicas: 4}}, nil)
	s.expect("three accounts", map[string][6]float64{
		"shop/nights Schedule shop ": {3, 1.5, 300, 0, 0, 0}, "fleet ClusterSchedule shop ": {1, 0.5, 100, 0, 0, 0},
		"fleet ClusterSchedule depot ": {6, 1, 200, 0, 0, 0},
	})
	s.ForgetNamespace("depot")
	s.gone[nights] = true
	s.ForgetPolicy(nights)
	s.expect("a namespace and a policy have gone", map[string][6]float64{"fleet ClusterSchedule shop ": {1, 0.5, 100, 0, 0, 0}})
	s.Set(web, []adapter.Saving{{By: nights, Replicas: 3}, {By: fleet, Replicas: 1}}, small)
	s.Set(api, nil, nil)
	s.expect("what they leave is not counted", map[string][6]float64{"fleet ClusterSchedule shop ": {1, 0.5, 100, 0, 0, 0}})
}

// TestWorthIsCounted checks the sums of money and CO2, and that these metrics are absent without rates.
func TestWorthIsCounted(t *testing.T) {
	for _, c := range []struct {
		price, co2 string
		want       map[string]float64
	}{
		{"", "", map[string]float64{}},
		{"cpu=0.5,memory=0.25,currency=EUR", "", map[string]float64{"flyball_saved_cost_total EUR": 3*0.5*0.5 + 3*2*0.25}},
		{"cpu=0.5", "memory=4", map[string]float64{"flyball_saved_cost_total": 0.75, "flyball_saved_co2_grams_total": 24}},
	} {
		rates, err := status.ParseRates(c.price, c.co2)
		if err != nil {
			t.Fatal(err)
		}
		clock := clocktesting.NewFakeClock(time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC))
		book, registry := status.NewSavings(clock, rates, func(workload.Policy) bool { return true }), prometheus.NewPedanticRegistry()
		if err := registry.Register(book); err != nil {
			t.Fatal(err)
		}
		book.Set(web, []adapter.Saving{{By: nights, Replicas: 3}}, &workload.Requests{MilliCPU: 500, MemoryBytes: 2 << 30})
		clock.Step(time.Hour)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			if !strings.Contains(f.GetName(), "cost") && !strings.Contains(f.GetName(), "co2") {
				continue
			}
			name := f.GetName()
			for _, l := range f.GetMetric()[0].GetLabel() {
				if l.GetName() == "currency" {
					name += " " + l.GetValue()
				}
			}
			name = strings.TrimSpace(name)
			got[name] = f.GetMetric()[0].GetCounter().GetValue()
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("price %q, CO2 %q (-want +got):\n%s", c.price, c.co2, diff)
		}
	}
}
