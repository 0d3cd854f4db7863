package target

import (
	"fmt"
	"maps"
	"math/rand/v2"
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
// others wait. When it goes through, more are let through, twice as many each time, until one is refused again.
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
	// size is the number of targets.
	size int
	// untried are those that wait without having been tried, and come first; waiting are the others, the next one first. Both may
	// hold some that have left.
	untried, waiting []*waiting
	// trying is how many have been let through and are not back yet.
	trying int
	// width is how many more are let through when one goes through.
	width int
	// pause is the pause before the next probe.
	pause time.Duration
	// round counts the probes that went through. Who has been refused in this round waits for the next one.
	round int
	// epoch counts the writes that went through on the kind for the policy; distinct is the number of targets that were refused
	// in this epoch for the first time, and why is what the last one was told.
	epoch, distinct int
	why             string
}

// waiting is one target that meets an obstacle.
type waiting struct {
	ref   workload.Ref
	group *refused
	// sum tells apart what is to be written. Another change may be accepted.
	sum uint64
	why string
	// let says that the target is let through for one try; probe that it is the one that finds out for the others.
	let, probe bool
	// left is true once the target has nothing to do with the group any more.
	left bool
	// round is the one in which the target was refused last, epoch the one in which it was refused first.
	round, epoch int
}

// never is the epoch of a target that was not tried.
const never = -1

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
		return "", false
	case w.let:
		return "", false
	}
	return w.why, true
}

// joinTripped has a target that was not tried yet wait where very many others were refused and none went through.
func (r *refusals) joinTripped(ref workload.Ref, o obstacle, sum uint64) (why string, waits bool) {
	for _, g := range r.groups {
		if g.stands(o) && g.distinct >= trippedAfter {
			w := &waiting{ref: ref, group: g, sum: sum, epoch: never, why: fmt.Sprintf("not tried yet, since %d others were refused: %s", g.distinct, g.why)}
			r.join(w)
			g.untried = append(g.untried, w)
			return w.why, true
		}
	}
	return "", false
}

// stands says whether the obstacle is in the way of writes like one.
func (g *refused) stands(o obstacle) bool {
	return g.obstacle.policy == o.policy && g.obstacle.kind == o.kind
}

// Add takes note of a write that was refused or failed, and sees to it that it is tried again.
func (r *refusals) Add(ref workload.Ref, o obstacle, sum uint64, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[o]
	if g == nil {
		g = &refused{obstacle: o}
		r.groups[o] = g
	}
	w := &waiting{ref: ref, group: g, sum: sum, why: why, round: g.round, epoch: never}
	switch old := r.targets[ref]; {
	case old == nil:
	case old.group == g:
		w.epoch = old.epoch
		r.leave(old)
	default:
		r.remove(old)
	}
	if w.epoch == never {
		w.epoch = g.epoch
	}
	r.join(w)
	g.waiting = append(g.waiting, w)
	g.why, g.width = why, 1
	r.probe(g)
}

// probe lets the next target through after a pause, unless some are under way.
func (r *refusals) probe(g *refused) {
	if g.trying > 0 {
		return
	}
	next := g.takeNext(true)
	if next == nil {
		return
	}
	g.pause = min(max(2*g.pause, r.shortest), r.longest)
	pause := g.pause - rand.N(g.pause/5+1)
	if turn := r.limiter.Reserve(); turn.OK() {
		pause = max(pause, turn.Delay())
	}
	next.probe = true
	r.let(next, pause)
}

// takeNext takes the next target out of those that wait; nil: there is none. Unless all of them may come, those that were refused in
// this round may not.
func (g *refused) takeNext(all bool) *waiting {
	for len(g.untried) > 0 {
		w := g.untried[0]
		g.untried = g.untried[1:]
		if !w.left {
			return w
		}
	}
	for len(g.waiting) > 0 {
		w := g.waiting[0]
		if !w.left && !all && w.round == g.round {
			return nil
		}
		g.waiting = g.waiting[1:]
		if !w.left {
			return w
		}
	}
	return nil
}

// let lets a target through after a pause.
func (r *refusals) let(w *waiting, pause time.Duration) {
	w.let = true
	w.group.trying++
	r.queueAfter(w.ref, pause)
}

// Passed takes note of a write that was not refused.
func (r *refusals) Passed(ref workload.Ref, o obstacle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.groups {
		if g.stands(o) {
			g.epoch++
			g.distinct = 0
		}
	}
	w := r.targets[ref]
	if w == nil {
		return
	}
	r.leave(w)
	if w.group.stands(o) {
		r.widen(w.group, w.probe)
	}
	r.passOn(w.group)
}

// widen lets more targets through, since one went through. After a probe that may be any of them.
func (r *refusals) widen(g *refused, probed bool) {
	g.pause = 0
	if probed {
		g.round++
	}
	g.width = min(2*max(g.width, 1), 1024)
	for range g.width {
		next := g.takeNext(false)
		if next == nil {
			return
		}
		r.let(next, 0)
	}
}

// Forget drops a target that is gone, or has nothing to be written any more.
func (r *refusals) Forget(ref workload.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.targets[ref]; w != nil {
		r.remove(w)
	}
}

// ForgetKind drops every target of a kind.
func (r *refusals) ForgetKind(gk schema.GroupKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.groups, func(o obstacle, _ *refused) bool { return o.kind == gk })
	maps.DeleteFunc(r.targets, func(ref workload.Ref, _ *waiting) bool { return ref.GroupKind == gk })
}

// join counts a target in its group.
func (r *refusals) join(w *waiting) {
	r.targets[w.ref] = w
	w.group.size++
	if w.epoch == w.group.epoch {
		w.group.distinct++
	}
}

// leave counts a target out of its group.
func (r *refusals) leave(w *waiting) {
	delete(r.targets, w.ref)
	w.left = true
	w.group.size--
	if w.epoch == w.group.epoch {
		w.group.distinct--
	}
	if w.let {
		w.group.trying--
	}
}

// remove takes a target out of its group. The turn passes on, if it was its.
func (r *refusals) remove(w *waiting) {
	r.leave(w)
	r.passOn(w.group)
}

// passOn sees to it that a target of the group is under way. A group that is empty goes.
func (r *refusals) passOn(g *refused) {
	if g.size == 0 {
		delete(r.groups, g.obstacle)
		return
	}
	r.probe(g)
}
