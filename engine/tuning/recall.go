package tuning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/usage/recorded"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// recallStep is the time between two samples of a history: what the metrics API is read at.
	recallStep = time.Minute
	// longGap is how long nothing may have been learnt before what was recorded meanwhile is asked for.
	longGap = 15 * time.Minute
	// recallTime is how long reading the history of one target may take, once it has begun, and gapTime what was recorded while nobody looked,
	// waiting included: then learning goes on without.
	recallTime = 10 * time.Minute
	gapTime    = 2 * time.Minute
	// recallers is how many histories are read at once.
	recallers = 4
	// retryRecall is the pause after a history could not be read. It doubles up to retryAtMost.
	retryRecall, retryAtMost = time.Minute, 30 * time.Minute
)

// recall is the history of one target that is being read.
type recall struct {
	// gap says that it is only what was recorded since the newest sample.
	gap bool
	// waits says that nothing is learnt and decided meanwhile.
	waits bool
	// part of parts is being read.
	part, parts atomic.Int32
	cancel      context.CancelFunc
	// done is closed once samples and err are there.
	done    chan struct{}
	samples []policy.Sample
	err     error
}

// recalled is what is known of the history of a target.
type recalled struct {
	// at is when it was taken over; zero: it was not.
	at time.Time
	// running is being read; nil: nothing is. Failure is why the last one could not be; after is when the next try is, and pause was before it.
	running *recall
	failure string
	after   time.Time
	pause   time.Duration
	// note says what came of it.
	note string
}

// drop ends what is being read.
func (r *recalled) drop() {
	if r.running != nil {
		r.running.cancel()
		r.running = nil
	}
}

// recall takes over what is recorded of a target, once, and what was recorded while nobody looked. It is true while nothing should be learnt
// and decided because of that.
func (l *Loop) recall(ctx context.Context, p *world.Policy, x *subject, f *fleet.Fleet, seen policy.Seen) (waits bool) {
	source := p.Tuner().Source()
	if !source.Recorded || l.opts.Recorder == nil {
		x.recalled.drop()
		x.recalled.failure = ""
		return false
	}
	if r := x.recalled.running; r != nil {
		select {
		case <-r.done:
			x.recalled.running = nil
			l.takeOver(x, r, seen.Now)
			return false
		default:
			return r.waits
		}
	}
	first, newest := x.mind.Learnt()
	from, gap := seen.Now.Add(-source.Window), !x.recalled.at.IsZero() && !newest.IsZero()
	switch {
	case l.pods.Now().Before(x.recalled.after):
		return false
	case gap && seen.Now.Sub(newest) < longGap:
		return false
	case gap && newest.After(from):
		from = newest.Add(recallStep)
	}
	r := &recall{gap: gap, waits: gap || first.IsZero(), done: make(chan struct{})}
	x.recalled.running = r
	l.start(ctx, r, recorded.Range{
		Namespace: x.ref.Namespace, Pods: recorded.PodsOf(x.ref.Kind, x.ref.Name), From: from.Truncate(recallStep), To: seen.Now.Truncate(recallStep), Step: recallStep,
		Progress: func(part, parts int) { r.part.Store(int32(part)); r.parts.Store(int32(parts)) },
	}, containersOf(f, seen))
	return r.waits
}

// containersOf are those that a target has, or its pods do: what others did that are gone says nothing.
func containersOf(f *fleet.Fleet, seen policy.Seen) map[string]bool {
	names := map[string]bool{}
	for _, a := range seen.Own {
		names[a.Component] = true
	}
	for _, pod := range f.Pods {
		for _, c := range pod.Containers {
			names[c.Name] = true
		}
	}
	return names
}

// start reads a history, after those that came before.
func (l *Loop) start(ctx context.Context, r *recall, of recorded.Range, containers map[string]bool) {
	limit, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	go func() {
		defer close(r.done)
		defer cancel()
		if r.gap {
			var end context.CancelFunc
			limit, end = context.WithTimeout(limit, gapTime)
			defer end()
		}
		select {
		case l.recallers <- struct{}{}:
			defer func() { <-l.recallers }()
		case <-limit.Done():
			r.err = limit.Err()
			return
		}
		limit, end := context.WithTimeout(limit, recallTime)
		defer end()
		samples, err := l.opts.Recorder.History(limit, of)
		r.samples, r.err = slices.DeleteFunc(samples, func(s policy.Sample) bool { return !containers[s.Container] }), err
	}()
}

// takeOver has a mind learn from a history that was read.
func (l *Loop) takeOver(x *subject, r *recall, now time.Time) {
	var nothing *recorded.Nothing
	if errors.As(r.err, &nothing) && (nothing.Pods || r.gap) {
		r.err = nil // it is new, or slept
	}
	if r.err != nil {
		x.recalled.pause = min(max(2*x.recalled.pause, retryRecall), retryAtMost)
		x.recalled.after, x.recalled.failure = l.pods.Now().Add(x.recalled.pause), "what was recorded cannot be read: "+r.err.Error()
		return
	}
	x.recalled.after, x.recalled.pause, x.recalled.failure = time.Time{}, 0, ""
	if len(r.samples) == 0 { // there is nothing to ask for again at once
		x.recalled.after = l.pods.Now().Add(retryRecall)
	}
	first, newest := x.mind.Learnt()
	if r.gap {
		x.mind.Observe(slices.DeleteFunc(r.samples, func(s policy.Sample) bool { return !s.At.After(newest) })...)
		return
	}
	x.recalled.at = now
	x.recalled.note = fmt.Sprintf("Prometheus at %s has nothing that is older", l.opts.Recorder.Host())
	if n := len(r.samples); n > 0 && (first.IsZero() || r.samples[0].At.Before(first)) {
		x.mind.Recall(r.samples)
		x.recalled.note = fmt.Sprintf("Prometheus at %s had %s from %s on", l.opts.Recorder.Host(), workload.Count(n, "sample"), r.samples[0].At.Format(time.RFC3339))
	}
}

// reportRecall tells that the history of a target is being read.
func (l *Loop) reportRecall(ctx context.Context, ref workload.Ref, p *world.Policy, x *subject) {
	r := x.recalled.running
	before := x.found.Report
	if before.Phase != "" || r == nil {
		return // what was found stays
	}
	x.found.Report = v1alpha1.RecommendationStatus{Phase: "Initializing", PhaseReason: "what Prometheus at " + l.opts.Recorder.Host() + " has recorded is being read"}
	if parts := r.parts.Load(); parts > 0 {
		x.found.Report.PhaseReason += fmt.Sprintf(": part %d of %d", min(r.part.Load()+1, parts), parts)
	}
	l.report(ctx, ref, p, x)
	x.found.Report = before
}

// troubles joins what is wrong with a target.
func (x *subject) troubles() string {
	var all []string
	for _, text := range []string{x.found.Trouble, x.recalled.failure, x.unmade} {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}
