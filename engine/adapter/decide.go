package adapter

import (
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// decision is what becomes of one field and its ledger entry.
type decision struct {
	label    string
	pointer  string
	location location
	field    workload.Field
	// after is the ledger entry that is left; nil: none.
	after *workload.Entry
	// by is the policy that is charged with a write (Policy.String).
	by string
	// write says that value is written; empty removes the field, or writes a null if toNull says so.
	write  bool
	value  string
	toNull bool
	// made and alone are, where an original is written, the Made of its entry and the Alone of the entry's author.
	made, alone uint8
	// viaScale says that the write goes through /scale.
	viaScale bool
	// overridden says that somebody else's value is respected; corrected, that it is written over.
	overridden, corrected bool
	direction             workload.Direction
}

// decide looks up in the decision table what becomes of a field in a situation, and works it out. A claimed field has w, one with
// a ledger entry has l; the other one is nil. within are the bounds in which an original comes back, if there are any.
func (v *view) decide(s situation, w *want, l *ledgerField, within *workload.Bounds) decision {
	if l == nil && w.once == "" && w.field.Exists() {
		if was, _ := v.newOriginal(w); was == "" {
			return v.takenOver(w) // what is there came with a container that Flyball made, and would go with it
		}
	}
	switch outcomeOf(s) {
	case keepEntry:
		return v.keep(l)
	case passOn:
		return passedOn(w, l)
	case takeOver:
		return v.takenOver(w)
	case replace:
		return replaced(w, l)
	case restore:
		return v.restored(w, l, within)
	case respect:
		return respected(w, l)
	case correct:
		return corrected(w, l)
	case finish:
		return v.finished(w, l)
	case setOnce:
		return v.setOnce(w, l)
	case rememberOnce:
		return rememberedOnce(w, l)
	}
	return decisionAbout(w, l)
}

// decisionAbout is the decision that writes nothing and leaves no entry.
func decisionAbout(w *want, l *ledgerField) decision {
	if w != nil {
		return decision{label: w.label, pointer: w.pointer, location: w.location, field: w.field, by: w.by.String()}
	}
	d := decision{label: path.Pointer(l.entry.Pointer).Last(), pointer: l.entry.Pointer, location: l.location, field: l.field, by: l.entry.By}
	switch {
	case l.label != "":
		d.label = l.label
	case l.entry.Element != "":
		d.label = l.entry.Element + " " + d.label
	}
	return d
}

// keep leaves the field and its entry as they are. The entry of a list element follows it, unless another one is unclear: that
// stands at its old place in the ledger, and no other must move there.
func (v *view) keep(l *ledgerField) decision {
	d := decisionAbout(nil, l)
	d.after = &l.entry
	if l.entry.IsInList() && v.isUnclear() {
		d.after = l.stored
	}
	return d
}

// passedOn leaves the field, and gives its entry to the policy that claims it now. The entry takes over a later beginning of
// the claim, or what somebody changes after that would pass for older than the claim.
func passedOn(w *want, l *ledgerField) decision {
	d := decisionAbout(w, l)
	e := l.settled()
	e.By, e.Since = w.by.String(), timeline.Later(e.Since, w.since)
	d.after = &e
	return d
}

// takenOver writes the value and remembers what was there.
func (v *view) takenOver(w *want) decision {
	d := decisionAbout(w, nil)
	was, wasNull := v.newOriginal(w)
	d.after = &workload.Entry{
		Pointer: w.pointer, Was: was, WasNull: wasNull, Set: w.value, By: d.by, Since: w.since,
		Made: v.outermostMade(w.pointer, w.field), Pending: w.viaScale,
	}
	if w.element != nil {
		d.after.Element, d.after.Place = w.element.Name, v.index().places[w.location.index]
	}
	d.write, d.value, d.viaScale = true, w.value, w.viaScale
	d.direction = workload.DirectionDown
	return d
}

// newOriginal is what a field holds, as the original of a new entry. It is nothing where the value came with a container that
// Flyball made for another entry.
func (v *view) newOriginal(w *want) (raw string, isNull bool) {
	tokens := path.Pointer(w.pointer).Tokens()
	for i := range v.entries {
		if l := &v.entries[i]; l.state == fieldSet && l.location != w.location && l.isAround(tokens) {
			return "", false
		}
	}
	return w.field.Raw, w.field.IsNull
}

// replaced writes another value and goes on remembering the original.
func replaced(w *want, l *ledgerField) decision {
	d := decisionAbout(w, l)
	e := l.settled()
	if w.viaScale {
		e.Prior, e.Pending = e.Set, true
	}
	e.Set, e.By, e.Since = w.value, d.by, w.since
	d.after = &e
	d.write, d.value, d.viaScale = true, w.value, w.viaScale
	d.direction = towards(l.field.Raw, w.value)
	return d
}

// restored writes the original. Through /scale the entry stays until the original is seen, and says that it may be back. A
// count that nobody claims comes down inside the bounds of what governs it now.
func (v *view) restored(w *want, l *ledgerField, within *workload.Bounds) decision {
	d := decisionAbout(w, l)
	d.value, d.made, d.alone = l.entry.Was, l.entry.Made, l.author.Alone
	if w == nil {
		d.value = v.clampedOriginal(l, within)
	}
	if same(l.field.Raw, d.value) {
		return d // it is inside the bounds already
	}
	d.toNull = l.entry.WasNull && d.value == ""
	d.write, d.direction = true, workload.DirectionUp
	if l.location.kind == inSlot && v.a.projection.slots[l.location.index].viaScale && l.entry.Was != "" {
		e := l.settled()
		e.Pending = true
		d.viaScale, d.after = true, &e
	}
	return d
}

// clampedOriginal is an entry's original; a count that is not 0 is brought into the bounds, if there are any.
func (v *view) clampedOriginal(l *ledgerField, within *workload.Bounds) string {
	part := v.componentAt(l.location)
	if within == nil || part == nil {
		return l.entry.Was
	}
	n, ok := part.read(l.entry.Was)
	if clamped := within.Clamp(n); ok && n > 0 && clamped != n {
		return integer(clamped)
	}
	return l.entry.Was
}

// respected leaves a value that somebody else wrote until the next transition. The entry goes to the policy that claims the
// field now, since the finalizer of the old one waits for that. Where managed fields cannot say that it is somebody else's value,
// the entry says so from now on.
func respected(w *want, l *ledgerField) decision {
	d := decisionAbout(w, l)
	e := l.entry
	if e.By != d.by {
		e.By, e.Since = d.by, timeline.Later(e.Since, w.since)
	}
	e.Adopted = e.Adopted || !l.author.Known
	d.after, d.overridden = &e, true
	return d
}

// corrected writes what was set once more, over a value that somebody else wrote.
func corrected(w *want, l *ledgerField) decision {
	d := respected(w, l)
	d.overridden, d.corrected, d.after.Adopted = false, true, false
	d.write, d.value, d.viaScale = true, l.entry.Set, w.viaScale
	d.direction = towards(l.field.Raw, d.value)
	return d
}

// finished takes a count over once more, since the write to /scale of the first time did not come, or gave the count back.
// If the count is the original still, the new entry is the one before as far as it is about the same.
func (v *view) finished(w *want, l *ledgerField) decision {
	d := v.takenOver(w)
	if same(l.entry.Was, w.field.Raw) {
		d.after.Made = l.entry.Made
		if same(l.entry.Set, w.value) {
			d.after.Since = l.entry.Since
		}
	}
	return d
}

// setOnce writes the size of a claim that comes into force, unless the field has it already, and remembers the claim. Until a
// write to /scale is through, it remembers the original of a value that lasted as well.
func (v *view) setOnce(w *want, l *ledgerField) decision {
	d := v.takenOver(w)
	d.after.Once = w.once
	d.direction = towards(w.field.Raw, w.value)
	d.toNull = d.value == "" && l != nil && l.state == fieldSet && l.entry.WasNull
	switch {
	case same(w.field.Raw, w.value):
		d.write, d.viaScale, d.after.Pending, d.direction = false, false, false, workload.DirectionNone
	case w.viaScale && l != nil && l.state == fieldSet:
		e := l.settled()
		d.after.Was, d.after.WasNull, d.after.Made, d.after.Prior = e.Was, e.WasNull, e.Made, e.Set
	}
	if l != nil && l.entry.Once != "" {
		next := l.entry.HandOnce(w.onceClaim(), !l.isLost())
		d.after.Since, d.after.Interrupted = next.Since, next.Interrupted
	}
	return d
}

// rememberedOnce leaves a field that was set for the claim before. The entry is the claim's (again).
func rememberedOnce(w *want, l *ledgerField) decision {
	d := decisionAbout(w, l)
	e := l.entry.HandOnce(w.onceClaim(), !l.isLost())
	e.Prior, e.Pending = "", false
	d.after = &e
	return d
}

// onceClaim is the claim of a size that is set once.
func (w *want) onceClaim() workload.Once {
	return workload.Once{By: w.by.String(), Since: w.since, Asked: w.once}
}

// disclaimContainersIn edits the decisions. Where the entry of one field goes and a value stays, that value is the owner's from now on,
// although Flyball may have written it last. So other entries do not count the containers around it as made by Flyball any more.
func (v *view) disclaimContainersIn(decisions []decision) {
	kept := make([][]string, len(decisions)) // the tokens of the entries that stay
	for i := range decisions {
		if e := decisions[i].after; e != nil && e.Made > 0 {
			kept[i] = path.Pointer(e.Pointer).Tokens()
		}
	}
	for i := range decisions {
		d := &decisions[i]
		if d.after != nil || d.result() == "" || v.entryAt(d.location) == nil {
			continue
		}
		tokens := path.Pointer(d.pointer).Tokens()
		for k := range decisions {
			e := decisions[k].after
			if e == nil || e.Made == 0 {
				continue
			}
			others := kept[k]
			common := commonTokens(tokens, others)
			if common < int(e.Made) {
				continue
			}
			left := *e
			left.Made = 0
			if common+1 < len(others) {
				left.Made = small(common + 1)
			}
			decisions[k].after = &left
		}
	}
}

// result is what the field holds once the decision is carried out, as JSON text; empty: nothing.
func (d *decision) result() string {
	switch {
	case !d.write:
		return d.field.Text()
	case d.toNull:
		return "null"
	}
	return d.value
}

// towards is the direction from one value to another. Only numbers and quantities can go up.
func towards(from, to string) workload.Direction {
	if x, ok := quantity(from); ok {
		if y, ok := quantity(to); ok && x.Cmp(y) < 0 {
			return workload.DirectionUp
		}
	}
	if order, ok := compare(from, to); ok && order < 0 {
		return workload.DirectionUp
	}
	return workload.DirectionDown
}

// outermostMade is the Made of a new entry: the number of tokens of the outermost parent that is missing; 0: none is. Parents that are
// only there because an earlier entry made them count as missing, so that whoever goes last takes them away. One beside those is its owner's,
// unless managed fields say that it came with them.
func (v *view) outermostMade(pointer string, f workload.Field) uint8 {
	tokens := path.Pointer(pointer).Tokens()
	made := int(f.Depth) + 1
	for i := range v.entries {
		l := &v.entries[i]
		if l.entry.Made == 0 {
			continue
		}
		common := commonTokens(tokens, path.Pointer(l.entry.Pointer).Tokens())
		if common >= int(l.entry.Made) && (common >= int(f.Depth) || l.isAround(tokens)) {
			made = min(made, int(l.entry.Made))
		}
	}
	if made >= len(tokens) {
		return 0 // only the field itself is missing
	}
	return small(made)
}
