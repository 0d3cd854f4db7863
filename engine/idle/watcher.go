package idle

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// mostSeries is the largest number of series of an answer.
const mostSeries = 100_000

// watcher asks for the demand of one policy.
type watcher struct {
	*Monitor
	id    workload.Policy
	rule  *demand.Rule
	query *demand.Query
	// server answers.
	server Server
	// uses is the present knowledge.
	uses world.Uses
	// answered is the instant of the last answer.
	answered time.Time
	// The history from begin to end is still to be read, the newest part first.
	begin, end time.Time
	// unread is the fault of reading the history.
	unread fault
}

func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(w.rule.Interval)
	defer tick.Stop()
	for {
		w.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round asks for the present demand, and reads a part of the history if some is needed. A panic fails only this round.
func (w *watcher) round(ctx context.Context) {
	defer func() {
		if r := recover(); r != nil {
			w.opts.Fault()
			w.opts.Log.Error(fmt.Errorf("panic: %v", r), "Failed to ask for a demand because of a fault in Flyball; will retry",
				"policy", w.id.String(), "stack", string(debug.Stack()))
			w.setFault(w.id, fault{"DemandFailed", fmt.Sprintf("a fault in Flyball, please report it: %v", r)})
		}
	}()
	a, now, err := w.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.setFault(w.id, fault{"DemandFailed", w.server.Failed("demand", w.rule.Text, err).Error()})
		return
	}
	if now.Sub(w.answered) > w.rule.Fresh() {
		w.end = w.rule.Whole(now)
		w.begin = w.end.Add(-w.rule.AsleepAfter - 2*w.step())
	}
	w.answered = now
	named := w.take(now, a)
	w.recall(ctx)
	switch stale := a.Stale(); {
	case ctx.Err() != nil:
	case stale != "":
		w.setFault(w.id, fault{"DemandUnanswered", stale})
	case !named:
		w.setFault(w.id, fault{"DemandNamesNoTarget", a.Unnamed()})
	default:
		w.setFault(w.id, w.unread)
	}
}

// turn waits until few enough queries are under way. A long wait is a fault of the policy.
func (w *watcher) turn(ctx context.Context) (end func()) {
	if w.rule.Namespace == "" {
		return w.enter(ctx, w.turns)
	}
	w.mu.Lock()
	own := w.own[w.rule.Namespace]
	if own == nil {
		own = make(chan struct{}, 1)
		w.own[w.rule.Namespace] = own
	}
	w.mu.Unlock()
	leaveOwn := w.enter(ctx, own)
	leaveAll := w.enter(ctx, w.tenants)
	return func() {
		leaveAll()
		leaveOwn()
	}
}

// enter puts a value into a channel, and returns a function that takes it back.
func (w *watcher) enter(ctx context.Context, turns chan struct{}) (leave func()) {
	late := time.NewTimer(w.rule.Fresh())
	defer late.Stop()
	for {
		select {
		case turns <- struct{}{}:
			return func() { <-turns }
		case <-ctx.Done():
			return func() {}
		case <-late.C:
			w.setFault(w.id, fault{"DemandUnanswered", "the query waits for those of other policies to end"})
		}
	}
}

// ask returns the present demand, and the instant of the answer by the server's clock. This clock alone measures the time without use.
func (w *watcher) ask(ctx context.Context) (a *demand.Reading, now time.Time, err error) {
	defer w.turn(ctx)()
	begin := w.opts.Clock.Now()
	found, warnings, err := w.server.Now(ctx, w.query.Now, time.Time{})
	now, end := begin, w.opts.Clock.Now()
	if len(found) > 0 {
		now = found[0].Timestamp.Time()
	}
	switch off := max(begin.Sub(now), now.Sub(end)); {
	case err != nil:
	case len(warnings) > 0:
		err = partial(warnings)
	case len(found) > mostSeries:
		err = fmt.Errorf("the answer has %d series, and at most %d are read", len(found), mostSeries)
	case off > w.rule.Interval:
		err = fmt.Errorf("its clock differs by %s from Flyball's, which is more than spec.idle.interval", off.Round(time.Second))
	}
	return w.query.Read(found), now, err
}

func partial(warnings []string) error {
	return fmt.Errorf("the answer may be incomplete: %s", strings.Join(warnings, "; "))
}

// take adds an answer to the knowledge of each target. It reports whether the answer names any target.
func (w *watcher) take(now time.Time, a *demand.Reading) (named bool) {
	s := w.opts.World.Snapshot()
	p := s.Find(w.id)
	if p == nil {
		return true
	}
	next := world.Uses{}
	var news []workload.Ref
	if w.rule.AbsentIdle {
		for _, k := range s.Kinds() {
			s.EachSelected(p, k, a.See)
		}
	}
	for _, k := range s.Kinds() {
		s.EachSelected(p, k, func(ref workload.Ref) {
			obj := s.Object(ref)
			if obj == nil {
				return
			}
			before := w.uses[ref]
			if before == nil || before.UID != obj.UID {
				before = &workload.Use{UID: obj.UID}
			}
			v := a.Of(ref)
			u := demand.Observe(*before, now, 0, v, w.rule.Fresh())
			u.Doubt, next[ref] = v.Doubt(), &u
			named = named || v != demand.Missing
			if w.isNews(before, &u, now) {
				news = append(news, ref)
			}
		})
	}
	w.publish(next, news)
	return named || len(next) == 0
}

// isNews reports whether a decision is due at once. A decision itself asks for the next one at the end of a time.
func (w *watcher) isNews(before, u *workload.Use, now time.Time) bool {
	used := u.Last.Equal(now) && now.Sub(before.Last) >= w.rule.AwakeAtLeast
	return used || before.Doubt != u.Doubt || now.Sub(before.Seen) > w.rule.Fresh()
}

func (w *watcher) publish(next world.Uses, news []workload.Ref) {
	w.uses = next
	w.opts.World.SetUses(w.id, w.rule, next)
	if len(news) > 0 {
		w.opts.Requeue(news...)
	}
}

// steps is the number of steps of a part of the history. longest is the longest part, unless the interval is long.
const steps, longest = 60, time.Hour

// step returns the length of a step of the history, a multiple of the interval.
func (w *watcher) step() time.Duration {
	return w.rule.Interval * max(1, min(w.rule.AsleepAfter, longest)/(steps*w.rule.Interval))
}

// suffices reports whether every target is known to have been quiet for long enough to sleep.
func (w *watcher) suffices() bool {
	for _, u := range w.uses {
		if u.Quiet.IsZero() || u.Seen.Sub(u.Quiet) < w.rule.AsleepAfter {
			return false
		}
	}
	return true
}

// recall reads the next part of the history. It stops where no target can have been quiet for longer, or needs to.
func (w *watcher) recall(ctx context.Context) {
	if w.suffices() {
		w.unread, w.end = fault{}, w.begin
	}
	if !w.end.After(w.begin) {
		return
	}
	defer w.turn(ctx)()
	step := w.step()
	n := min(steps, int((w.end.Sub(w.begin)+step-1)/step))
	first := w.end.Add(-time.Duration(n-1) * step)
	query := w.query.Past(step)
	found, warnings, _, err := w.server.Range(ctx, query, promapi.Range{Start: first, End: w.end, Step: step})
	if err == nil && len(warnings) > 0 {
		err = partial(warnings)
	}
	if err != nil {
		w.unread = fault{"DemandFailed", w.server.Failed("the history of the demand", w.rule.Text, err).Error()}
		return
	}
	w.unread, w.end = fault{}, first.Add(-step)
	if !w.join(w.query.ReadSteps(found, first, step, n), first, step) {
		w.end = w.begin
	}
}

// join adds a part of the history to the knowledge of each target. It reports whether an earlier part can tell more.
func (w *watcher) join(past []*demand.Reading, first time.Time, step time.Duration) (more bool) {
	next := make(world.Uses, len(w.uses))
	var news []workload.Ref
	for _, a := range past {
		for ref := range w.uses {
			a.See(ref)
		}
	}
	for ref, now := range w.uses {
		earlier := workload.Use{}
		for i, a := range past {
			earlier = demand.Observe(earlier, first.Add(time.Duration(i)*step), step, a.Of(ref), step)
		}
		u := demand.Join(earlier, *now, step)
		next[ref] = &u
		more = more || demand.Begins(u, step) && !u.Quiet.After(first)
		if u != *now {
			news = append(news, ref)
		}
	}
	w.publish(next, news)
	return more
}
