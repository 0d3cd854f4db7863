package decide

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Waits has, for every policy with an order, the targets that still have to change and the wave for which they wait. A
// new manager finds both again from the objects, and the instant from which targets wait in the policy's status. The
// zero Waits is empty.
//
// If the unfinished object changes, one of the waiting targets is decided again. The other targets are decided again
// when this target need not wait any more.
type Waits struct {
	rooms map[waitKey]*room
}

type waitKey struct {
	policy    workload.Policy
	direction workload.Direction
}

// room has the targets of a policy that still have to change in one direction, and the wave for which they wait.
type room struct {
	Standing
	// members has the targets. The value is true if the target waits for the order.
	members map[workload.Ref]bool
	// hold is the Hold of the last decided target among the waiting targets.
	hold Hold
}

// Standing implements Standings.
func (w *Waits) Standing(id workload.Policy, d workload.Direction) Standing {
	if r := w.rooms[waitKey{id, d}]; r != nil {
		return r.Standing
	}
	return Standing{}
}

// Resume sets the standing from the status of a policy, unless a standing is known already.
func (w *Waits) Resume(id workload.Policy, d workload.Direction, at Standing) {
	if key := (waitKey{id, d}); w.rooms[key] == nil {
		w.room(key).Standing = at
	}
}

func (w *Waits) room(key waitKey) *room {
	if w.rooms == nil {
		w.rooms = map[waitKey]*room{}
	}
	if w.rooms[key] == nil {
		w.rooms[key] = &room{members: map[workload.Ref]bool{}}
	}
	return w.rooms[key]
}

// Looked records the verdict about a target, and returns the targets that must be decided again.
func (w *Waits) Looked(ref workload.Ref, v *Verdict, now time.Time) (again []workload.Ref) {
	moving := map[waitKey]bool{}
	if v.Err == nil && v.Result.Patch != nil {
		for i := range v.Opinions {
			if o := &v.Opinions[i]; o.Policy.Order != nil && o.moves(v.Result.Direction) {
				moving[waitKey{o.Policy.ID, v.Result.Direction}] = true
			}
		}
	}
	for key := range moving {
		again = append(again, w.enter(key, ref, v.Gate.Order, now)...)
	}
	for _, own := range v.Passed {
		w.pass(own, now)
	}
	again = append(again, w.look(ref, moving, v.Gate.Kind == GateOrder)...)
	slices.SortFunc(again, workload.Ref.Compare)
	return slices.Compact(again)
}

// Gone removes a target that does not exist any more, and returns the targets that must be decided again.
func (w *Waits) Gone(ref workload.Ref) []workload.Ref { return w.look(ref, nil, false) }

// enter adds a target to a room, with the wave for which it waits. hold is nil if the target does not wait.
func (w *Waits) enter(key waitKey, ref workload.Ref, hold *Hold, now time.Time) (again []workload.Ref) {
	r := w.room(key)
	waited := r.members[ref]
	waits := hold != nil && hold.Policy == key.policy
	r.members[ref] = waits
	if !waits {
		if waited {
			again = r.release()
		}
		return again
	}
	if !waited || r.Last != hold.Last {
		again = append(again, hold.Last) // this object may have changed since the verdict
	}
	switch {
	case r.isOver(hold.Transition, now, hold.Waves) || r.isBefore(hold):
		r.Standing = Standing{Place: hold.Place, Since: now}
	case r.Place != hold.Place:
		return again // the verdict is older than the standing, and the target will be decided again
	}
	r.Last, r.Rest, r.hold = hold.Last, hold.Rest, *hold
	r.hold.Standing = r.Standing
	return again
}

// pass makes the wave of a target that need not wait the open wave. So other targets do not look at earlier waves
// again.
func (w *Waits) pass(own *Hold, now time.Time) {
	r := w.rooms[waitKey{own.Policy, own.Direction}]
	if r != nil && (r.isOver(own.Transition, now, own.Waves) || r.isBefore(own)) {
		r.Standing = Standing{Place: own.Place, Since: now}
	}
}

// isBefore reports whether the current wave of the room comes before the wave of a hold.
func (r *room) isBefore(hold *Hold) bool {
	if hold.Direction == workload.DirectionUp {
		return r.Place < hold.Place
	}
	return r.Place > hold.Place
}

// look removes a target from every room in which it need not change any more. It returns the targets that may have
// waited for it. If the target itself waits for an order, they continue to wait, because two orders may contradict
// each other.
func (w *Waits) look(ref workload.Ref, moving map[waitKey]bool, waits bool) (again []workload.Ref) {
	for key, r := range w.rooms {
		waited, in := r.members[ref]
		if in && !moving[key] {
			delete(r.members, ref)
			if waited {
				again = append(again, r.release()...)
			}
			if len(r.members) == 0 {
				delete(w.rooms, key)
			}
		}
		if r.Last == ref && (!waits || !moving[key]) {
			again = append(again, r.one()...)
		}
	}
	return again
}

// release returns all members that wait, and marks them as not waiting.
func (r *room) release() (all []workload.Ref) {
	for ref, waits := range r.members {
		if waits {
			all = append(all, ref)
			r.members[ref] = false
		}
	}
	return all
}

// one returns the first waiting member by name, or an empty list if no member waits.
func (r *room) one() (first []workload.Ref) {
	for ref, waits := range r.members {
		if waits && (len(first) == 0 || ref.Compare(first[0]) < 0) {
			first = []workload.Ref{ref}
		}
	}
	return first
}

// Forget drops everything about a policy.
func (w *Waits) Forget(id workload.Policy) {
	delete(w.rooms, waitKey{id, workload.DirectionDown})
	delete(w.rooms, waitKey{id, workload.DirectionUp})
}

// Open returns the wave for which targets of a policy wait, and the number of these targets. It returns zero values
// if no target waits.
func (w *Waits) Open(id workload.Policy) (hold Hold, waiting int) {
	for _, d := range []workload.Direction{workload.DirectionUp, workload.DirectionDown} {
		r := w.rooms[waitKey{id, d}]
		if r == nil {
			continue
		}
		n := 0
		for _, waits := range r.members {
			if waits {
				n++
			}
		}
		if n > 0 {
			return r.hold, n
		}
	}
	return Hold{}, 0
}
