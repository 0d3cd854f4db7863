package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Decision is the outcome for a field and its ledger entry.
type Decision struct {
	Label    string
	Pointer  string
	Location projection.Location
	Field    workload.Field
	// After is the remaining ledger entry; nil: none.
	After *workload.Entry
	// By is the policy that the write is counted for (Policy.String).
	By string
	// Write is true if value is written; empty removes the field, or writes a null if toNull is true.
	Write  bool
	Value  string
	ToNull bool
	// Made and Alone are set if an original is written. Made is the Made of the entry. Alone is the Alone of the entry's
	// author.
	Made, Alone uint8
	// ViaScale is true if the write goes through /scale.
	ViaScale bool
	// Overridden is true if a different writer's value is respected. Corrected is true if such a value is overwritten.
	Overridden, Corrected bool
	Direction             workload.Direction
}

// decide finds the situation of a field in the decision table and carries the outcome out. w is the claim on the field;
// nil: no claim. l is the ledger entry of the field; nil: no entry. within are the bounds for a restored original; nil:
// no bounds.
func (v *View) decide(s situation, w *Want, l *TrackedField, within *workload.Bounds) Decision {
	if l == nil && w.Once == "" && w.Field.Exists() {
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
func decisionAbout(w *Want, l *TrackedField) Decision {
	if w != nil {
		return Decision{Label: w.Label, Pointer: w.Pointer, Location: w.Location, Field: w.Field, By: w.By.String()}
	}
	d := Decision{Label: path.Pointer(l.Entry.Pointer).Last(), Pointer: l.Entry.Pointer, Location: l.Location, Field: l.field, By: l.Entry.By}
	switch {
	case l.label != "":
		d.Label = l.label
	case l.Entry.Element != "":
		d.Label = l.Entry.Element + " " + d.Label
	}
	return d
}

// keep leaves the field and its entry unchanged. If the list element of the entry has moved, the pointer of the entry
// moves too. But while any entry is unclear, no pointer moves: the unclear entry stays at its old place in the ledger,
// and no other entry must move there.
func (v *View) keep(l *TrackedField) Decision {
	d := decisionAbout(nil, l)
	d.After = &l.Entry
	if l.Entry.IsInList() && v.isUnclear() {
		d.After = l.stored
	}
	return d
}

// passedOn leaves the field unchanged, and gives its ledger entry to the policy that claims the field now. If the claim
// began after Since of the entry, Since becomes the beginning of the claim. With the old Since, the claim would look
// like a new transition at the next edit of another writer, and would overwrite that edit.
func passedOn(w *Want, l *TrackedField) Decision {
	d := decisionAbout(w, l)
	e := l.settled()
	e.By, e.Since = w.By.String(), timeline.Later(e.Since, w.Since)
	d.After = &e
	return d
}

// takenOver writes the claimed value, and the present value becomes the original.
func (v *View) takenOver(w *Want) Decision {
	d := decisionAbout(w, nil)
	was, wasNull := v.newOriginal(w)
	d.After = &workload.Entry{
		Pointer: w.Pointer, Was: was, WasNull: wasNull, Set: w.Value, By: d.By, Since: w.Since,
		Made: v.outermostMade(w.Pointer, w.Field), Pending: w.ViaScale,
	}
	if was == "" {
		d.After.Awake = w.Awake
	}
	if w.Element != nil {
		d.After.Element, d.After.Place = w.Element.Name, v.index().Places[w.Location.Index]
	}
	d.Write, d.Value, d.ViaScale = true, w.Value, w.ViaScale
	d.Direction = workload.DirectionDown
	return d
}

// newOriginal returns the present value as the original of a new entry. It returns nothing if the field is, or lies in,
// a JSON object that Flyball added for another entry, because the value belongs to that object and goes with it.
func (v *View) newOriginal(w *Want) (raw string, isNull bool) {
	for i := range v.Entries {
		if l := &v.Entries[i]; l.State == FieldSet && l.author.Alone > 0 && l.Location != w.Location &&
			l.isAround(path.Pointer(w.Pointer).Tokens()) {
			return "", false
		}
	}
	return w.Field.Raw, w.Field.IsNull
}

// replaced writes a new value. The original of the entry stays.
func replaced(w *Want, l *TrackedField) Decision {
	d := decisionAbout(w, l)
	e := l.settled()
	if w.ViaScale {
		e.Prior, e.Pending = e.Set, true
	}
	e.Set, e.By, e.Since = w.Value, d.By, w.Since
	d.After = &e
	d.Write, d.Value, d.ViaScale = true, w.Value, w.ViaScale
	d.Direction = towards(l.field.Raw, w.Value)
	return d
}

// restored writes the original, or the entry's awake value where the field was absent. If the write goes through /scale, the
// ledger entry stays, marked as pending, until the object shows the original. A count that no policy claims is limited to
// the present bounds of its autoscaler.
func (v *View) restored(w *Want, l *TrackedField, within *workload.Bounds) Decision {
	d := decisionAbout(w, l)
	d.Value, d.Made, d.Alone = cmp.Or(l.Entry.Was, l.Entry.Awake), l.Entry.Made, l.author.Alone
	if w == nil {
		d.Value = cmp.Or(v.clampedOriginal(l, within), l.Entry.Awake)
	}
	if path.Same(l.field.Raw, d.Value) {
		return d // the field has this value already
	}
	d.ToNull = l.Entry.WasNull && d.Value == ""
	d.Write, d.Direction = true, workload.DirectionUp
	if l.Location.Kind == projection.InSlot && v.Spec.Projection.Slots[l.Location.Index].ViaScale && l.Entry.Was != "" {
		e := l.settled()
		e.Pending = true
		d.ViaScale, d.After = true, &e
	}
	return d
}

// clampedOriginal returns an entry's original; a count that is not 0 is brought into the bounds, if any.
func (v *View) clampedOriginal(l *TrackedField, within *workload.Bounds) string {
	part := v.ComponentAt(l.Location)
	if within == nil || part == nil {
		return l.Entry.Was
	}
	n, ok := part.Read(l.Entry.Was)
	if clamped := within.Clamp(n); ok && n > 0 && clamped != n {
		return path.Integer(clamped)
	}
	return l.Entry.Was
}

// respected leaves a different writer's value until the next transition. The entry goes to the policy that claims the
// field now, because the finalizer of the former policy waits until no entry names that policy. If managed fields cannot
// prove the other writer, the entry records it.
func respected(w *Want, l *TrackedField) Decision {
	d := decisionAbout(w, l)
	e := l.Entry
	if e.By != d.By {
		e.By, e.Since = d.By, timeline.Later(e.Since, w.Since)
	}
	e.Adopted = e.Adopted || !l.author.Known
	d.After = &e
	d.Overridden = !w.Sized || l.State != FieldAdopted // the other writer wants the same size
	return d
}

// corrected writes the claimed value again, over a different writer's value.
func corrected(w *Want, l *TrackedField) Decision {
	d := respected(w, l)
	d.Overridden, d.Corrected, d.After.Adopted = false, true, false
	d.Write, d.Value, d.ViaScale = true, l.Entry.Set, w.ViaScale
	d.Direction = towards(l.field.Raw, d.Value)
	return d
}

// finished takes a count over again after its write to /scale was lost, or after that write restored the count. If the
// count is still the original, the new entry keeps Made of the earlier entry, and keeps Since if the set value is the
// same.
func (v *View) finished(w *Want, l *TrackedField) Decision {
	d := v.takenOver(w)
	if path.Same(l.Entry.Was, w.Field.Raw) {
		d.After.Made = l.Entry.Made
		if path.Same(l.Entry.Set, w.Value) {
			d.After.Since = l.Entry.Since
		}
	}
	return d
}

// setOnce writes the size of a new claim, unless the field has this size already, and records the claim. Until a write
// to /scale is complete, the entry also keeps the original of a lasting value.
func (v *View) setOnce(w *Want, l *TrackedField) Decision {
	d := v.takenOver(w)
	d.After.Once = w.Once
	d.Direction = towards(w.Field.Raw, w.Value)
	d.ToNull = d.Value == "" && l != nil && l.State == FieldSet && l.Entry.WasNull
	switch {
	case path.Same(w.Field.Raw, w.Value):
		d.Write, d.ViaScale, d.After.Pending, d.Direction = false, false, false, workload.DirectionNone
	case w.ViaScale && l != nil && l.State == FieldSet:
		e := l.settled()
		d.After.Was, d.After.WasNull, d.After.Made, d.After.Prior = e.Was, e.WasNull, e.Made, e.Set
	}
	if l != nil && l.Entry.Once != "" {
		next := l.Entry.HandOnce(w.onceClaim(), !l.isLost())
		d.After.Since, d.After.Interrupted = next.Since, next.Interrupted
	}
	return d
}

// rememberedOnce leaves a field unchanged that was set for the same claim earlier. The entry belongs to this claim
// again.
func rememberedOnce(w *Want, l *TrackedField) Decision {
	d := decisionAbout(w, l)
	e := l.Entry.HandOnce(w.onceClaim(), !l.isLost())
	e.Prior, e.Pending = "", false
	d.After = &e
	return d
}

// onceClaim returns the claim of a size that is set once.
func (w *Want) onceClaim() workload.Once {
	return workload.Once{By: w.By.String(), Since: w.Since, Asked: w.Once}
}

// disclaimContainersIn edits the decisions. If the entry of a field goes and its value stays, the value is the owner's
// from now on, even if Flyball wrote it last. So other entries no longer count the containers around it as made by
// Flyball.
func (v *View) disclaimContainersIn(decisions []Decision) {
	kept := make([][]string, len(decisions)) // the tokens of the remaining entries
	for i := range decisions {
		if e := decisions[i].After; e != nil && e.Made > 0 {
			kept[i] = path.Pointer(e.Pointer).Tokens()
		}
	}
	for i := range decisions {
		d := &decisions[i]
		if d.After != nil || d.Result() == "" || v.EntryAt(d.Location) == nil {
			continue
		}
		tokens := path.Pointer(d.Pointer).Tokens()
		for k := range decisions {
			e := decisions[k].After
			if e == nil || e.Made == 0 {
				continue
			}
			others := kept[k]
			common := path.Common(tokens, others)
			if common < int(e.Made) {
				continue
			}
			left := *e
			left.Made = 0
			if common+1 < len(others) {
				left.Made = projection.Small(common + 1)
			}
			decisions[k].After = &left
		}
	}
}

// Result returns the value of the field after the decision, as JSON text; empty: none.
func (d *Decision) Result() string {
	switch {
	case !d.Write:
		return d.Field.Text()
	case d.ToNull:
		return "null"
	}
	return d.Value
}

// towards returns the direction from a value to another. Only numbers and quantities can go up.
func towards(from, to string) workload.Direction {
	if x, ok := workload.QuantityOf(from); ok {
		if y, ok := workload.QuantityOf(to); ok && x.Cmp(y) < 0 {
			return workload.DirectionUp
		}
	}
	if order, ok := path.Compare(from, to); ok && order < 0 {
		return workload.DirectionUp
	}
	return workload.DirectionDown
}

// outermostMade returns the Made of a new entry: the number of tokens of the outermost missing parent; 0: none is
// missing. Parents that exist only because of an earlier entry count as missing, so that the last restored entry removes
// them. A parent with other content is its owner's, unless managed fields prove that the content came with Flyball's
// write.
func (v *View) outermostMade(pointer string, f workload.Field) uint8 {
	var tokens []string
	made := int(f.Depth) + 1
	for i := range v.Entries {
		l := &v.Entries[i]
		if l.Entry.Made == 0 {
			continue
		}
		if tokens == nil {
			tokens = path.Pointer(pointer).Tokens()
		}
		common := path.Common(tokens, path.Pointer(l.Entry.Pointer).Tokens())
		if common >= int(l.Entry.Made) && (common >= int(f.Depth) || l.isAround(tokens)) {
			made = min(made, int(l.Entry.Made))
		}
	}
	if made >= strings.Count(pointer, "/") {
		return 0 // only the field itself is missing
	}
	return projection.Small(made)
}

// DecideAll decides the fields that only the ledger lists, and then the wanted fields. If one of two fields contains
// the other, only the first field is written: the later field waits, and a ledger entry of it stays. So does a field with a
// write for which waits is true. keeps reports whether the entry of a field without a claim stays.
func (v *View) DecideAll(wants []Want, keeps func(projection.Location) bool, plan workload.Plan, waits func(*Decision) bool) []Decision {
	released := make([]Decision, 0, len(v.Entries))
	for i := range v.Entries {
		l := &v.Entries[i]
		if slices.ContainsFunc(wants, func(n Want) bool { return n.Location == l.Location }) {
			continue
		}
		d := v.decide(releasedSituation(l, plan, keeps(l.Location)), nil, l, plan.Within)
		if d.Write && (waits(&d) || touchesAny(d.Pointer, released)) {
			d = v.keep(l)
		}
		d.inherit(plan.Keep)
		released = append(released, d)
	}
	decisions := make([]Decision, 0, len(wants)+len(released))
	for i := range wants {
		n := &wants[i]
		l := v.EntryAt(n.Location)
		d := v.decide(claimedSituation(n, l), n, l, plan.Within)
		switch {
		case !touchesAny(n.Pointer, released) && (!d.Write || !waits(&d)):
			d.share(n, l, plan.Keep)
			decisions = append(decisions, d)
		case l != nil:
			decisions = append(decisions, v.keep(l))
		}
	}
	decisions = append(decisions, released...)
	v.disclaimContainersIn(decisions)
	return decisions
}

// share names the other holders in the entry of a claimed field: the policies with the same claim, and the former holders that keep
// the same value.
func (d *Decision) share(w *Want, l *TrackedField, keep map[workload.Policy]bool) {
	if d.After == nil || d.After.Once != "" || w.By.String() != d.After.By {
		return
	}
	also := w.Also
	if l != nil && len(keep) > 0 && path.Same(l.Entry.Set, d.After.Set) {
		kept := slices.DeleteFunc(l.Entry.Claimants(), func(id workload.Policy) bool {
			return !keep[id] || id == w.By || slices.Contains(also, id)
		})
		also = slices.Concat(kept, also) // an entry has room for few
	}
	if len(also) == 0 && d.After.Also == "" {
		return
	}
	after := *d.After
	after.SetAlso(also)
	d.After = &after
}

// inherit gives the entry of a field without a claim to the holders that keep it, if any does.
func (d *Decision) inherit(keep map[workload.Policy]bool) {
	if d.After == nil || d.Write || d.After.Also == "" {
		return
	}
	holders := slices.DeleteFunc(d.After.Claimants(), func(id workload.Policy) bool { return !keep[id] })
	if len(holders) == 0 {
		return
	}
	after := *d.After
	after.By = holders[0].String()
	after.SetAlso(holders[1:])
	d.After = &after
}

// touchesAny reports whether a field is inside, or contains, a different field that is written or stays in the ledger.
func touchesAny(pointer string, decisions []Decision) bool {
	for i := range decisions {
		d := &decisions[i]
		if !d.Write && d.After == nil || d.Pointer == pointer {
			continue
		}
		p, q := path.Pointer(d.Pointer), path.Pointer(pointer)
		if p.IsPrefixOf(q) || q.IsPrefixOf(p) {
			return true
		}
	}
	return false
}

// LedgerText returns the ledger after the decisions: nil if it stays, empty if it goes. More fields than a ledger may
// have (projection.MaxEntries) are an error.
func (v *View) LedgerText(decisions []Decision) (*string, error) {
	var after workload.Ledger
	for i := range decisions {
		if e := decisions[i].After; e != nil {
			after = append(after, *e)
		}
	}
	// Of two entries with the same pointer, the first counts.
	slices.SortStableFunc(after, func(a, b workload.Entry) int { return cmp.Compare(a.Pointer, b.Pointer) })
	after = slices.CompactFunc(after, func(a, b workload.Entry) bool { return a.Pointer == b.Pointer })
	equalEntries := func(a, b workload.Entry) bool {
		equal := a.Since.Equal(b.Since)
		a.Since = b.Since
		return equal && a == b
	}
	switch {
	case slices.EqualFunc(after, v.Object.Ledger, equalEntries):
		return nil, nil
	case len(after) == 0:
		return new(string), nil
	case len(after) > projection.MaxEntries:
		return nil, fmt.Errorf("%d fields would have to be remembered, where a ledger has at most %d entries", len(after), projection.MaxEntries)
	}
	text, err := after.Encode(v.origin())
	return &text, err
}

// origin returns the identity of the object that the ledger was begun on. An existing ledger keeps its UID.
func (v *View) origin() workload.Origin {
	on := workload.Origin{Of: workload.LedgerOf(v.Spec.GroupKind().Kind, v.Object.Name), Namespace: v.Object.Namespace, UID: v.Object.UID}
	if len(v.Object.Ledger) > 0 {
		on.UID = v.Object.Notes().UID
	}
	return on
}

// Want is a field with the claimed value.
type Want struct {
	// Label names the field in messages: replicas, hot count.
	Label    string
	Pointer  string
	Location projection.Location
	Field    workload.Field
	ViaScale bool
	// Element is the list element, nil for plain fields.
	Element *workload.Element
	// Sized is true for fields of the size.
	Sized bool

	// Value is the wanted JSON text; empty: none. Original is the owner's JSON text.
	Value, Original string
	// ValueForWas is the wanted value if the original is the entry's Was. It differs from value if a different writer has
	// changed the original since.
	ValueForWas string
	// Awake is the value restored where the field was absent; empty: the field is removed.
	Awake string

	By workload.Policy
	// Also are the other policies with the same claim.
	Also    []workload.Policy
	Since   time.Time
	Enforce bool
	// Once is the JSON text of a claim to set the value once, before bounds; empty: the claim is lasting. resumed is true
	// if the value has been set already.
	Once    string
	Resumed bool
}
