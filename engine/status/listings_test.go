package status_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/status"
)

func TestRequiredListingsDecideReadinessAndSeries(t *testing.T) {
	l := status.NewListings()
	l.Require("Schedule.flyball.dev")
	ready := func(want string) {
		t.Helper()
		err := l.Ready(nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("ready: %v, want %q", err, want)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(l)
	series := func(want map[string]float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	const schedules, ovens = "flyball_kind_listed Schedule.flyball.dev", "flyball_kind_listed Oven.example.com"
	ready("has not been listed yet")
	series(map[string]float64{})
	if !l.Record("Schedule.flyball.dev", errors.New("time: unknown unit")) {
		t.Error("the first failure is no change")
	}
	ready("Schedule.flyball.dev cannot be listed: time: unknown unit")
	series(map[string]float64{schedules: 0})
	if l.Record("Schedule.flyball.dev", errors.New("time: unknown unit")) {
		t.Error("the same failure is a change")
	}
	l.Record("Schedule.flyball.dev", nil)
	ready("")
	series(map[string]float64{schedules: 1})
	l.Record("Oven.example.com", errors.New("forbidden"))
	ready("")
	l.Record("Schedule.flyball.dev", errors.New("gone bad"))
	ready("") // the last known state is served, and the metric shows the failure
	series(map[string]float64{schedules: 0, ovens: 0})
	l.Forget("Oven.example.com")
	series(map[string]float64{schedules: 0})
}
