package rollout

import (
	"maps"
	"slices"
	"sync"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Longest is the longest time for which a roll-out keeps its place. A longer roll-out is reported as late, and
// others go on.
const Longest = 10 * time.Minute

// Need is the urgency of a target's roll-out: a shortage of memory comes first, then the longest wait.
type Need struct {
	Memory bool
	Since  time.Time
}

// Turn identifies a place: a target and its way of restarting pods. InPlace is false for a roll-out of the
// template, and true for restarts of containers by changes of pods in place.
type Turn struct {
	workload.Ref
	InPlace bool
}

// Places limit the targets of a policy that restart pods at once. A target needs one place for both ways of
// restarting. It keeps the place until it has settled, at most for Longest. No caller sleeps: a refused target is
// queued again once a place is free.
type Places struct {
	// again queues targets. It is called without the lock.
	again func(refs ...workload.Ref)

	mu      sync.Mutex
	running map[Turn]rollout
	waiting map[Turn]waiter
	// resumed are the policies with known roll-outs of an earlier run.
	resumed map[workload.Policy]bool
}

type rollout struct {
	by workload.Policy
	// from is the version of the object before its write. An object with this version shows nothing of the roll-out yet.
	// Empty: every version shows the roll-out.
	from  string
	since time.Time
	late  bool
}

type waiter struct {
	by    workload.Policy
	need  Need
	limit int
	// asked is true if the target has asked for a place since the last call of Record.
	asked bool
}

// NewPlaces returns Places without a roll-out. again queues targets.
func NewPlaces(again func(refs ...workload.Ref)) *Places {
	return &Places{again: again, running: map[Turn]rollout{}, waiting: map[Turn]waiter{}, resumed: map[workload.Policy]bool{}}
}

// Resume restores the roll-outs of an earlier run, once for a policy. unsettled returns the policy's targets that have
// not settled.
func (r *Places) Resume(id workload.Policy, now time.Time, unsettled func() []Turn) {
	r.mu.Lock()
	known := r.resumed[id]
	r.mu.Unlock()
	if known {
		return
	}
	turns := unsettled()
	r.mu.Lock()
	if !r.resumed[id] {
		r.resumed[id] = true
		for _, t := range turns {
			if _, known := r.running[t]; !known {
				r.running[t] = rollout{by: id, since: now}
			}
		}
	}
	r.mu.Unlock()
	r.ask(turns) // they may have settled meanwhile
}

// ask queues the targets of turns for a new decision.
func (r *Places) ask(turns []Turn) {
	refs := make([]workload.Ref, 0, len(turns))
	for _, t := range turns {
		refs = append(refs, t.Ref)
	}
	if len(refs) > 0 {
		r.again(refs...)
	}
}

// Take reserves one of a policy's places for a target with its object in a version. If ok is false, the target is
// queued again when a place is free. took is false if the target has a place already, from an earlier write that may
// not be visible yet.
func (r *Places) Take(id workload.Policy, t Turn, version string, need Need, limit int, now time.Time) (took, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, runs := r.running[t]; runs && !x.late {
		return false, true
	}
	mine := waiter{by: id, need: need, limit: limit, asked: true}
	before := 0
	for other, w := range r.waiting {
		if other.Ref != t.Ref && w.by == id && precedes(other, w, t, mine) {
			before++
		}
	}
	disrupted := r.disrupted(id)
	if _, already := disrupted[t.Ref]; !already && limit-len(disrupted) <= before {
		r.waiting[t] = mine
		return false, false
	}
	delete(r.waiting, t)
	r.running[t] = rollout{by: id, from: version, since: now}
	return true, true
}

// disrupted returns the targets of a policy with a place.
func (r *Places) disrupted(id workload.Policy) map[workload.Ref]struct{} {
	refs := map[workload.Ref]struct{}{}
	for t, x := range r.running {
		if x.by == id && !x.late {
			refs[t.Ref] = struct{}{}
		}
	}
	return refs
}

func precedes(a Turn, x waiter, b Turn, y waiter) bool {
	if x.need.Memory != y.need.Memory {
		return x.need.Memory
	}
	if !x.need.Since.Equal(y.need.Since) {
		return x.need.Since.Before(y.need.Since)
	}
	if a.Ref != b.Ref {
		return a.Compare(b.Ref) < 0
	}
	return !a.InPlace && b.InPlace
}

// Record records the state of a target. settled is called only if the target has a place, and the version shows its write.
func (r *Places) Record(t Turn, version string, settled func() bool, now time.Time) {
	r.mu.Lock()
	if w, waits := r.waiting[t]; waits {
		w.asked = false
		r.waiting[t] = w
	}
	x, runs := r.running[t]
	late := now.Sub(x.since) >= Longest
	switch {
	case !runs || x.from != "" && version == x.from:
		r.mu.Unlock()
		return
	case settled():
		delete(r.running, t)
	case !late || x.late:
		r.mu.Unlock()
		return
	default:
		x.late = true
		r.running[t] = x
	}
	r.mu.Unlock()
	r.call(x.by)
}

// turnsOf returns all turns that a target can need.
func turnsOf(ref workload.Ref) []Turn { return []Turn{{Ref: ref}, {Ref: ref, InPlace: true}} }

// Late reports whether a target has been restarting pods for too long, and for which policy.
func (r *Places) Late(ref workload.Ref) (by workload.Policy, late bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range turnsOf(ref) {
		if x := r.running[t]; x.late {
			return x.by, true
		}
	}
	return by, false
}

// EndWait is called after Record, once the target was handled. If the target has not asked for a place in between, it no
// longer waits.
func (r *Places) EndWait(t Turn) {
	r.mu.Lock()
	w, waits := r.waiting[t]
	if !waits || w.asked {
		r.mu.Unlock()
		return
	}
	delete(r.waiting, t)
	r.mu.Unlock()
	r.call(w.by)
}

// Return frees the place of a target whose write did not happen, or that no longer needs a place.
func (r *Places) Return(t Turn) {
	r.mu.Lock()
	x, runs := r.running[t]
	w, waits := r.waiting[t]
	delete(r.running, t)
	delete(r.waiting, t)
	r.mu.Unlock()
	if runs {
		r.call(x.by)
	}
	if waits {
		r.call(w.by)
	}
}

// call queues the next waiting targets if places are free.
func (r *Places) call(id workload.Policy) {
	r.mu.Lock()
	next := slices.Collect(maps.Keys(r.waiting))
	next = slices.DeleteFunc(next, func(t Turn) bool { return r.waiting[t].by != id })
	slices.SortFunc(next, func(a, b Turn) int {
		if precedes(a, r.waiting[a], b, r.waiting[b]) {
			return -1
		}
		return 1
	})
	if len(next) > 0 {
		next = next[:min(len(next), max(r.waiting[next[0]].limit-len(r.disrupted(id)), 0))]
	}
	r.mu.Unlock()
	r.ask(next)
}

// Deadline returns the time from which a target's roll-out is late; zero: it has none.
func (r *Places) Deadline(ref workload.Ref) (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range turnsOf(ref) {
		if x, runs := r.running[t]; runs && !x.late && (at.IsZero() || x.since.Add(Longest).Before(at)) {
			at = x.since.Add(Longest)
		}
	}
	return at
}

// Waits reports whether a target waits for a place.
func (r *Places) Waits(t Turn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, waits := r.waiting[t]
	return waits
}

// Forget drops a policy that is gone.
func (r *Places) Forget(id workload.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.resumed, id)
	maps.DeleteFunc(r.running, func(_ Turn, x rollout) bool { return x.by == id })
	maps.DeleteFunc(r.waiting, func(_ Turn, w waiter) bool { return w.by == id })
}

// Counts returns the number of a policy's targets that restart pods, wait for a place, and are late.
func (r *Places) Counts(id workload.Policy) (running, waiting, late int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	overdue, awaited := map[workload.Ref]struct{}{}, map[workload.Ref]struct{}{}
	for t, x := range r.running {
		if x.by == id && x.late {
			overdue[t.Ref] = struct{}{}
		}
	}
	for t, w := range r.waiting {
		if w.by == id {
			awaited[t.Ref] = struct{}{}
		}
	}
	return len(r.disrupted(id)), len(awaited), len(overdue)
}
