package reconcile

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// sceneAtNoon has one policy with a transition at one o'clock, and targets that are awake under it.
func sceneAtNoon(t *testing.T, targets int) *scene {
	t.Helper()
	s := newScene(t, noTemplates{})
	one := noon.Add(time.Hour)
	s.add(t, kindThat(t, func(p *policy.Policy) {
		p.State = func(now time.Time) policy.Summary {
			if now.Before(one) {
				return policy.Summary{Name: "Awake", Since: noon.Add(-time.Hour), Next: one}
			}
			return policy.Summary{Name: "Asleep", Since: one}
		}
	}), nights)
	s.look(t, nights)
	for i := range targets {
		s.settleAs(i, status.Awake)
		s.timer.Set(key{target: webs(i)}, one)
	}
	return s
}

// settleAs records a target's state as the loop does after a decision.
func (s *scene) settleAs(i int, state status.Mark) {
	s.tracker.Count(webs(i), []status.TargetResult{{Policy: nights, State: state}})
}

// lags returns the number of observed lags and their sum.
func (s *scene) lags(t *testing.T) (n uint64, sum time.Duration) {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "flyball_transition_lag_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			return h.GetSampleCount(), time.Duration(h.GetSampleSum() * float64(time.Second))
		}
	}
	t.Fatal("there is no metric of lags")
	return 0, 0
}

func TestTargetsArePendingFromTheTransitionUntilDecided(t *testing.T) {
	const size = 2000
	s := sceneAtNoon(t, size)
	if got := s.look(t, nights).Targets.Pending; got != 0 {
		t.Fatalf("%d targets are pending before the transition", got)
	}
	s.settleAs(1, status.Failed)
	s.clock.Step(time.Hour)
	// A failed target is not pending, because it stays failed until a newer result is known.
	if got := s.look(t, nights).Targets.Pending; got != size-1 {
		t.Fatalf("%d targets are pending at the transition, want %d", got, size-1)
	}
	if got := s.queue.Len(); got != size {
		t.Errorf("%d targets are queued, want %d", got, size)
	}
	for i := range size / 2 {
		s.settleAs(i, status.Asleep)
	}
	if got := s.look(t, nights).Targets; got.Pending != size/2 || got.Asleep != size/2 || got.Awake != 0 {
		t.Errorf("halfway the counts are %+v", got)
	}
}

func TestTransitionLagEndsWithTheLastWrite(t *testing.T) {
	s := sceneAtNoon(t, 3)
	s.look(t, nights)
	s.clock.Step(time.Hour)
	s.FireDue()
	s.clock.Step(time.Minute)
	s.tracker.Written(nights) // the write of a target, before any status write
	s.settleAs(0, status.Asleep)
	s.look(t, nights)
	s.clock.Step(15 * time.Minute)
	s.look(t, nights)
	if n, _ := s.lags(t); n != 0 {
		t.Fatalf("%d lags are observed while two targets wait", n)
	}
	s.tracker.Written(nights)
	s.clock.Step(time.Second)
	for i := range 3 {
		s.settleAs(i, status.Asleep)
	}
	s.look(t, nights)
	if n, sum := s.lags(t); n != 1 || sum.Round(time.Second) != 16*time.Minute {
		t.Fatalf("%d lags of %s are observed, want one of 16 minutes", n, sum)
	}

	// The late sleep of a target is no lag of the transition.
	s.clock.Step(5 * time.Hour)
	s.tracker.Written(nights)
	s.look(t, nights)
	if n, _ := s.lags(t); n != 1 {
		t.Errorf("%d lags are observed, want one a transition", n)
	}
}

func TestTransitionWithoutWritesHasNoLag(t *testing.T) {
	s := sceneAtNoon(t, 0)
	s.clock.Step(time.Hour)
	s.look(t, nights)
	s.clock.Step(3 * time.Hour)
	s.tracker.Written(nights) // the write of a new target
	s.look(t, nights)
	if n, sum := s.lags(t); n != 0 {
		t.Errorf("%d lags of %s are observed", n, sum)
	}
}

func TestEditIsNoTransition(t *testing.T) {
	s := sceneAtNoon(t, 1)
	s.clock.Step(time.Hour)
	s.look(t, nights)
	later := s.clock.Now().Add(30 * time.Minute)
	edited := s.world.Snapshot().Find(nights).Object.DeepCopyObject().(policy.Object)
	edited.SetGeneration(2)
	k := kindThat(t, func(p *policy.Policy) {
		p.State = func(time.Time) policy.Summary { return policy.Summary{Name: "Awake", Since: later} }
	})
	s.world.Update(func(tx *world.Tx) { tx.SetPolicy(k, edited) })
	s.clock.Step(8 * time.Hour)
	s.tracker.Written(nights)
	s.settleAs(0, status.Awake)
	s.look(t, nights)
	if n, sum := s.lags(t); n != 0 {
		t.Errorf("%d lags of %s are observed, though no transition led to this state", n, sum)
	}
}
