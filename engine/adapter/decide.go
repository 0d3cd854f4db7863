package adapter

import (
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// decision is what becomes of one field. The rules are the table in the package's doc comment.
type decision struct {
	label   string
	pointer string
	site    site
	field   workload.Field
	// after is the ledger entry that is left; nil: none.
	after *workload.Entry
	// by is who is charged with a write.
	by string
	// write says that value is written; empty removes the field. restore says that it is the original.
	write, restore bool
	value          string
	// made is that of the entry that is given back.
	made uint8
	// viaScale says that the write goes through /scale.
	viaScale bool
	// overridden: somebody else's value is respected. corrected: it is written over.
	overridden, corrected bool
	direction             workload.Direction
}

// decideWant decides a field that is claimed; l is its ledger entry, if any.
func (v *view) decideWant(w *want, l *listed) decision {
	if w.once != "" {
		return v.setOnce(w, l)
	}
	if l != nil && l.entry.Once != "" && !l.ours {
		l = nil // what lasts takes over from what is there, whoever set it
	}
	switch {
	case l == nil && same(w.field.Raw, w.value):
		return w.decision()
	case l == nil:
		return v.take(w)
	case l.ours:
		return v.follow(w, l)
	default:
		return v.contest(w, l)
	}
}

func (w *want) decision() decision {
	return decision{label: w.label, pointer: w.pointer, site: w.site, field: w.field, by: w.by.String()}
}

// take writes the value and remembers what was there.
func (v *view) take(w *want) decision {
	d := w.decision()
	d.after = &workload.Entry{
		Pointer: w.pointer, Was: w.field.Raw, Set: w.value, By: w.by.String(), Since: w.since,
		Made: v.made(w.pointer, w.field), Element: w.element, Pending: w.viaScale,
	}
	d.write, d.value, d.viaScale = true, w.value, w.viaScale
	d.direction = workload.DirectionDown
	return d
}

// follow goes from the value that Flyball set to the one wanted now.
func (v *view) follow(w *want, l *listed) decision {
	e := l.seen()
	if same(w.value, e.Was) && !same(w.value, e.Set) {
		d := v.giveBack(l)
		d.label, d.by = w.label, w.by.String()
		return d
	}
	d := w.decision()
	if same(w.value, e.Set) {
		d.after = hand(e, w, true)
		return d
	}
	d.after = &e
	if w.viaScale {
		e.Prior, e.Pending = e.Set, true
	}
	e.Set, e.By, e.Since = w.value, w.by.String(), w.since
	d.write, d.value, d.viaScale = true, w.value, w.viaScale
	d.direction = towards(l.field.Raw, w.value)
	return d
}

// contest decides a field that somebody else has changed.
func (v *view) contest(w *want, l *listed) decision {
	e := l.entry
	if e.Pending {
		return v.resume(w, l)
	}
	fresh := w.since.After(e.Since) || !same(w.before, e.Set)
	switch {
	case fresh && same(w.field.Raw, w.value):
		return w.decision()
	case fresh:
		return v.take(w)
	}
	d := w.decision()
	d.after = hand(e, w, false)
	if !w.enforce {
		d.overridden = true
		return d
	}
	d.write, d.value, d.viaScale, d.corrected = true, e.Set, w.viaScale, true
	d.direction = towards(l.field.Raw, e.Set)
	return d
}

// resume does the /scale write of which only the ledger's half is known to be through. That may have been a write that gave
// the field back; then it is taken once more. A value that came in between is the new original.
func (v *view) resume(w *want, l *listed) decision {
	if same(w.field.Raw, w.value) {
		return w.decision()
	}
	d := v.take(w)
	if same(l.entry.Was, w.field.Raw) {
		d.after.Made = l.entry.Made
		if same(l.entry.Set, w.value) {
			d.after.Since = l.entry.Since
		}
	}
	return d
}

// hand passes an entry on to the policy that claims it now. The finalizer of the old one waits for that. An entry that is
// Flyball's own takes over a later beginning of the claim too, or what somebody changes after that would pass for older.
func hand(e workload.Entry, w *want, ours bool) *workload.Entry {
	by := w.by.String()
	if ours || e.By != by {
		e.Since = later(e.Since, w.since)
	}
	e.By = by
	return &e
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// towards is the direction from one value to another. Only numbers can go up.
func towards(from, to string) workload.Direction {
	if order, ok := compare(from, to); ok && order < 0 {
		return workload.DirectionUp
	}
	return workload.DirectionDown
}

// release decides a field of the ledger that nobody claims.
func (v *view) release(l *listed, plan workload.Plan) decision {
	by := workload.ParsePolicy(l.entry.By)
	d := l.decision()
	switch {
	case l.site.kind == siteGone || plan.Orphan[by]:
		return d
	case plan.Keep[by]:
		return l.kept()
	case !l.ours:
		return d
	}
	d = v.giveBack(l)
	if n, ok := v.lands(l, plan.Within); ok && d.restore {
		if d.value = integer(n); same(l.field.Raw, d.value) {
			return l.decision() // it is there already
		}
	}
	return d
}

// lands is where a count that is given back comes down, if that is somewhere else than where it was: inside the bounds of
// what governs it now. An owner's zero stays.
func (v *view) lands(l *listed, b *workload.Bounds) (int64, bool) {
	if b == nil {
		return 0, false
	}
	for i := range v.a.components {
		part := &v.a.components[i]
		if l.site.kind == siteElement && int(v.obj.Elements[l.site.index].Component) != i ||
			l.site.kind == siteSlot && (part.slot == nil || part.slot.index != l.site.index) {
			continue
		}
		n, ok := part.read(l.entry.Was)
		return b.Clamp(n), ok && n > 0 && b.Clamp(n) != n
	}
	return 0, false
}

func (l *listed) decision() decision {
	d := decision{label: path.Pointer(l.entry.Pointer).Last(), pointer: l.entry.Pointer, site: l.site, field: l.field, by: l.entry.By}
	if l.entry.Element != "" {
		d.label = l.entry.Element + " " + d.label
	}
	return d
}

// giveBack puts the original back. Through /scale the entry stays until the original is seen, and says that it may be back.
func (v *view) giveBack(l *listed) decision {
	d := l.decision()
	if same(l.field.Raw, l.entry.Was) || l.field.Depth == blocked || isForeign(l) {
		return d
	}
	d.write, d.restore, d.value, d.made = true, true, l.entry.Was, l.entry.Made
	d.direction = workload.DirectionUp
	if l.site.kind == siteSlot && v.a.projection.slots[l.site.index].viaScale && l.entry.Was != "" {
		e := l.seen()
		e.Pending = true
		d.viaScale, d.after = true, &e
	}
	return d
}

// isForeign says whether an entry speaks of a field that no adapter could have written: somebody edited the ledger, and
// Flyball does not lend its rights.
func isForeign(l *listed) bool {
	if l.site.kind != siteUnlisted {
		return false
	}
	tokens := path.Pointer(l.entry.Pointer).Tokens()
	if len(tokens) < 2 {
		return true
	}
	switch tokens[0] {
	case "apiVersion", "kind", "status":
		return true
	case "metadata":
		return len(tokens) != 3 || !isMetadataMap(tokens[:2]) || strings.HasPrefix(tokens[2], v1alpha1.GroupVersion.Group+"/")
	}
	return false
}

// made is, where parents of the field are missing, the number of leading tokens that exist, plus one. Parents that are
// only there because an earlier entry made them count as missing, so that whoever goes last takes them away.
func (v *view) made(pointer string, f workload.Field) uint8 {
	tokens := path.Pointer(pointer).Tokens()
	var made uint8
	if int(f.Depth) < len(tokens)-1 {
		made = f.Depth + 1
	}
	for i := range v.entries {
		e := &v.entries[i].entry
		if e.Made == 0 || int(e.Made) >= len(tokens) || made != 0 && made <= e.Made {
			continue
		}
		if commonTokens(tokens, path.Pointer(e.Pointer).Tokens()) >= int(e.Made) {
			made = e.Made
		}
	}
	return made
}
