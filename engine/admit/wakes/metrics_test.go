package wakes

import (
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/workload"
)

func TestRequestsAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Date(2037, 5, 11, 8, 0, 0, 0, time.UTC)
	m.count(&Request{Target: &Object{}, end: later}, nil)
	m.count(&Request{Policy: &Policy{}, end: later}, limits.Faultf(http.StatusForbidden, "a right is missing"))
	m.count(&Request{Namespace: "shop", end: later}, limits.Faultf(http.StatusUnprocessableEntity, "longer than spec.wake"))
	m.count(&Request{Namespace: "shop"}, errors.New("the API server is away"))
	m.count(&Request{Namespace: "shop"}, nil)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatal(families, err)
	}
	got := map[string]float64{}
	for _, series := range families[0].GetMetric() {
		var labels []string
		for _, l := range series.GetLabel() {
			labels = append(labels, l.GetValue())
		}
		got[strings.Join(labels, " ")] = series.GetCounter().GetValue()
	}
	want := map[string]float64{"done target wake": 1, "refused policy wake": 1, "refused namespace wake": 1, "failed namespace sleep": 1,
		"done namespace sleep": 1}
	if families[0].GetName() != "flyball_wakes_total" || !maps.Equal(got, want) {
		t.Errorf("%s counts %v, want %v", families[0].GetName(), got, want)
	}
}

// A target that a freeze suspends is not awake, and a target whose requests a Tortoise sets is.
func TestSleeperIsAScheduleOrAFreeze(t *testing.T) {
	for by, asleep := range map[string]bool{
		"Schedule/shop/nights": true, "ClusterSchedule/office": true, "ClusterChangeFreeze/sale": true, "ChangeFreeze/shop/sale": true,
		"Tortoise/shop/web": false, "Trigger/shop/queue": false,
	} {
		if got := sleeper(workload.Ledger{{Pointer: "/spec/replicas", By: by}}) != nil; got != asleep {
			t.Errorf("%s keeps a target asleep: %t", by, got)
		}
	}
}
