package apply

import (
	"maps"
	"slices"
	"sync"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// RolloutTime is how long a roll-out has its place at most. One that takes longer is late: others go on, and it is told of.
const RolloutTime = 10 * time.Minute

// Need says how much a target needs its roll-out: what is short of memory comes first, then what has needed it longest.
type Need struct {
	Memory bool
	Since  time.Time
}

// Rollouts lets at most so many targets of a policy roll out at once. A target has its place until it has settled, or for RolloutTime.
// Nobody sleeps: who is not let through is asked for again once there is a place.
type Rollouts struct {
	// again has targets asked for again. It is called without the lock.
	again func(refs ...workload.Ref)

	mu      sync.Mutex
	running map[workload.Ref]rollout
	waiting map[workload.Ref]waiter
	// resumed are the policies whose roll-outs of an earlier run are known.
	resumed map[workload.Policy]bool
}

type rollout struct {
	by workload.Policy
	// from is the version of the object before its write, which says nothing of the roll-out.
	from  string
	since time.Time
	late  bool
}

type waiter struct {
	by    workload.Policy
	need  Need
	limit int
	// asked says that the target has asked since it was last looked at.
	asked bool
}

// NewRollouts makes Rollouts of which none is under way. again has targets asked for again.
func NewRollouts(again func(refs ...workload.Ref)) *Rollouts {
	return &Rollouts{again: again, running: map[workload.Ref]rollout{}, waiting: map[workload.Ref]waiter{}, resumed: map[workload.Policy]bool{}}
}

// Resume takes over what an earlier run has begun, once for a policy: unsettled lists its targets that have not settled.
func (r *Rollouts) Resume(id workload.Policy, now time.Time, unsettled func() []workload.Ref) {
	r.mu.Lock()
	known := r.resumed[id]
	r.mu.Unlock()
	if known {
		return
	}
	refs := unsettled()
	r.mu.Lock()
	if !r.resumed[id] {
		r.resumed[id] = true
		for _, ref := range refs {
			if _, known := r.running[ref]; !known {
				r.running[ref] = rollout{by: id, since: now}
			}
		}
	}
	r.mu.Unlock()
	if len(refs) > 0 {
		r.again(refs...) // they may have settled meanwhile
	}
}

// Take asks for a place among the limit of a policy for a target whose object is in a version. Where it is not ok, the target is asked for
// again when there is a place. took is false where it has one already: that is of an earlier write, which may just not be seen yet.
func (r *Rollouts) Take(id workload.Policy, ref workload.Ref, version string, need Need, limit int, now time.Time) (took, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, runs := r.running[ref]; runs && !x.late {
		return false, true
	}
	mine := waiter{by: id, need: need, limit: limit, asked: true}
	before := 0
	for other, w := range r.waiting {
		if other != ref && w.by == id && precedes(other, w, ref, mine) {
			before++
		}
	}
	if r.free(id, limit) <= before {
		r.waiting[ref] = mine
		return false, false
	}
	delete(r.waiting, ref)
	r.running[ref] = rollout{by: id, from: version, since: now}
	return true, true
}

// free is how many places of a policy are left.
func (r *Rollouts) free(id workload.Policy, limit int) int {
	for _, x := range r.running {
		if x.by == id && !x.late {
			limit--
		}
	}
	return limit
}

func precedes(a workload.Ref, x waiter, b workload.Ref, y waiter) bool {
	if x.need.Memory != y.need.Memory {
		return x.need.Memory
	}
	if !x.need.Since.Equal(y.need.Since) {
		return x.need.Since.Before(y.need.Since)
	}
	return a.Compare(b) < 0
}

// Look takes note of what a target is when it is looked at. settled is called only where that matters.
func (r *Rollouts) Look(ref workload.Ref, version string, settled func() bool, now time.Time) {
	r.mu.Lock()
	if w, waits := r.waiting[ref]; waits {
		w.asked = false
		r.waiting[ref] = w
	}
	x, runs := r.running[ref]
	late := now.Sub(x.since) >= RolloutTime
	switch {
	case !runs || version == x.from:
		r.mu.Unlock()
		return
	case settled():
		delete(r.running, ref)
	case !late || x.late:
		r.mu.Unlock()
		return
	default:
		x.late = true
		r.running[ref] = x
	}
	r.mu.Unlock()
	r.call(x.by)
}

// Late says whether a target's roll-out is late, and under which policy.
func (r *Rollouts) Late(ref workload.Ref) (by workload.Policy, late bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.running[ref]
	return x.by, x.late
}

// Looked says that a target was looked at: if it has not asked for a place meanwhile, it needs none.
func (r *Rollouts) Looked(ref workload.Ref) {
	r.mu.Lock()
	w, waits := r.waiting[ref]
	if !waits || w.asked {
		r.mu.Unlock()
		return
	}
	delete(r.waiting, ref)
	r.mu.Unlock()
	r.call(w.by)
}

// Return gives back the place of a target whose write is known not to have come about, or that has gone.
func (r *Rollouts) Return(ref workload.Ref) {
	r.mu.Lock()
	x, runs := r.running[ref]
	w, waits := r.waiting[ref]
	delete(r.running, ref)
	delete(r.waiting, ref)
	r.mu.Unlock()
	if runs {
		r.call(x.by)
	}
	if waits {
		r.call(w.by)
	}
}

// call has those asked for again that come next, where there are places.
func (r *Rollouts) call(id workload.Policy) {
	r.mu.Lock()
	next := slices.Collect(maps.Keys(r.waiting))
	next = slices.DeleteFunc(next, func(ref workload.Ref) bool { return r.waiting[ref].by != id })
	slices.SortFunc(next, func(a, b workload.Ref) int {
		if precedes(a, r.waiting[a], b, r.waiting[b]) {
			return -1
		}
		return 1
	})
	if len(next) > 0 {
		next = next[:min(len(next), max(r.free(id, r.waiting[next[0]].limit), 0))]
	}
	r.mu.Unlock()
	if len(next) > 0 {
		r.again(next...)
	}
}

// Deadline is when a target's roll-out is late; zero: none is under way.
func (r *Rollouts) Deadline(ref workload.Ref) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, runs := r.running[ref]; runs && !x.late {
		return x.since.Add(RolloutTime)
	}
	return time.Time{}
}

// Waits says whether a target waits for a place.
func (r *Rollouts) Waits(ref workload.Ref) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, waits := r.waiting[ref]
	return waits
}

// Forget drops what is known of a policy that is gone.
func (r *Rollouts) Forget(id workload.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.resumed, id)
	maps.DeleteFunc(r.running, func(_ workload.Ref, x rollout) bool { return x.by == id })
	maps.DeleteFunc(r.waiting, func(_ workload.Ref, w waiter) bool { return w.by == id })
}

// Counts says how many targets of a policy roll out, wait for a place, and are late.
func (r *Rollouts) Counts(id workload.Policy) (running, waiting, late int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.running {
		switch {
		case x.by != id:
		case x.late:
			late++
		default:
			running++
		}
	}
	for _, w := range r.waiting {
		if w.by == id {
			waiting++
		}
	}
	return running, waiting, late
}
