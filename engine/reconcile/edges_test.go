package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

var nights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

// engineAtNoon is an engine without a cluster. It knows one policy, which turns at one o'clock and has targets that are awake.
func engineAtNoon(t *testing.T, targets int) (*Engine, *clocktesting.FakeClock, *entry) {
	t.Helper()
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(noon)
	e := &Engine{
		opts: Options{Clock: clock}, index: newPolicyIndex(), metrics: m.metrics, records: map[workload.Ref]record{}, wakes: newWakes(clock),
		queue: workqueue.NewTypedRateLimitingQueue(newBackoff(time.Second, time.Minute)),
	}
	e.rollup = newRollup(e)
	one := noon.Add(time.Hour)
	en := &entry{id: nights, object: &v1alpha1.Schedule{}, tally: newTally(), policy: policy.Broken(nights, nil)}
	en.policy.State = func(now time.Time) policy.State {
		if now.Before(one) {
			return policy.State{Name: "Awake", Since: noon.Add(-time.Hour), Next: one}
		}
		return policy.State{Name: "Asleep", Since: one}
	}
	e.index.add(en)
	e.wakes.Set(wakeKey{policy: nights}, one)
	for i := range targets {
		e.settleAs(en, webs(i), statusAwake)
		e.wakes.Set(wakeKey{target: webs(i)}, one)
	}
	return e, clock, en
}

func webs(i int) workload.Ref {
	return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: fmt.Sprint("web-", i)}
}

// settleAs notes what a target is in, as the engine does once it has been looked at.
func (e *Engine) settleAs(en *entry, ref workload.Ref, s status) {
	e.recordsMu.Lock()
	defer e.recordsMu.Unlock()
	en.tally.move(ref, statusUnder(e.records[ref].under, en.tally), note{status: s})
	e.records[ref] = record{under: []underPolicy{{en.id, en.tally, s}}}
}

// look does what a status write does before it writes.
func (e *Engine) look(en *entry) v1alpha1.PolicyStatus {
	e.wakes.fireDue(e.fire)
	st := v1alpha1.PolicyStatus{Targets: &v1alpha1.TargetCounts{Pending: en.tally.counts[statusPending]}}
	e.rollup.metrics(en, en.id, en.policy.State(e.opts.Clock.Now()), &st)
	return st
}

// lags gives how many lags were observed, and their sum.
func lags(t *testing.T, e *Engine) (n uint64, sum time.Duration) {
	t.Helper()
	var m dto.Metric
	if err := e.metrics.edgeLag.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.Histogram.GetSampleCount(), time.Duration(m.Histogram.GetSampleSum() * float64(time.Second))
}

func TestTargetsArePendingFromTheEdgeUntilTheyAreLookedAt(t *testing.T) {
	const size = 2000
	e, clock, en := engineAtNoon(t, size)
	if got := e.look(en).Targets.Pending; got != 0 {
		t.Fatalf("%d targets are pending before the edge", got)
	}
	e.settleAs(en, webs(1), statusFailed)
	clock.Step(time.Hour)
	// One less: what has failed has failed until something better is known.
	if got := e.look(en).Targets.Pending; got != size-1 {
		t.Fatalf("%d targets are pending at the edge, want %d", got, size-1)
	}
	if got := e.queue.Len(); got != size {
		t.Errorf("%d targets are queued, want %d", got, size)
	}
	for i := range size / 2 {
		e.settleAs(en, webs(i), statusAsleep)
	}
	if got := en.tally.counts; got[statusPending] != size/2 || got[statusAsleep] != size/2 || got[statusAwake] != 0 {
		t.Errorf("halfway the counts are %v", got)
	}
}

func TestEdgeLagEndsWithTheLastWrite(t *testing.T) {
	e, clock, en := engineAtNoon(t, 3)
	e.look(en)
	clock.Step(time.Hour)
	e.wakes.fireDue(e.fire)
	clock.Step(time.Minute)
	e.rollup.Written(nights) // before any status write
	e.settleAs(en, webs(0), statusAsleep)
	e.look(en)
	clock.Step(15 * time.Minute)
	e.look(en)
	if n, _ := lags(t, e); n != 0 {
		t.Fatalf("%d lags are observed while two targets wait", n)
	}
	e.rollup.Written(nights)
	clock.Step(time.Second)
	for i := range 3 {
		e.settleAs(en, webs(i), statusAsleep)
	}
	e.look(en)
	if n, sum := lags(t, e); n != 1 || sum.Round(time.Second) != 16*time.Minute {
		t.Fatalf("%d lags of %s are observed, want one of 16 minutes", n, sum)
	}

	// What is put to sleep later that night has not waited since the edge.
	clock.Step(5 * time.Hour)
	e.rollup.Written(nights)
	e.look(en)
	if n, _ := lags(t, e); n != 1 {
		t.Errorf("%d lags are observed, want one an edge", n)
	}
}

func TestEdgeWithNothingToDoHasNoLag(t *testing.T) {
	e, clock, en := engineAtNoon(t, 0)
	clock.Step(time.Hour)
	e.look(en)
	clock.Step(3 * time.Hour)
	e.rollup.Written(nights) // a new target
	e.look(en)
	if n, sum := lags(t, e); n != 0 {
		t.Errorf("%d lags of %s are observed", n, sum)
	}
}

func TestEditIsNoEdge(t *testing.T) {
	e, clock, en := engineAtNoon(t, 1)
	clock.Step(time.Hour)
	e.look(en)
	later := clock.Now().Add(30 * time.Minute)
	en.policy.State = func(time.Time) policy.State { return policy.State{Name: "Awake", Since: later} }
	clock.Step(8 * time.Hour)
	e.rollup.Written(nights)
	e.settleAs(en, webs(0), statusAwake)
	e.look(en)
	if n, sum := lags(t, e); n != 0 {
		t.Errorf("%d lags of %s are observed, though no transition led to this state", n, sum)
	}
}

func TestSeriesOfAPolicyThatHasGoneStayAway(t *testing.T) {
	e, _, en := engineAtNoon(t, 2)
	series := func() int {
		registry := prometheus.NewRegistry()
		registry.MustRegister(e.metrics.targets, e.metrics.next, e.metrics.conflict)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return len(families)
	}
	e.look(en)
	if series() == 0 {
		t.Fatal("a policy has no series")
	}
	e.index.remove(en)
	e.metrics.forgetPolicy(nights)
	e.look(en) // a status write that was under way
	if got := series(); got != 0 {
		t.Errorf("%d families of series are left", got)
	}
}
