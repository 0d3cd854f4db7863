package adapter

import (
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// decision is the outcome for a field and its ledger entry.
type decision struct {
	label    string
	pointer  string
	location location
	field    workload.Field
	// after is the remaining ledger entry; nil: none.
	after *workload.Entry
	// by is the policy that the write is counted for (Policy.String).
	by string
	// write is true if value is written; empty removes the field, or writes a null if toNull is true.
	write  bool
	value  string
	toNull bool
	// made and alone are set if an original is written. made is the Made of the entry. alone is the Alone of the entry's
	// author.
	made, alone uint8
	// viaScale is true if the write goes through /scale.
	viaScale bool
	// overridden is true if a different writer's value is respected. corrected is true if such a value is overwritten.
	overridden, corrected bool
	direction             workload.Direction
}

// decide finds the situation of a field in the decision table and carries the outcome out. w is the claim on the field;
// nil: no claim. l is the ledger entry of the field; nil: no entry. within are the bounds for a restored original; nil:
// no bounds.
func (v *view) decide(s situation, w *want, l *ledgerField, within *workload.Bounds) decision {
	if l == nil && w.once == "" && w.field.Exists() {
		if was, _ := v.newOriginal(w); was == "" {
			return v.takenOver(w) // the present value came with a container that Flyball made, and goes with the container
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

// decisionAbout returns the decision that writes nothing and leaves no entry.
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

// keep leaves the field and its entry unchanged. If the list element of the entry has moved, the pointer of the entry
// moves too. But while any entry is unclear, no pointer moves: the unclear entry stays at its old place in the ledger,
// and no other entry must move there.
func (v *view) keep(l *ledgerField) decision {
	d := decisionAbout(nil, l)
	d.after = &l.entry
	if l.entry.IsInList() && v.isUnclear() {
		d.after = l.stored
	}
	return d
}

// passedOn leaves the field unchanged, and gives its ledger entry to the policy that claims the field now. If the claim
// began after Since of the entry, Since becomes the beginning of the claim. With the old Since, the claim would look
// like a new transition at the next edit of another writer, and would overwrite that edit.
func passedOn(w *want, l *ledgerField) decision {
	d := decisionAbout(w, l)
	e := l.settled()
	e.By, e.Since = w.by.String(), timeline.Later(e.Since, w.since)
	d.after = &e
	return d
}

// takenOver writes the claimed value, and the present value becomes the original.
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

// newOriginal returns the present value as the original of a new entry. It returns nothing if the field is, or lies in,
// a JSON object that Flyball added for another entry, because the value belongs to that object and goes with it.
func (v *view) newOriginal(w *want) (raw string, isNull bool) {
	tokens := path.Pointer(w.pointer).Tokens()
	for i := range v.entries {
		if l := &v.entries[i]; l.state == fieldSet && l.location != w.location && l.isAround(tokens) {
			return "", false
		}
	}
	return w.field.Raw, w.field.IsNull
}

// replaced writes a new value. The original of the entry stays.
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

// restored writes the original. If the write goes through /scale, the ledger entry stays, marked as pending, until the
// object shows the original. A count that no policy claims is limited to the present bounds of its autoscaler.
func (v *view) restored(w *want, l *ledgerField, within *workload.Bounds) decision {
	d := decisionAbout(w, l)
	d.value, d.made, d.alone = l.entry.Was, l.entry.Made, l.author.Alone
	if w == nil {
		d.value = v.clampedOriginal(l, within)
	}
	if same(l.field.Raw, d.value) {
		return d // the field has this value already
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

// clampedOriginal returns an entry's original; a count that is not 0 is brought into the bounds, if any.
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

// respected leaves a different writer's value until the next transition. The entry goes to the policy that claims the
// field now, because the finalizer of the former policy waits until no entry names that policy. If managed fields cannot
// prove the other writer, the entry records it.
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

// corrected writes the claimed value again, over a different writer's value.
func corrected(w *want, l *ledgerField) decision {
	d := respected(w, l)
	d.overridden, d.corrected, d.after.Adopted = false, true, false
	d.write, d.value, d.viaScale = true, l.entry.Set, w.viaScale
	d.direction = towards(l.field.Raw, d.value)
	return d
}

// finished takes a count over again after its write to /scale was lost, or after that write restored the count. If the
// count is still the original, the new entry keeps Made of the earlier entry, and keeps Since if the set value is the
// same.
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

// setOnce writes the size of a new claim, unless the field has this size already, and records the claim. Until a write
// to /scale is complete, the entry also keeps the original of a lasting value.
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

// rememberedOnce leaves a field unchanged that was set for the same claim earlier. The entry belongs to this claim
// again.
func rememberedOnce(w *want, l *ledgerField) decision {
	d := decisionAbout(w, l)
	e := l.entry.HandOnce(w.onceClaim(), !l.isLost())
	e.Prior, e.Pending = "", false
	d.after = &e
	return d
}

// onceClaim returns the claim of a size that is set once.
func (w *want) onceClaim() workload.Once {
	return workload.Once{By: w.by.String(), Since: w.since, Asked: w.once}
}

// disclaimContainersIn edits the decisions. If the entry of a field goes and its value stays, the value is the owner's
// from now on, even if Flyball wrote it last. So other entries no longer count the containers around it as made by
// Flyball.
func (v *view) disclaimContainersIn(decisions []decision) {
	kept := make([][]string, len(decisions)) // the tokens of the remaining entries
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

// result returns the value of the field after the decision, as JSON text; empty: none.
func (d *decision) result() string {
	switch {
	case !d.write:
		return d.field.Text()
	case d.toNull:
		return "null"
	}
	return d.value
}

// towards returns the direction from a value to another. Only numbers and quantities can go up.
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

// outermostMade returns the Made of a new entry: the number of tokens of the outermost missing parent; 0: none is
// missing. Parents that exist only because of an earlier entry count as missing, so that the last restored entry removes
// them. A parent with other content is its owner's, unless managed fields prove that the content came with Flyball's
// write.
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
