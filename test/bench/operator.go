package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/test/harness"
)

// transitionLimit is the time limit of a start or a transition.
const transitionLimit = 10 * time.Minute

// operator is the real manager in this process, on a clock that moves only on command, or on the machine's clock.
type operator struct {
	manager *harness.Manager
	clock   *clocktesting.FakeClock // nil means the clock of the machine
	meter   *meter
	// started is the time from the start until the manager knew all targets and made no more requests.
	started time.Duration
}

// operator starts a manager whose clock stands at an instant. It waits until the manager knows all targets and makes no
// more requests.
func (s *stage) operator(ctx context.Context, at time.Time, asleep bool) (*operator, error) {
	o := &operator{clock: clocktesting.NewFakeClock(at), meter: &meter{}}
	writes, began := o.meter.expect(1), time.Now()
	o.manager = s.env.Start(harness.Options{Clock: o.clock, Config: o.meter.on(s.env.Config)})
	err := o.awaitTargets(ctx, "nights", s.targets, stateName(asleep))
	if err == nil {
		err = o.meter.settle(ctx, time.Second, transitionLimit)
	}
	o.started = o.meter.latest().Sub(began)
	select {
	case <-writes:
		err = errors.Join(err, errors.New("the manager changed a target though everything was as it should be"))
	default:
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the manager: %w", err), o.stop())
	}
	return o, nil
}

// live starts a manager on the machine's clock.
func (s *stage) live() *operator {
	o := &operator{meter: &meter{}}
	o.manager = s.env.Start(harness.Options{Config: o.meter.on(s.env.Config)})
	return o
}

// awaitTargets waits until a policy has the given number of targets in a state. Targets that are falling asleep count as asleep, because
// no controller follows here.
func (o *operator) awaitTargets(ctx context.Context, policy string, n int, state string) error {
	return harness.Poll(ctx, transitionLimit, func() error {
		m, err := o.series("flyball_targets", "policy", policy, "state", state)
		if err != nil {
			return err
		}
		found := m.GetGauge().GetValue()
		if state == stateName(true) {
			falling, err := o.series("flyball_targets", "policy", policy, "state", "falling_asleep")
			if err != nil {
				return err
			}
			found += falling.GetGauge().GetValue()
		}
		if found != float64(n) {
			return fmt.Errorf("%v targets of %s are %s, want %d", found, policy, state, n)
		}
		return nil
	})
}

func stateName(asleep bool) string {
	if asleep {
		return "asleep"
	}
	return "awake"
}

func (o *operator) stop() error {
	if err := o.manager.Stop(); err != nil {
		return fmt.Errorf("the manager ended: %w", err)
	}
	return nil
}

// transition moves the clock to a transition and returns the time until the answer to the last of n patches.
func (o *operator) transition(ctx context.Context, at time.Time, n int) (time.Duration, error) {
	reached := o.meter.expect(n)
	began := time.Now()
	o.clock.SetTime(at)
	last, err := o.meter.await(ctx, reached, transitionLimit)
	return last.Sub(began), err
}

// decisions returns how many times the manager has decided a target.
func (o *operator) decisions() (uint64, error) {
	m, err := o.series("flyball_decision_seconds")
	if err != nil {
		return 0, err
	}
	return m.GetHistogram().GetSampleCount(), nil
}

// series returns the first series of a metric with the given label pairs.
func (o *operator) series(name string, labels ...string) (*dto.Metric, error) {
	families, err := o.manager.Registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather the manager's metrics: %w", err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if labelled(m, labels) {
				return m, nil
			}
		}
	}
	return nil, fmt.Errorf("read the manager's metrics: there is no %s with %q", name, labels)
}

func labelled(m *dto.Metric, pairs []string) bool {
	for i := 0; i+1 < len(pairs); i += 2 {
		if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == pairs[i] && l.GetValue() == pairs[i+1] }) {
			return false
		}
	}
	return true
}
