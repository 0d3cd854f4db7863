package decide

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Waits keeps, for every policy with an order, the targets that are still to change and the wave that they wait for. Everything in it can
// be found again from the objects, except for the instant since when they wait, which is in the policy's status. The zero Waits is empty.
//
// A target that waits is decided again if the object changes that was found unfinished. One target stands for all: the others follow once
// it waits no longer.
type Waits struct {
	rooms map[waitKey]*room
}

type waitKey struct {
	policy    workload.Policy
	direction workload.Direction
}

// room has the targets of a policy that are still to change in a direction.
type room struct {
	Standing
	// members are true if they wait for the order.
	members map[workload.Ref]bool
	// hold is what the member said that was decided last.
	hold Hold
}

// Standing implements Standings.
func (w *Waits) Standing(id workload.Policy, d workload.Direction) Standing {
	if r := w.rooms[waitKey{id, d}]; r != nil {
		return r.Standing
	}
	return Standing{}
}

// Resume takes over a standing from the status of a policy. A standing that is known already stays.
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

// Looked takes the verdict about a target, and returns the targets to be decided again.
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

// Gone takes a target that is not there any more, and returns the targets to be decided again.
func (w *Waits) Gone(ref workload.Ref) []workload.Ref { return w.look(ref, nil, false) }

// enter has a target in a room, with the wave that it waits for; nil: none.
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
		again = append(again, hold.Last) // it may have changed since it was looked at
	}
	switch {
	case r.isOver(hold.Edge, now, hold.Waves) || r.isBefore(hold):
		r.Standing = Standing{Place: hold.Place, Since: now}
	case r.Place != hold.Place:
		return again // the verdict is older than the standing, which has the target decided again
	}
	r.Last, r.Rest, r.hold = hold.Last, hold.Rest, *hold
	r.hold.Standing = r.Standing
	return again
}

// pass has the wave of a target that waits for none be the open one: no other target looks at the waves before it again.
func (w *Waits) pass(own *Hold, now time.Time) {
	r := w.rooms[waitKey{own.Policy, own.Direction}]
	if r != nil && (r.isOver(own.Edge, now, own.Waves) || r.isBefore(own)) {
		r.Standing = Standing{Place: own.Place, Since: now}
	}
}

// isBefore reports whether the wave of a hold comes after the wave waited for so far.
func (r *room) isBefore(hold *Hold) bool {
	if hold.Direction == workload.DirectionUp {
		return r.Place < hold.Place
	}
	return r.Place > hold.Place
}

// look has a target leave every room in which it is not moving, and returns the targets that may have waited for it. They still do if it
// waits itself: two orders may contradict each other.
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

// release returns all members that wait.
func (r *room) release() (all []workload.Ref) {
	for ref, waits := range r.members {
		if waits {
			all = append(all, ref)
			r.members[ref] = false
		}
	}
	return all
}

// one returns one member that waits, the first by name; empty: none waits.
func (r *room) one() (first []workload.Ref) {
	for ref, waits := range r.members {
		if waits && (len(first) == 0 || ref.Compare(first[0]) < 0) {
			first = []workload.Ref{ref}
		}
	}
	return first
}

// Forget drops a policy.
func (w *Waits) Forget(id workload.Policy) {
	delete(w.rooms, waitKey{id, workload.DirectionDown})
	delete(w.rooms, waitKey{id, workload.DirectionUp})
}

// Open returns the wave that targets of a policy wait for, and how many do; zero: none.
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
