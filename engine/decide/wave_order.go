package decide

import (
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// An order (policy.Order) makes the targets of a policy wait for each other, in waves. A target waits for each earlier
// wave with an unfinished object in its line, from the instant at which the target itself comes due. The objects show which wave
// is finished. They do not show since when targets wait for the wave. Waits keeps this instant, for the timeout of
// the wave.

// Standing is the wave for which targets of a policy wait that came due together, in one direction. The waves before
// it are over for these targets.
type Standing struct {
	// Place is the index of the wave in the order.
	Place int
	// Since is the instant from which the targets wait for the wave. It is zero if no wave is known for the target.
	Since time.Time
	// Entering is true for a target coming due now. It is decided again before it may look for unfinished objects,
	// so that a look serves all targets due before it.
	Entering bool
	// Resumed is true for a standing from the policy's status. It counts only for a target that was due at the policy's last transition
	// already, because the status has the standing of one party. If Entering is also true, another target comes due now.
	Resumed bool
	// Seen is the number of targets that had come due in any order before the look.
	Seen uint64
	// Last is the first unfinished object of the previous search. Rest is Last and its successors. The next search begins at
	// Last, so a change of one object does not lead to a search through all objects of a large wave.
	Last workload.Ref
	Rest []workload.Ref
	// Recorded names an unfinished object, from the policy's status. It is set only in a World with possibly missing objects.
	Recorded string
}

// isOver reports whether the standing is out of date at the instant now. transition is the last transition of the policy,
// and waves is the number of waves in its order. A Since in the future, as after a clock was set back, would never
// reach its timeout. A Since a moment ahead comes from a decision beside this one. A place beyond the last wave is
// from an earlier order with more waves.
func (s *Standing) isOver(transition, now time.Time, waves int) bool {
	return s.Since.IsZero() || s.Since.Before(transition) || s.Since.After(now.Add(time.Minute)) || s.Place < 0 || s.Place >= waves
}

// Line names the targets that go through the waves of a policy together, in one direction.
type Line struct {
	Policy    workload.Policy
	Direction workload.Direction
	// Namespace is the namespace of the targets. Empty: the targets outside of namespaces, or, for an order across namespaces, all.
	Namespace string
}

// lineOf returns the line of a target in a namespace.
func lineOf(p *Policy, dir workload.Direction, namespace string) Line {
	if !p.Order.PerNamespace {
		namespace = ""
	}
	return Line{p.ID, dir, namespace}
}

// Standings keeps the standings of policies. Without it, every wait begins at the instant of the decision.
type Standings interface {
	Standing(Line, workload.Ref) Standing
}

// Wave is the wave for which a target waits. If the target need not wait, it is the target's own wave, and Why is
// empty.
type Wave struct {
	Line
	Standing
	// Transition is the last transition of the policy. A standing from before this transition is out of date.
	Transition time.Time
	// Waves is the number of waves in the order.
	Waves int
	// Title is the name and the place of the wave.
	Title string
	// Why names the unfinished object and the reason why it is not finished.
	Why string
	// Stopped is true if later waves still wait although the wave has reached its timeout, because its onTimeout is
	// Stop.
	Stopped bool
}

// orderGate returns the gate of the orders of all policies that ask for a patch. Values of triggers and tortoises,
// and the values of deleted policies, do not wait. An autoscaler that must be held before its target sleeps waits as
// long as the target does. Otherwise it would not scale during the wait.
func (d decider) orderGate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	if gate := d.ownOrderGate(k, obj, v); gate.Kind != GateOpen {
		return gate
	}
	onBehalf := func(o Opinion) bool { return o.OnBehalf && o.Policy.Order != nil }
	if v.Result.Direction != workload.DirectionDown || !slices.ContainsFunc(v.Opinions, onBehalf) {
		return Gate{}
	}
	tk, governed := d.governed(k, obj)
	if governed == nil {
		return Gate{}
	}
	next := d.render(tk, governed, nil)
	if next.Err != nil || next.Result.Patch == nil {
		return Gate{}
	}
	return d.ownOrderGate(tk, governed, &next)
}

func (d decider) ownOrderGate(k *Kind, obj *workload.Object, v *Verdict) Gate {
	holds := func(o Opinion) bool { return o.Policy.HoldsOwners }
	if k.Adapter.CanOwn() && v.Result.Direction == workload.DirectionDown && slices.ContainsFunc(v.Opinions, holds) {
		return Gate{} // the targets of the owner wait for the owner, in whatever wave they are
	}
	if by := d.w.Policy(v.Result.By); by == nil || by.Deleting || by.SetsValues() {
		return Gate{}
	}
	for i := range v.Opinions {
		if o := &v.Opinions[i]; o.Policy.Order != nil && o.moves(v.Result.Direction) {
			wave := d.wave(o.Policy, k, obj, v.Result.Direction)
			switch {
			case wave == nil:
			case wave.Why != "" || wave.Entering:
				return wave.gate(o.Policy)
			default:
				v.Passed = append(v.Passed, wave)
			}
		}
	}
	return Gate{}
}

// moves reports whether the policy asks for a change of the target in a direction: down to sleep, or up to the state
// that the target's owner asks for.
func (o *Opinion) moves(d workload.Direction) bool {
	switch {
	case o.OnBehalf || o.Left || o.Alone != "" || o.Err != nil:
		return false
	case d == workload.DirectionDown:
		return o.Class == workload.ClassSleep
	case d == workload.DirectionUp:
		return o.Class == workload.ClassAwake || o.Silent
	}
	return false
}

// wave returns the first unfinished wave for which a target must wait, or the target's own wave with an empty Why. It
// returns nil for a target of the first wave. It does not look at waves before the wave of the target's standing,
// because they are over.
func (d decider) wave(p *Policy, k *Kind, obj *workload.Object, dir workload.Direction) *Wave {
	own := d.place(p, k, obj)
	before := p.Order.After(own, dir)
	if len(before) == 0 {
		return nil
	}
	line := lineOf(p, dir, obj.Namespace)
	at := d.standing(p, line, k.Ref(obj))
	h := &Wave{Line: line, Transition: p.State(d.now).Since, Waves: len(p.Order.Waves)}
	if at.Entering {
		h.Standing, h.Title = Standing{Place: own, Entering: true}, p.Order.Title(own)
		return h
	}
	if i := slices.Index(before, at.Place); i >= 0 && !at.Since.IsZero() {
		before = before[i:]
	} else if !at.Since.IsZero() {
		before = nil // the target's wave is open or finished
	}
	for _, place := range before {
		wave := &p.Order.Waves[place]
		h.Standing, h.Title = Standing{Place: place, Since: d.now, Seen: at.Seen}, p.Order.Title(place)
		if place == at.Place && !at.Since.IsZero() {
			h.Standing = at
		}
		h.Stopped = !d.now.Before(h.Since.Add(wave.Timeout))
		if h.Stopped && !wave.Stop {
			continue
		}
		if d.unfinished(p, h); h.Why != "" {
			return h
		}
	}
	h.Standing, h.Stopped = Standing{Place: own, Seen: at.Seen}, false
	return h
}

// standing returns the standing of a target. It has no wave if there is none or it is out of date.
func (d decider) standing(p *Policy, line Line, ref workload.Ref) Standing {
	if d.waits == nil {
		return Standing{}
	}
	at := d.waits.Standing(line, ref)
	transition := p.State(d.now).Since
	over := at.isOver(transition, d.now, len(p.Order.Waves))
	if over || at.Resumed && !d.wasDue(p, ref, line.Direction, transition) {
		return Standing{Entering: at.Entering, Seen: at.Seen}
	}
	if at.Resumed {
		at.Entering = false
	}
	return at
}

// wasDue reports whether a policy asked for the change of a target at an earlier instant already.
func (d decider) wasDue(p *Policy, ref workload.Ref, dir workload.Direction, at time.Time) bool {
	d.now = at
	v := d.render(d.w.Kind(ref.GroupKind), d.w.Object(ref), nil)
	i := slices.IndexFunc(v.Opinions, func(o Opinion) bool { return o.Policy.ID == p.ID })
	return i >= 0 && v.Opinions[i].moves(dir) && v.Result.Patch != nil && v.Result.Direction == dir
}

// gate returns the gate for a target waiting for a wave.
func (h *Wave) gate(p *Policy) Gate {
	g := Gate{Kind: GateOrder, Order: h, Reason: fmt.Sprintf("waits for wave %s of %s", h.Title, p.ID)}
	if h.Entering {
		g.Reason = fmt.Sprintf("waits for a look at the waves before its wave %s of %s", h.Title, p.ID)
		return g
	}
	wave := &p.Order.Waves[h.Place]
	if h.Stopped {
		g.Reason = fmt.Sprintf("wave %s of %s is not finished after %s, and its onTimeout is Stop", h.Title, p.ID, wave.Timeout)
		return g
	}
	g.Until = h.Since.Add(wave.Timeout)
	return g
}

// place returns the index of an object's wave. An autoscaler belongs to the wave of its target.
func (d decider) place(p *Policy, k *Kind, obj *workload.Object) int {
	tk, governed := d.governed(k, obj)
	if governed != nil && p.Selects(tk, governed, d.namespace(governed.Namespace).Labels) && !LeavesAlone(d.w, p, tk, governed) {
		k, obj = tk, governed
	}
	return p.Order.Place(k.GroupKind, obj)
}

// WaveOf returns the name and the number of an object's wave in the order of a policy, or "" if the policy has no
// order.
func WaveOf(w World, p *Policy, k *Kind, obj *workload.Object) string {
	if p.Order == nil {
		return ""
	}
	return p.Order.Title(decider{w: w}.place(p, k, obj))
}

// searchKey names a search of a wave.
type searchKey struct {
	Line
	place    int
	recorded string
}

// unfinished sets Last, Rest and Why of h for the first unfinished object of the wave. If all objects are finished,
// Why stays empty.
func (d decider) unfinished(p *Policy, h *Wave) {
	key := searchKey{h.Line, h.Place, h.Recorded}
	if known, ok := d.searched[key]; ok {
		h.Last, h.Rest, h.Why = known.Last, known.Rest, known.Why
		return
	}
	d.searchWave(p, h)
	if d.searched != nil {
		d.searched[key] = *h
	}
}

// searchWave looks for the first unfinished object of the wave in h. It looks at the objects in Rest first, and then at all
// objects, because any of them may have changed.
func (d decider) searchWave(p *Policy, h *Wave) {
	look := func(refs []workload.Ref) bool {
		for i, ref := range refs {
			k := d.w.Kind(ref.GroupKind)
			if k == nil {
				continue
			}
			obj := d.w.Object(ref)
			if obj == nil || !p.Selects(k, obj, d.namespace(obj.Namespace).Labels) || d.place(p, k, obj) != h.Place {
				continue
			}
			if why := d.lacks(p, h.Place, h.Direction, k, obj); why != "" {
				h.Last, h.Rest, h.Why = ref, refs[i:], ref.String()+" "+why
				return true
			}
		}
		return false
	}
	if look(h.Rest) {
		return
	}
	var all []workload.Ref
	d.w.EachOf(p, h.Namespace, func(k *Kind, obj *workload.Object) {
		if d.place(p, k, obj) == h.Place {
			all = append(all, k.Ref(obj))
		}
	})
	slices.SortFunc(all, workload.Ref.Compare)
	if !look(all) {
		h.Why = h.Recorded
	}
}

// lacks returns the reason why an object of a wave is not finished. It returns "" if the object is finished or does
// not change with the wave.
func (d decider) lacks(p *Policy, place int, dir workload.Direction, k *Kind, obj *workload.Object) string {
	settled, why := true, ""
	if p.Order.Waves[place].Ready && !d.settles {
		settled, why = k.Adapter.Settled(obj)
	}
	if settled && dir == workload.DirectionUp && len(obj.Ledger) == 0 && obj.LedgerError == "" {
		return ""
	}
	if d.asksNone(k, obj) {
		return ""
	}
	v := d.render(k, obj, nil)
	i := slices.IndexFunc(v.Opinions, func(o Opinion) bool { return o.Policy.ID == p.ID })
	if i < 0 || !v.Opinions[i].moves(dir) {
		return ""
	}
	changes := !v.Plan.Asleep() // false if another policy keeps the object asleep
	if dir == workload.DirectionDown {
		narrowed := v.Plan.Min != nil || v.Plan.Max != nil // a hold or an annotation does not reduce the object
		changes = v.Result.State == workload.StateAsleep || v.Result.State == workload.StateSet && narrowed
	}
	switch {
	case v.Err != nil:
		return "cannot be written: " + v.Err.Error()
	case v.Result.Patch != nil && v.Result.Direction == dir:
		return "is not written yet"
	case settled || !changes:
		return ""
	}
	return "has not settled: " + why
}
