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
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// recallStep is the time between two samples of a history. It equals the time between two reads of the metrics API.
	recallStep = time.Minute
	// longGap is the time without samples after which recorded samples are asked for.
	longGap = 15 * time.Minute
	// recallTime is the time limit for reading the history of a target. gapTime is the time limit for reading the
	// samples recorded during a gap, including the wait for other reads. After it, learning goes on without these
	// samples.
	recallTime = 10 * time.Minute
	gapTime    = 2 * time.Minute
	// recallers is the number of histories that are read at once.
	recallers = 4
	// retryRecall is the pause after a history that could not be read. It doubles up to retryAtMost.
	retryRecall, retryAtMost = time.Minute, 30 * time.Minute
)

// recall is the running read of a target's history.
type recall struct {
	// gap is true if only the samples since the newest known sample are read.
	gap bool
	// waits is true if learning and deciding wait for the history.
	waits bool
	// part is the index, from 0, of the part under way. parts is the number of parts of the read; 0: not known yet.
	part, parts atomic.Int32
	cancel      context.CancelFunc
	// done is closed once samples and err are set.
	done    chan struct{}
	samples []workload.Sample
	err     error
}

// recalled is the state of a target's history.
type recalled struct {
	// at is the time when the history was taken over; zero: never.
	at time.Time
	// running is the read under way; nil: none. failure is the error of the last read. after is the earliest time of
	// the next read. pause is the time from a failure to the next read.
	running *recall
	failure string
	after   time.Time
	pause   time.Duration
	// note is the reported result.
	note string
}

// drop ends the running read.
func (r *recalled) drop() {
	if r.running != nil {
		r.running.cancel()
		r.running = nil
	}
}

// recall takes over the recorded history of a target, once, and the samples recorded during a gap. It returns true
// while learning and deciding should wait for them.
func (l *Actuator) recall(ctx context.Context, p *world.Policy, x *subject, f *workload.Fleet, seen policy.Seen) (waits bool) {
	source := p.Tuner.Source()
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
	first, newest := x.learner.HistoryRange()
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
	l.start(ctx, r, measure.Range{
		Namespace: x.ref.Namespace, Pods: measure.PodsOf(x.ref.Kind, x.ref.Name), From: from.Truncate(recallStep),
		To: seen.Now.Truncate(recallStep), Step: recallStep,
		Progress: func(part, parts int) { r.part.Store(int32(part)); r.parts.Store(int32(parts)) },
	}, containersOf(f, seen))
	return r.waits
}

// containersOf returns the containers of a target and of its pods. The history of former containers is not used.
func containersOf(f *workload.Fleet, seen policy.Seen) map[string]bool {
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

// start reads a history after earlier reads.
func (l *Actuator) start(ctx context.Context, r *recall, of measure.Range, containers map[string]bool) {
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
		r.samples, r.err = slices.DeleteFunc(samples, func(s workload.Sample) bool { return !containers[s.Container] }), err
	}()
}

// takeOver passes a read history to the learner.
func (l *Actuator) takeOver(x *subject, r *recall, now time.Time) {
	var nothing *measure.Nothing
	if errors.As(r.err, &nothing) && (nothing.Pods || r.gap) {
		r.err = nil // there is nothing to read, because the target is new or slept
	}
	if r.err != nil {
		x.recalled.pause = min(max(2*x.recalled.pause, retryRecall), retryAtMost)
		x.recalled.after, x.recalled.failure = l.pods.Now().Add(x.recalled.pause), "the recorded samples cannot be read: "+r.err.Error()
		return
	}
	x.recalled.after, x.recalled.pause, x.recalled.failure = time.Time{}, 0, ""
	if len(r.samples) == 0 { // no samples: another read at once would find none either
		x.recalled.after = l.pods.Now().Add(retryRecall)
	}
	first, newest := x.learner.HistoryRange()
	if r.gap {
		x.learner.Observe(slices.DeleteFunc(r.samples, func(s workload.Sample) bool { return !s.At.After(newest) })...)
		return
	}
	x.recalled.at = now
	x.recalled.note = fmt.Sprintf("Prometheus at %s has nothing that is older", l.opts.Recorder.Host())
	if n := len(r.samples); n > 0 && (first.IsZero() || r.samples[0].At.Before(first)) {
		x.learner.Backfill(r.samples)
		x.recalled.note = fmt.Sprintf("Prometheus at %s had %s from %s on", l.opts.Recorder.Host(), workload.Count(n, "sample"),
			r.samples[0].At.Format(time.RFC3339))
	}
}

// reportRecall reports that the history of a target is being read.
func (l *Actuator) reportRecall(ctx context.Context, ref workload.Ref, p *world.Policy, x *subject) {
	r := x.recalled.running
	before := x.found.Report
	if before.Phase != "" || r == nil {
		return // the earlier numbers stay
	}
	x.found.Report = v1alpha1.RecommendationStatus{Phase: "Initializing", PhaseReason: "what Prometheus at " + l.opts.Recorder.Host() +
		" has recorded is being read"}
	if parts := r.parts.Load(); parts > 0 {
		x.found.Report.PhaseReason += fmt.Sprintf(": part %d of %d", min(r.part.Load()+1, parts), parts)
	}
	l.report(ctx, ref, p, x)
	x.found.Report = before
}

// troubles returns the faults of a target, joined.
func (x *subject) troubles() string {
	var all []string
	for _, text := range []string{x.found.Trouble, x.recalled.failure, x.unmade} {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}
