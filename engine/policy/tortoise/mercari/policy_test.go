package mercari

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

func TestScalingPolicyOfEachResource(t *testing.T) {
	both := []Container{{Name: "app", CPU: true, Memory: true}, {Name: "side", CPU: true, Memory: true}}
	metrics := []Container{{Name: "app", CPU: true, Memory: true, CPUMetric: true},
		{Name: "side", CPU: true, Memory: true, MemoryMetric: true}}
	for _, tc := range []struct {
		reason     string
		containers []Container
		asked      map[string]Scalings
		attached   bool
		want       map[string]Scalings
	}{
		{"no policy", both, nil, false, map[string]Scalings{"app": {ByReplicas, BySize}, "side": {ByReplicas, BySize}}},
		{"an attached autoscaler", metrics, nil, true, map[string]Scalings{"app": {ByReplicas, BySize}, "side": {BySize, ByReplicas}}},
		{"an attached autoscaler without metrics of containers", both, nil, true,
			map[string]Scalings{"app": {BySize, BySize}, "side": {BySize, BySize}}},
		{"no request", []Container{{Name: "app", Memory: true}, {Name: "side", CPU: true}}, nil, false,
			map[string]Scalings{"app": {Never, BySize}, "side": {ByReplicas, Never}}},
		{"no request of what there is a metric for", []Container{{Name: "app", CPUMetric: true}}, nil, true,
			map[string]Scalings{"app": {Never, Never}}},
		{"a partial policy", both, map[string]Scalings{"app": {Memory: ByReplicas}}, false,
			map[string]Scalings{"app": {Never, ByReplicas}, "side": {Never, Never}}},
		{"a partial policy beside an attached autoscaler", metrics, map[string]Scalings{"side": {CPU: BySize}}, true,
			map[string]Scalings{"app": {Never, Never}, "side": {BySize, Never}}},
	} {
		if diff := cmp.Diff(tc.want, Policies(tc.containers, tc.asked, tc.attached)); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
	}
}

func TestPhaseByRecommendationAndHistory(t *testing.T) {
	for _, tc := range []struct {
		s                   Scaling
		recommended, filled bool
		want                tune.Phase
	}{
		{BySize, false, true, tune.GatheringData}, {BySize, true, false, tune.Working},
		{ByReplicas, true, false, tune.GatheringData}, {ByReplicas, false, true, tune.Working},
		{Never, true, true, "Off"}, {Never, false, false, "Off"},
	} {
		if got := ResourcePhase(tc.s, tc.recommended, tc.filled); got != tc.want {
			t.Errorf("%s with a recommendation (%t) and slots (%t) is %s, want %s", tc.s, tc.recommended, tc.filled, got, tc.want)
		}
	}
	for _, tc := range []struct {
		resources []tune.Phase
		want      tune.Phase
	}{
		{[]tune.Phase{tune.GatheringData, tune.GatheringData}, tune.GatheringData},
		{[]tune.Phase{tune.Working, tune.GatheringData}, tune.PartlyWorking},
		{[]tune.Phase{tune.Working, tune.Working}, tune.Working}, {[]tune.Phase{tune.Working, "Off"}, tune.Working},
		{[]tune.Phase{tune.GatheringData, "Off"}, tune.GatheringData},
	} {
		if got := TargetPhase(tc.resources); got != tc.want {
			t.Errorf("%v is %s, want %s", tc.resources, got, tc.want)
		}
	}
}

// TestFormulasHaveAllDefaults has the defaults of all parameters that the formulas need.
func TestFormulasHaveAllDefaults(t *testing.T) {
	want := Config{
		Weekly: true, MaxFactor: 2, MinFactor: 0.5, MinimumMinReplicas: 3, MaximumMinReplicas: 10, PreferredMaxReplicas: 30,
		MaximumMaxReplicas: 100, Reduction: 0.95,
		MinUtilisation: 65, MaxUtilisation: 90, MaxIncrease: 5, UtilisationInterval: 24 * time.Hour, NewMetric: 70,
		MinCPU: 50, MaxCPU: 10_000, MinMemory: 52_428_800_000, MaxMemory: 10_737_418_240_000, Buffer: 0.1, MaxStepDown: 0.8,
		EmergencyAfter: 300 * time.Second, RestartInterval: 60 * time.Minute,
	}
	if diff := cmp.Diff(want, Default()); diff != "" {
		t.Error(diff)
	}
	if cpu, memory := c.CPU(1, 2), c.Memory(3, 4); cpu != (Limits{1, 2, 50, 10_000}) ||
		memory != (Limits{3, 4, 52_428_800_000, 10_737_418_240_000}) {
		t.Errorf("the limits are %+v and %+v", cpu, memory)
	}
}
