package status_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

var nights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

// meanwhile runs a function during a status write, after the policy was looked up.
type meanwhile struct{ do func() }

// idle is a world without actuators.
type idle struct{}

func (idle) Report(*world.Policy, policy.Object) (reason, message string) { return "", "" }

func (m *meanwhile) SetTransition(workload.Policy, time.Time)  { m.do() }
func (m *meanwhile) FireDue()                                  {}
func (m *meanwhile) Open(workload.Policy) ([]decide.Wave, int) { return nil, 0 }

func TestSeriesOfADeletedPolicyDoNotComeBack(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := status.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	obj := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights",
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	obj.Spec.Downscale, obj.Spec.Upscale = "0 20 * * *", "0 8 * * *"
	kind, _ := kinds.Find(nights.Kind)
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, obj) })
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	during, tracker := &meanwhile{do: func() {}}, status.NewTracker(w, clock, m)
	s := status.NewWriter(status.Options{World: w, Tracker: tracker, Health: status.NewAdapterHealth(), Targets: during, Actuators: idle{},
		Client:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(obj.DeepCopy()).WithStatusSubresource(obj).Build(),
		Metrics: m, Clock: clock})
	write := func() {
		tracker.Dirty(nights)
		over, stop := context.WithCancel(t.Context())
		stop()
		s.Run(over) // writes the pending statuses once
	}
	series := func() (n int) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != "flyball_transition_lag_seconds" { // the histogram of all policies together
				n++
			}
		}
		return n
	}
	tracker.Count(workload.Ref{Namespace: "shop", Name: "web"}, []status.TargetResult{{Policy: nights, State: status.Awake}})
	write()
	if series() == 0 {
		t.Fatal("a policy has no series")
	}
	if diff := cmp.Diff(map[string]float64{"Asleep": 0, "Conflicting": 0, "Contested": 0, "Ready": 1, "Selecting": 1},
		seriesOf(t, registry, "flyball_policy_condition", "condition")); diff != "" {
		t.Errorf("flyball_policy_condition: -want +got\n%s", diff)
	}
	for _, state := range []string{"Awake", "Asleep"} {
		write()
		if diff := cmp.Diff(map[string]float64{state: 1}, seriesOf(t, registry, "flyball_policy_state", "state")); diff != "" {
			t.Errorf("flyball_policy_state: -want +got\n%s", diff)
		}
		clock.Step(9 * time.Hour)
	}
	gone := false
	during.do = func() { // a status write is in flight
		gone = true
		w.Update(func(tx *world.Tx) { tx.RemovePolicy(nights) })
		s.Forget(nights)
	}
	write()
	if !gone {
		t.Fatal("no status was being written")
	}
	if got := series(); got != 0 {
		t.Errorf("%d families of series are left", got)
	}
}

// seriesOf returns the values of a metric by the value of a label.
func seriesOf(t *testing.T, registry *prometheus.Registry, name, label string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					values[l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
	}
	return values
}
