package target

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// obstacle is what stands in the way of writes: a reason for which writes on one kind for one policy are refused, or fail.
type obstacle struct {
	policy workload.Policy
	kind   schema.GroupKind
	// reason is what kind of answer the API server gives.
	reason string
}

const (
	// probesPerSecond bounds how often it is tried, over all obstacles, whether they are gone.
	probesPerSecond = 10
	// trippedAfter is the number of refusals in a row after which targets that were not tried yet wait as well.
	trippedAfter = 50
)

// refusals has the targets that meet one obstacle share one probe: one of them is tried again after growing pauses, and the
// others wait. When one goes through, more are let through, twice as many each time, until one is refused again.
type refusals struct {
	shortest, longest time.Duration
	// queueAfter has a target worked on after a pause.
	queueAfter func(workload.Ref, time.Duration)
	limiter    *rate.Limiter

	mu      sync.Mutex
	groups  map[obstacle]*refused
	targets map[workload.Ref]*waiting
}

// refused are the targets that meet one obstacle.
type refused struct {
	obstacle obstacle
	// waiting are those that are not let through now, the next one first.
	waiting []*waiting
	// trying is how many have been let through and are not back yet.
	trying int
	// width is how many more are let through when one goes through.
	width int
	// pause is the pause before the next probe.
	pause time.Duration
	// inRow counts refusals with no success in between; why is what the last one said.
	inRow int
	why   string
}

// waiting is one target that meets an obstacle.
type waiting struct {
	ref   workload.Ref
	group *refused
	// sum tells apart what is to be written. Another change may be accepted.
	sum uint64
	why string
	// let says that the target is let through for one try.
	let bool
}

func newRefusals(shortest, longest time.Duration, queueAfter func(workload.Ref, time.Duration)) *refusals {
	return &refusals{
		shortest: shortest, longest: longest, queueAfter: queueAfter, limiter: rate.NewLimiter(probesPerSecond, probesPerSecond),
		groups: map[obstacle]*refused{}, targets: map[workload.Ref]*waiting{},
	}
}

// Waits says whether a write has to wait for others to find out that an obstacle is gone, and why. o needs no reason.
func (r *refusals) Waits(ref workload.Ref, o obstacle, sum uint64) (why string, waits bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.targets[ref]
	switch {
	case w == nil:
		return r.joinTripped(ref, o, sum)
	case w.group.obstacle.policy != o.policy || w.sum != sum:
		r.remove(w) // another change: it may be accepted
		r.probe(w.group)
		return "", false
	case w.let:
		return "", false
	}
	return w.why, true
}

// joinTripped has a target that was not tried yet wait where very many others were refused and none went through.
func (r *refusals) joinTripped(ref workload.Ref, o obstacle, sum uint64) (why string, waits bool) {
	for _, g := range r.groups {
		if g.obstacle.policy == o.policy && g.obstacle.kind == o.kind && g.inRow >= trippedAfter {
			w := &waiting{ref: ref, group: g, sum: sum, why: fmt.Sprintf("not tried yet, since %d others were refused: %s", g.inRow, g.why)}
			r.targets[ref] = w
			g.waiting = append(g.waiting, w)
			return w.why, true
		}
	}
	return "", false
}

// Add takes note of a write that was refused or failed, and sees to it that it is tried again.
func (r *refusals) Add(ref workload.Ref, o obstacle, sum uint64, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[o]
	if w := r.targets[ref]; w != nil {
		if w.group != g {
			r.remove(w)
		} else {
			r.back(w)
			g.waiting = slices.DeleteFunc(g.waiting, func(other *waiting) bool { return other == w })
		}
	}
	if g == nil {
		g = &refused{obstacle: o}
		r.groups[o] = g
	}
	w := &waiting{ref: ref, group: g, sum: sum, why: why}
	r.targets[ref] = w
	g.waiting = append(g.waiting, w)
	g.inRow++
	g.why, g.width = why, 1
	r.probe(g)
}

// probe lets the next target through after a pause, unless some are under way. It changes the group.
func (r *refusals) probe(g *refused) {
	if g.trying > 0 || len(g.waiting) == 0 {
		return
	}
	g.pause = min(max(2*g.pause, r.shortest), r.longest)
	if g.inRow <= 1 {
		g.pause = r.shortest
	}
	pause := g.pause - rand.N(g.pause/5+1)
	if turn := r.limiter.Reserve(); turn.OK() {
		pause = max(pause, turn.Delay())
	}
	r.let(g, pause)
}

// let lets the next target through after a pause. It changes the group.
func (r *refusals) let(g *refused, pause time.Duration) {
	next := g.waiting[0]
	g.waiting = g.waiting[1:]
	next.let = true
	g.trying++
	r.queueAfter(next.ref, pause)
}

// Passed takes note of a write that was not refused.
func (r *refusals) Passed(ref workload.Ref, o obstacle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.targets[ref]
	if w == nil {
		return
	}
	g := w.group
	r.remove(w)
	if g.obstacle.policy != o.policy {
		return
	}
	g.inRow = 0
	g.width = min(2*max(g.width, 1), 1024)
	for range g.width {
		if len(g.waiting) == 0 {
			return
		}
		r.let(g, 0)
	}
}

// Forget drops a target that is gone, or has nothing to be written any more.
func (r *refusals) Forget(ref workload.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.targets[ref]; w != nil {
		r.remove(w)
		r.probe(w.group)
	}
}

// ForgetKind drops every target of a kind.
func (r *refusals) ForgetKind(gk schema.GroupKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.groups, func(o obstacle, _ *refused) bool { return o.kind == gk })
	maps.DeleteFunc(r.targets, func(ref workload.Ref, _ *waiting) bool { return ref.GroupKind == gk })
}

// back takes a target that was let through back.
func (r *refusals) back(w *waiting) {
	if w.let {
		w.let = false
		w.group.trying--
	}
}

// remove takes a target out of its group, and drops a group that is empty.
func (r *refusals) remove(w *waiting) {
	r.back(w)
	delete(r.targets, w.ref)
	g := w.group
	g.waiting = slices.DeleteFunc(g.waiting, func(other *waiting) bool { return other == w })
	if len(g.waiting) == 0 && g.trying == 0 {
		delete(r.groups, g.obstacle)
	}
}
