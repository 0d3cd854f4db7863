package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flyball.dev/flyball/engine/watch"
)

// firstDay is the day of the first transition, at midnight UTC. Each round has a day of its own.
var firstDay = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// night is one night of the schedule.
type night struct{ dusk, dawn time.Time }

func (n night) transition(asleep bool) time.Time {
	if asleep {
		return n.dusk
	}
	return n.dawn
}

// nightOf returns the transitions of a round's night. The schedule's time zone is one hour ahead of UTC in winter, and
// two hours in summer.
func nightOf(round int) night {
	day := firstDay.AddDate(0, 0, round)
	return night{dusk: day.Add(19 * time.Hour), dawn: day.Add(31 * time.Hour)}
}

// transitionTimes has the costs of one transition: by the manager, by the bare loop, and by the bare loop beside a watch.
type transitionTimes struct {
	manager, bare, watched timing
	// requests is the number of requests that the API server counted for the manager's transition.
	requests float64
}

// transitions measures transitions by the manager against the same patches from a bare loop, in turns.
func (b *bench) transitions(ctx context.Context) error {
	s, err := b.stage(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(s.grow(ctx, s.targets), s.schedule(ctx)); err != nil {
		return err
	}
	l, err := s.loop()
	if err != nil {
		return err
	}
	var ratios, watched, efforts, effortsWatched, perChange []float64
	for round := range s.transitionRounds {
		times, err := b.transitionRound(ctx, s, l, round)
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		for i, t := range times {
			b.report.say("transition %s of round %d: manager %s, bare loop %s, beside a watch %s", stateName(i == 0), round, t.manager, t.bare,
				t.watched)
			ratios = append(ratios, t.manager.Seconds/t.bare.Seconds)
			watched = append(watched, t.manager.Seconds/t.watched.Seconds)
			efforts = append(efforts, t.manager.sum()/t.bare.sum())
			effortsWatched = append(effortsWatched, t.manager.sum()/t.watched.sum())
			perChange = append(perChange, t.requests/float64(s.targets))
		}
	}
	b.report.rounds("edge_ratio", ratios)
	b.report.rounds("edge_ratio_watching", watched)
	b.report.rounds("edge_cpu_ratio", efforts)
	b.report.rounds("edge_cpu_ratio_watching", effortsWatched)
	b.report.rounds("edge_requests_per_change", perChange)
	b.report.figure("edge_ratio", median(ratios), "ratio")
	b.report.figure("edge_ratio_watching", median(watched), "ratio")
	b.report.figure("edge_cpu_ratio", median(efforts), "ratio")
	b.report.figure("edge_cpu_ratio_watching", median(effortsWatched), "ratio")
	b.report.figure("edge_requests_per_change", median(perChange), "requests/change")
	return nil
}

// transitionRound runs three nights, so that each of the three ways puts the targets to sleep once and wakes them once. The
// order of the ways rotates. All targets are awake before and after the round.
func (b *bench) transitionRound(ctx context.Context, s *stage, l *loop, round int) (times [2]transitionTimes, err error) {
	n := nightOf(round)
	manager := func(i int) (err error) {
		times[i].manager, times[i].requests, err = b.managerTransition(ctx, s, n, i == 0, round)
		return err
	}
	bare := func(i int) (err error) {
		times[i].bare, err = l.transition(ctx, n.transition(i == 0), b.profileName("bare", i == 0, round))
		return err
	}
	watched := func(i int) (err error) {
		times[i].watched, err = s.watchedTransition(ctx, l, n.transition(i == 0), b.profileName("watched", i == 0, round))
		return err
	}
	const down, up = 0, 1
	steps := []func() error{
		func() error { return manager(down) }, func() error { return bare(up) },
		func() error { return watched(down) }, func() error { return manager(up) },
		func() error { return bare(down) }, func() error { return watched(up) },
	}
	if round%2 == 1 {
		steps = []func() error{
			func() error { return watched(down) }, func() error { return bare(up) },
			func() error { return bare(down) }, func() error { return manager(up) },
			func() error { return manager(down) }, func() error { return watched(up) },
		}
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return times, err
		}
		if err := s.verify(ctx, i%2 == 0); err != nil {
			return times, err
		}
	}
	return times, nil
}

// profileName returns the prefix of the profile files of a transition. It returns "" if no profiles are written.
func (b *bench) profileName(way string, asleep bool, round int) string {
	return named(b.opts.profile, fmt.Sprintf("transition-%s-%s-%d", way, stateName(asleep), round))
}

// managerTransition starts a manager an hour before a transition, lets the transition come, and stops the manager. It returns
// the cost and the number of requests that the API server counted until all statuses were written.
func (b *bench) managerTransition(ctx context.Context, s *stage, n night, asleep bool, round int) (took timing, requests float64,
	err error,
) {
	at := n.transition(asleep)
	o, err := s.operator(ctx, at.Add(-time.Hour), !asleep)
	if err != nil {
		return took, 0, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	before, err := s.requests(ctx)
	if err != nil {
		return took, 0, err
	}
	transition := func() (time.Duration, error) { return o.transition(ctx, at, s.targets) }
	if took, err = s.timed(ctx, b.profileName("manager", asleep, round), transition); err != nil {
		return took, 0, err
	}
	if err := o.meter.settle(ctx, 1500*time.Millisecond, time.Minute); err != nil {
		return took, 0, err
	}
	after, err := s.requests(ctx)
	if err != nil {
		return took, 0, err
	}
	if applied, refused := o.meter.patches(); applied != s.targets || refused != 0 {
		b.report.say("the manager's transition took %d patches that went through and %d that did not", applied, refused)
	}
	made := after.since(before)
	b.report.say("requests of the transition: %s", made)
	return took, made.sum(), nil
}

// watchedTransition runs the bare loop beside one projected watch of all Deployments, such as the manager has. It returns the
// cost that the loop would have if it had to know its objects.
func (s *stage) watchedTransition(ctx context.Context, l *loop, at time.Time, profile string) (timing, error) {
	m, err := watch.NewManager(s.env.Config)
	if err != nil {
		return timing{}, err
	}
	defer m.Close()
	w, err := m.Ensure(ctx, watch.Source{GVR: deploymentsResource, ID: "bench", Projector: s.adapter})
	if err != nil {
		return timing{}, err
	}
	if err := w.WaitSynced(ctx); err != nil {
		return timing{}, err
	}
	return l.transition(ctx, at, profile)
}
