package decide

import (
	"cmp"
	"slices"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Waits has, for every policy with an order, the targets still to change and the waves for which they wait. A
// new manager finds both again from the objects. The policy's status has the instant from which targets wait, and the
// open wave after a timeout. The zero Waits is empty.
//
// A target coming due enters a room and is decided again. The second decision looks for the first unfinished
// wave. Its result holds for a party: all targets entered before the look. A target entering later is in a
// later party and begins with the first wave, because earlier waves may have new members by then.
//
// If the unfinished object changes, one of the waiting targets of a party is decided again. The other targets are
// decided again when this target need not wait any more.
type Waits struct {
	// rooms has the room of each line, by the namespace of the line.
	rooms map[string]map[Line]*room
	// entered is the number of entries so far.
	entered uint64
}

// room has the targets of a line still to change. Targets of the first wave are not
// in it.
type room struct {
	members map[workload.Ref]member
	// parties are in the order of their looks.
	parties []*party
	// settled has the targets with nothing to change since the policy's standing was resumed from the status. It is
	// nil if no standing was resumed.
	settled map[workload.Ref]bool
}

// member is a target in a room.
type member struct {
	// entry is the number of the entry, from 1. It is 0 for a target of an earlier run.
	entry uint64
	// waits is true if the target waits for the order.
	waits bool
}

// party has the standing of all members with entries up to Seen that are in no earlier party.
type party struct {
	Standing
	// wave is the Wave of the last decided target among the waiting targets.
	wave Wave
}

// Standing implements Standings.
func (w *Waits) Standing(line Line, ref workload.Ref) Standing {
	none := Standing{Seen: w.entered}
	r := w.find(line)
	if r == nil {
		none.Entering = true
		return none
	}
	m, in := r.members[ref]
	if !in && !r.isResumed(ref) {
		none.Entering = true
		return none
	}
	if p := r.party(m.entry); p != nil {
		at := p.Standing
		at.Seen, at.Resumed, at.Entering = w.entered, !in, !in
		return at
	}
	return none
}

// Entered returns the number of targets that have come due in any order so far.
func (w *Waits) Entered() uint64 { return w.entered }

// Resume sets the standing of the targets of an earlier run from the status of a policy, unless targets are known
// already.
func (w *Waits) Resume(line Line, at Standing) {
	if w.find(line) == nil {
		r := w.room(line)
		at.Seen = 0
		r.parties, r.settled = []*party{{Standing: at}}, map[workload.Ref]bool{}
	}
}

// isResumed reports whether a target that is no member may have the standing of an earlier run.
func (r *room) isResumed(ref workload.Ref) bool { return r.settled != nil && !r.settled[ref] }

// party returns the party of the member with an entry, or nil if no look has served it.
func (r *room) party(entry uint64) *party {
	for _, p := range r.parties {
		if entry <= p.Seen {
			return p
		}
	}
	return nil
}

// find returns the room of a line, or nil if the line has none.
func (w *Waits) find(line Line) *room { return w.rooms[line.Namespace][line] }

func (w *Waits) room(line Line) *room {
	if w.rooms == nil {
		w.rooms = map[string]map[Line]*room{}
	}
	if w.rooms[line.Namespace] == nil {
		w.rooms[line.Namespace] = map[Line]*room{}
	}
	in := w.rooms[line.Namespace]
	if in[line] == nil {
		in[line] = &room{members: map[workload.Ref]member{}}
	}
	return in[line]
}

func (w *Waits) close(line Line) {
	delete(w.rooms[line.Namespace], line)
	if len(w.rooms[line.Namespace]) == 0 {
		delete(w.rooms, line.Namespace)
	}
}

// concerned yields the rooms in which an object may be a member or the unfinished object.
func (w *Waits) concerned(ref workload.Ref, yield func(Line, *room)) {
	each := func(in map[Line]*room) {
		for line, r := range in {
			yield(line, r)
		}
	}
	if ref.Namespace != "" {
		each(w.rooms[ref.Namespace])
		each(w.rooms[""])
		return
	}
	for _, in := range w.rooms {
		each(in)
	}
}

// Decided records the verdict about a target, and returns the targets to decide again.
func (w *Waits) Decided(ref workload.Ref, v *Verdict, now time.Time) (again []workload.Ref) {
	if len(w.rooms) == 0 && !v.isOrdered() {
		return nil // the common case
	}
	moving := map[Line]bool{}
	for i := range v.Opinions {
		o := &v.Opinions[i]
		if o.Policy.Order == nil {
			continue
		}
		if v.Err == nil && v.Result.Patch != nil && o.moves(v.Result.Direction) {
			moving[lineOf(o.Policy, v.Result.Direction, ref.Namespace)] = true
		}
		w.settle(ref, o.Policy, moving)
	}
	waves := v.Passed
	if v.Gate.Order != nil {
		waves = append(slices.Clone(waves), v.Gate.Order)
	}
	for _, wave := range waves {
		if moving[wave.Line] {
			again = append(again, w.enter(ref, wave, now)...)
		}
	}
	again = append(again, w.leave(ref, moving, v.Gate.Kind == GateOrder)...)
	slices.SortFunc(again, workload.Ref.Compare)
	return slices.Compact(again)
}

// isOrdered reports whether the policy of an opinion has an order.
func (v *Verdict) isOrdered() bool {
	for i := range v.Opinions {
		if v.Opinions[i].Policy.Order != nil {
			return true
		}
	}
	return false
}

// Arrived records that a new object has nothing to change for the waves of an earlier run of the manager.
func (w *Waits) Arrived(ref workload.Ref) {
	w.concerned(ref, func(_ Line, r *room) {
		if r.settled != nil {
			r.settled[ref] = true
		}
	})
}

// Gone removes a target that does not exist any more, and returns the targets to decide again.
func (w *Waits) Gone(ref workload.Ref) []workload.Ref { return w.leave(ref, nil, false) }

// settle records for rooms with a resumed standing that a target of the policy has nothing to change.
func (w *Waits) settle(ref workload.Ref, p *Policy, moving map[Line]bool) {
	for _, d := range []workload.Direction{workload.DirectionUp, workload.DirectionDown} {
		line := lineOf(p, d, ref.Namespace)
		if r := w.find(line); !moving[line] && r != nil && r.settled != nil {
			r.settled[ref] = true
		}
	}
}

// enter adds a target to a room, or brings the standing of its party up to date with a wave.
func (w *Waits) enter(ref workload.Ref, wave *Wave, now time.Time) (again []workload.Ref) {
	r := w.room(wave.Line)
	m, in := r.members[ref]
	if !in && (wave.Entering || !r.isResumed(ref)) {
		w.entered++
		m.entry = w.entered
	}
	r.members[ref] = m
	p := r.party(m.entry)
	if wave.Entering || p == nil && wave.Seen < m.entry {
		return []workload.Ref{ref} // the search was before the entry
	}
	waited, moved := m.waits, p == nil || p.isOver(wave.Transition, now, wave.Waves) || p.isBefore(wave)
	switch {
	case p == nil:
		r.tidy()
		p = &party{Standing: Standing{Seen: wave.Seen}}
		r.parties = append(r.parties, p)
	case p.isOver(wave.Transition, now, wave.Waves):
		r.settled = nil
	case p.wave.Waves == 0: // the standing of an earlier run
		p.wave, p.wave.Standing = *wave, p.Standing
	}
	if moved {
		p.stand(wave, now)
	}
	m.waits = wave.Why != ""
	if moved || waited && !m.waits {
		again = r.release(p)
	}
	r.members[ref] = m
	switch {
	case !m.waits:
		return again
	case p.Place != wave.Place:
		return []workload.Ref{ref} // the verdict is older than the standing
	case !waited || p.Last != wave.Last:
		again = append(again, wave.Last) // this object may have changed since the verdict
	}
	p.Last, p.Rest = wave.Last, wave.Rest
	p.wave, p.wave.Standing = *wave, p.Standing
	return again
}

// stand makes a wave the open wave of the party.
func (p *party) stand(wave *Wave, now time.Time) {
	p.Standing = Standing{Place: wave.Place, Since: now, Seen: p.Seen}
	p.wave, p.wave.Standing = *wave, p.Standing
}

// isBefore reports whether the current wave of the party comes before another wave.
func (p *party) isBefore(wave *Wave) bool {
	if wave.Direction == workload.DirectionUp {
		return p.Place < wave.Place
	}
	return p.Place > wave.Place
}

// leave removes a target from every room in which it need not change any more. It returns the targets that may have
// waited for it. If the target itself waits for an order, they continue to wait, because two orders may contradict
// each other.
func (w *Waits) leave(ref workload.Ref, moving map[Line]bool, waits bool) (again []workload.Ref) {
	w.concerned(ref, func(line Line, r *room) {
		m, in := r.members[ref]
		if in && !moving[line] {
			delete(r.members, ref)
			if m.waits {
				again = append(again, r.release(r.party(m.entry))...)
			}
			if len(r.members) == 0 && r.settled == nil {
				w.close(line)
			}
		}
		for _, p := range r.parties {
			if p.Last == ref && (!waits || !moving[line]) {
				again = append(again, r.one(p)...)
			}
		}
	})
	return again
}

// tidy removes the parties without members. The party of an earlier run stays, because not all of its members may be
// known.
func (r *room) tidy() {
	in := map[*party]bool{}
	for _, m := range r.members {
		in[r.party(m.entry)] = true
	}
	r.parties = slices.DeleteFunc(r.parties, func(p *party) bool { return !in[p] && p.Seen > 0 })
}

// release returns all waiting members of a party, and marks them as not waiting.
func (r *room) release(p *party) (all []workload.Ref) {
	for ref, m := range r.members {
		if m.waits && r.party(m.entry) == p {
			all = append(all, ref)
			m.waits = false
			r.members[ref] = m
		}
	}
	return all
}

// one returns the waiting member of a party whose name sorts first, or an empty list if no member waits.
func (r *room) one(p *party) (first []workload.Ref) {
	for ref, m := range r.members {
		if m.waits && r.party(m.entry) == p && (len(first) == 0 || ref.Compare(first[0]) < 0) {
			first = []workload.Ref{ref}
		}
	}
	return first
}

// Forget drops everything about a policy.
func (w *Waits) Forget(id workload.Policy) {
	for namespace := range w.rooms {
		w.close(Line{id, workload.DirectionDown, namespace})
		w.close(Line{id, workload.DirectionUp, namespace})
	}
}

// Open returns the waves that are open for the targets of a policy that still have to change in one direction, at most one for each
// line, and the number of the waiting targets. Waves with waiting targets come first, and of these the first that began. It
// returns zero values if no target still has to change, or none has earlier waves.
func (w *Waits) Open(id workload.Policy) (waves []Wave, waiting int) {
	for _, d := range []workload.Direction{workload.DirectionUp, workload.DirectionDown} {
		var waited, others []Wave
		for namespace := range w.rooms {
			r := w.find(Line{id, d, namespace})
			if r == nil {
				continue
			}
			p, n := r.open(d)
			switch {
			case n > 0:
				waited, waiting = append(waited, p.wave), waiting+n
			case p != nil:
				others = append(others, p.wave)
			}
		}
		if waiting > 0 || len(waves) == 0 {
			slices.SortFunc(waited, earlier)
			slices.SortFunc(others, earlier)
			waves = slices.Concat(waited, others)
		}
		if waiting > 0 {
			break
		}
	}
	return waves, waiting
}

// earlier compares the begins of two waves.
func earlier(a, b Wave) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Namespace, b.Namespace))
}

// open returns the party of a room with the first open wave, and the number of waiting targets in the room. The
// newest of equal parties is best, because after a restart all targets have its standing.
func (r *room) open(d workload.Direction) (first *party, waiting int) {
	waits := map[*party]bool{}
	for _, m := range r.members {
		p := r.party(m.entry)
		if p == nil {
			continue
		}
		waits[p] = waits[p] || m.waits
		if m.waits {
			waiting++
		}
	}
	for _, p := range r.parties {
		w, in := waits[p]
		if !in || waiting > 0 && !w {
			continue
		}
		if first == nil || first.Place == p.Place || !first.isBefore(&Wave{Line: Line{Direction: d}, Standing: p.Standing}) {
			first = p
		}
	}
	return first, waiting
}
