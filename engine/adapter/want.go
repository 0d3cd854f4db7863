package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// want is a field with the claimed value.
type want struct {
	// label names the field in messages: replicas, hot count.
	label    string
	pointer  string
	location location
	field    workload.Field
	viaScale bool
	// element is the list element, nil for plain fields.
	element *workload.Element
	// sized is true for fields of the size.
	sized bool

	// value is the wanted JSON text; empty: none. original is the owner's JSON text.
	value, original string
	// valueForWas is the wanted value if the original is the entry's Was. It differs from value if a different writer has
	// changed the original since.
	valueForWas string

	by      workload.Policy
	since   time.Time
	enforce bool
	// once is the JSON text of a claim to set the value once, before bounds; empty: the claim is lasting. resumed is true
	// if the value has been set already.
	once    string
	resumed bool
}

// wants has all wanted fields of an object.
type wants struct {
	list []want
	// values are the wanted values by facet, for status.
	values map[string]string
	// asksSize is true if a size is claimed. canSize is true if the object can take a size. asksOther and canOther are the
	// same for all other facets.
	asksSize, canSize   bool
	asksOther, canOther bool
	// first is the first claimant: of the size, else of the first other facet.
	first workload.Policy
	// kept selects fields without a claim whose entries stay, because the claimed change cannot be made now.
	kept []func(location) bool
	// fixed has the reasons why counts must not change. reasons has the reasons for all other omitted changes.
	fixed, reasons []string
}

// wantsOf turns a plan into values of fields. If two facets want the same field, the first of them in this order gets
// it: size, hold, bounds, amounts, annotations.
func (v *view) wantsOf(plan workload.Plan) (wants, error) {
	var w wants
	v.addSize(&w, plan)
	v.addHold(&w, plan.Hold)
	v.addBounds(&w, plan)
	v.addAmounts(&w, plan.Amounts)
	err := v.addAnnotations(&w, plan.Annotations)
	return w, err
}

// setFirst stores the first claimant.
func (w *wants) setFirst(by workload.Policy) {
	if w.first == (workload.Policy{}) {
		w.first = by
	}
}

// setValue stores the wanted value of a facet, for status.
func (w *wants) setValue(facet, value string) {
	if w.values == nil {
		w.values = map[string]string{}
	}
	w.values[facet] = value
}

// keepEntries keeps the entries of the fields that the function at selects. why is the reason in status.
func (w *wants) keepEntries(why string, at func(location) bool) {
	w.kept, w.reasons = append(w.kept, at), append(w.reasons, why)
}

// keeps reports whether the entry of the field at a location stays.
func (w *wants) keeps(at location) bool {
	return slices.ContainsFunc(w.kept, func(kept func(location) bool) bool { return kept(at) })
}

// add adds a field, unless it is there already.
func (w *wants) add(n want) {
	if !slices.ContainsFunc(w.list, func(o want) bool { return o.pointer == n.pointer }) {
		w.list = append(w.list, n)
	}
}

// wantSlot returns the want of a value on a plain field.
func (v *view) wantSlot(s *slot, value string) want {
	return want{
		label: s.tokens[len(s.tokens)-1], pointer: s.pointer, location: location{inSlot, s.index}, field: v.current(s),
		viaScale: s.viaScale, value: value, valueForWas: value, original: v.original(s),
	}
}

// claimedBy sets the claim of a want.
func claimedBy[T any](n want, c *workload.Claim[T]) want {
	n.by, n.since, n.enforce = c.By, c.Since, c.Enforce
	return n
}

// addSize adds the fields of a size: the fields of suspend if the target is to sleep and can be suspended, else the
// counts.
func (v *view) addSize(w *wants, plan workload.Plan) {
	if plan.Size == nil || plan.Size.Value.Mode == workload.SizeOwn {
		return
	}
	w.asksSize = true
	w.setFirst(plan.Size.By)
	suspend := v.variantOf(v.a.suspend)
	if suspend != nil && plan.Asleep() && v.isSet(suspend) {
		w.canSize = true // the owner has it suspended: left alone
		return
	}
	if suspend != nil && plan.Size.Value.Mode == workload.SizeSleep {
		w.canSize = true
		w.setValue("suspend", "true")
		for _, set := range suspend.set {
			n := claimedBy(v.wantSlot(set.slot, set.value), plan.Size)
			n.sized = true
			w.add(n)
		}
		return
	}
	v.addCounts(w, plan)
}

// addCounts adds the counts that a size changes or leaves.
func (v *view) addCounts(w *wants, plan workload.Plan) {
	size, once := plan.Size.Value, ""
	if plan.Size.Once {
		once, size = integer(size.Replicas), clamped(size, plan.Within)
	}
	counts, fault := v.counts()
	if fault = cmp.Or(fault, v.unclearFault()); fault != "" {
		w.keepEntries(fault, func(at location) bool { return v.componentAt(at) != nil })
		return
	}
	scaled := 0
	for i := range counts {
		if counts[i].Fixed {
			v.addFixed(w, &counts[i], size)
			continue
		}
		scaled++
		if plan.Size.Resumed && (counts[i].entry == nil || counts[i].entry.state != fieldSetOnce) {
			continue // this count was not set then, so it has no claim and its original is restored
		}
		n := claimedBy(v.wantCount(&counts[i], size), plan.Size)
		n.once, n.resumed = once, plan.Size.Resumed
		if len(v.a.components) > 1 && n.element == nil {
			n.label = counts[i].Name + " " + n.label
		}
		w.add(n)
		w.setValue("replicas/"+counts[i].Name, integer(size.Of(counts[i].Component)))
	}
	w.canSize = scaled > 0 || len(counts) > 0 && len(w.fixed) == 0
}

// addFixed passes over a count that must not change, and adds the reason if the size would change it.
func (v *view) addFixed(w *wants, c *count, size workload.Size) {
	free := c.Component
	free.Fixed = false
	if n := size.Of(free); n == c.Replicas {
		w.setValue("replicas/"+c.Name, integer(n))
		return
	}
	why := v.failing(c.part.when, v.original)
	w.fixed = append(w.fixed, c.Name+" must not be scaled: "+why.finding(v.original))
}

// clamped brings a size into bounds, if any.
func clamped(size workload.Size, b *workload.Bounds) workload.Size {
	if b != nil {
		size.Replicas = b.Clamp(size.Replicas)
	}
	return size
}

// wantCount returns the want of a size on one count.
func (v *view) wantCount(c *count, size workload.Size) want {
	var n want
	if c.element < 0 {
		n = v.wantSlot(c.part.slot, "")
	} else {
		e := &v.obj.Elements[c.element]
		n = want{label: elementLabel(e) + " " + path.Pointer(e.Pointer).Last(), pointer: e.Pointer,
			location: location{inElement, c.element}, field: e.Field, element: e, original: c.original}
	}
	n.sized = true
	n.value = c.part.text(size, c.original)
	n.viaScale = n.viaScale && n.value != "" // /scale cannot remove
	n.valueForWas = n.value
	if c.entry != nil {
		n.valueForWas = c.part.text(size, c.entry.entry.Was)
	}
	return n
}

// text returns the JSON text of the count after a size. It is the owner's own text if the size changes nothing, or if
// that text is no count.
func (c *component) text(size workload.Size, own string) string {
	n, ok := c.read(own)
	if !ok {
		return own
	}
	want := size.Of(workload.Component{Replicas: n, Minimum: c.minimum})
	if want == n {
		return own
	}
	return integer(want)
}

// addBounds adds the two ends of a range, with the lower end at or below the upper end. An end without a claim keeps the
// owner's value, which limits the other end.
func (v *view) addBounds(w *wants, plan workload.Plan) {
	lo, hi := v.endOfObject(v.a.min, plan.Min), v.endOfObject(v.a.max, plan.Max)
	for _, c := range []*workload.Claim[int64]{plan.Min, plan.Max} {
		if c != nil {
			w.asksOther = true
			w.setFirst(c.By)
		}
	}
	lo, hi = inOrder(lo, hi, v.a.min, v.a.max)
	v.addBound(w, "min", v.a.min, lo, plan.Min)
	v.addBound(w, "max", v.a.max, hi, plan.Max)
	v.addRanges(w, plan)
}

// inOrder returns the two ends with the lower one at or below the upper one.
func inOrder(lo, hi end, low, high *bound) (end, end) {
	switch {
	case lo.claimed && hi.claimed:
		hi.value = max(hi.value, lo.value)
	case lo.claimed && hi.known:
		lo.value = max(min(lo.value, hi.value), low.minimum)
	case hi.claimed && lo.known:
		hi.value = max(hi.value, lo.value)
	}
	if hi.claimed && high.unlimited != nil && hi.value == *high.unlimited {
		least := int64(1)
		if lo.known || lo.claimed {
			least = max(least, lo.value)
		}
		hi.value = max(hi.value, least) // the claimed number would mean no limit
	}
	return lo, hi
}

// end is one end of a range: the claimed number, or else the owner's limit if there is one.
type end struct {
	value          int64
	claimed, known bool
}

// endOfObject returns one end of the object's own range, if the kind has it.
func (v *view) endOfObject(b *bound, c *workload.Claim[int64]) end {
	if b == nil {
		return end{}
	}
	own, usable := v.bound(b)
	return endFrom(b, own, usable, c)
}

// endFrom returns the claimed end, or else the owner's.
func endFrom(b *bound, own *int64, usable bool, c *workload.Claim[int64]) end {
	if c != nil && usable {
		return end{value: max(c.Value, b.minimum), claimed: true}
	}
	if own == nil || b.unlimited != nil && *own == *b.unlimited {
		return end{}
	}
	return end{value: *own, known: true}
}

// addBound adds one end of a range, if it is claimed.
func (v *view) addBound(w *wants, facet string, b *bound, e end, c *workload.Claim[int64]) {
	if !e.claimed {
		return
	}
	w.canOther = true
	w.setValue(facet, integer(e.value))
	n := claimedBy(v.wantSlot(b.slot, v.a.boundText(b, e.value, v.original(b.slot))), c)
	if l := v.entryAt(n.location); l != nil {
		n.valueForWas = v.a.boundText(b, e.value, l.entry.Was)
	}
	w.add(n)
}

// boundText returns a bound in the kind's encoding; the owner's text if it means the same number.
func (a *Adapter) boundText(b *bound, n int64, own string) string {
	if has, ok := a.readBound(b, own); ok && has != nil && *has == n {
		return own
	}
	return a.encode(n)
}

// addHold adds the fields of the hold variant that fits.
func (v *view) addHold(w *wants, c *workload.Claim[bool]) {
	if c == nil || !c.Value {
		return
	}
	w.asksOther = true
	w.setFirst(c.By)
	hold := v.variantOf(v.a.hold)
	if hold == nil {
		return
	}
	w.canOther = true
	w.setValue("hold", "true")
	if len(hold.already) > 0 && v.isSet(hold) {
		return // the owner holds it: left alone
	}
	for _, set := range hold.set {
		w.add(claimedBy(v.wantSlot(set.slot, set.value), c))
	}
}

// addAnnotations adds annotations in the adapter's place for annotations.
func (v *view) addAnnotations(w *wants, annotations map[string]workload.Claim[string]) error {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		c := annotations[key]
		s := v.a.annotate[key]
		if key == v1alpha1.AnnotationLedger {
			return fmt.Errorf("annotation %s is Flyball's own and cannot be set by %s", key, c.By)
		}
		if s == nil {
			return fmt.Errorf("annotation %s, which %s sets, is not part of the projection of adapter %s", key, c.By, v.a.name)
		}
		w.asksOther = true
		w.setFirst(c.By)
		if v.current(s).Depth == blocked {
			continue
		}
		w.canOther = true
		w.setValue(key, c.Value)
		w.add(claimedBy(v.wantSlot(s, quoted(c.Value)), &c))
	}
	return nil
}

// quoted returns a JSON string.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail to encode
	return strings.TrimSuffix(b.String(), "\n")
}
