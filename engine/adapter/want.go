package adapter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// wants has all wanted fields of an object.
type wants struct {
	list []ledger.Want
	// values are the wanted values by facet, for status.
	values map[string]string
	// asksSize is true if a size is claimed. canSize is true if the object can take a size. asksOther and canOther are the
	// same for all other facets.
	asksSize, canSize   bool
	asksOther, canOther bool
	// first is the first claimant: of the size, else of the first other facet.
	first workload.Policy
	// kept selects fields without a claim whose entries stay, because the claimed change cannot be made now.
	kept []func(projection.Location) bool
	// fixed has the reasons why counts must not change. reasons has the reasons for all other omitted changes.
	fixed, reasons []string
}

// wantsOf turns a plan into values of fields. If two facets want the same field, the first of them in this order gets
// it: size, hold, bounds, amounts, annotations.
func (v renderer) wantsOf(plan workload.Plan) (wants, error) {
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
func (w *wants) keepEntries(why string, at func(projection.Location) bool) {
	w.kept, w.reasons = append(w.kept, at), append(w.reasons, why)
}

// keeps reports whether the entry of the field at a location stays.
func (w *wants) keeps(at projection.Location) bool {
	return slices.ContainsFunc(w.kept, func(kept func(projection.Location) bool) bool { return kept(at) })
}

// add adds a field, unless it is there already.
func (w *wants) add(n ledger.Want) {
	if !slices.ContainsFunc(w.list, func(o ledger.Want) bool { return o.Pointer == n.Pointer }) {
		w.list = append(w.list, n)
	}
}

// wantSlot returns the want of a value on a plain field.
func (v renderer) wantSlot(s *projection.Slot, value string) ledger.Want {
	return ledger.Want{
		Label: s.Tokens[len(s.Tokens)-1], Pointer: s.Pointer, Location: projection.AtSlot(s.Index), Field: v.Current(s),
		ViaScale: s.ViaScale, Value: value, ValueForWas: value, Original: v.Original(s),
	}
}

// claimedBy sets the claim of a want.
func claimedBy[T any](n ledger.Want, c *workload.Claim[T]) ledger.Want {
	n.By, n.Also, n.Since, n.Enforce = c.By, c.Also, c.Since, c.Enforce
	return n
}

// addSize adds the fields of a size: the fields of suspend if the target is to sleep and can be suspended, else the
// counts.
func (v renderer) addSize(w *wants, plan workload.Plan) {
	if plan.Size == nil || plan.Size.Value.Mode == workload.SizeOwn {
		return
	}
	w.asksSize = true
	w.setFirst(plan.Size.By)
	suspend := v.VariantOf(v.Spec.Suspend)
	if suspend != nil && plan.Asleep() && v.IsSet(suspend) {
		w.canSize = true // the owner has it suspended: left alone
		return
	}
	if v.isUnable(w, plan.Size.Value) {
		return
	}
	if suspend != nil && plan.Size.Value.Mode == workload.SizeSleep {
		w.canSize = true
		w.setValue("suspend", "true")
		for _, set := range suspend.Set {
			n := claimedBy(v.wantSlot(set.Slot, set.Value), plan.Size)
			n.Sized, n.Awake = true, set.Awake
			w.add(n)
		}
		return
	}
	v.addCounts(w, plan)
}

// isUnable reports whether the object keeps its size because of the adapter's unable, and adds the reason. Counts at their
// lowest need no change.
func (v renderer) isUnable(w *wants, size workload.Size) bool {
	claim := v1alpha1.UnableSize
	if size.Mode == workload.SizeSleep || size.Mode == workload.SizePercent && size.Percent == 0 ||
		size.Mode != workload.SizePercent && size.Replicas == 0 {
		claim = v1alpha1.UnableSleep
	}
	why := v.Unable(claim)
	if why == "" {
		return false
	}
	counts, fault := v.Counts()
	w.canSize = claim == v1alpha1.UnableSleep && fault == "" && len(counts) > 0 && !slices.ContainsFunc(counts, func(c ledger.Count) bool {
		free := c.Component
		free.Fixed = false
		return size.Of(free) != free.Replicas
	})
	if !w.canSize {
		w.fixed = append(w.fixed, why)
	}
	return true
}

// addCounts adds the counts that a size changes or leaves.
func (v renderer) addCounts(w *wants, plan workload.Plan) {
	size, once := plan.Size.Value, ""
	if plan.Size.Once {
		once, size = path.Integer(size.Replicas), clamped(size, plan.Within)
	}
	counts, fault := v.Counts()
	if fault = cmp.Or(fault, v.UnclearFault()); fault != "" {
		w.keepEntries(fault, func(at projection.Location) bool { return v.ComponentAt(at) != nil })
		return
	}
	scaled := 0
	for i := range counts {
		if counts[i].Fixed {
			v.addFixed(w, &counts[i], size)
			continue
		}
		scaled++
		if plan.Size.Resumed && (counts[i].Entry == nil || counts[i].Entry.State != ledger.FieldSetOnce) {
			continue // this count was not set then, so it has no claim and its original is restored
		}
		n := claimedBy(v.wantCount(&counts[i], size), plan.Size)
		n.Once, n.Resumed = once, plan.Size.Resumed
		if len(v.Spec.Components) > 1 && n.Element == nil {
			n.Label = counts[i].Name + " " + n.Label
		}
		w.add(n)
		w.setValue("replicas/"+counts[i].Name, path.Integer(size.Of(counts[i].Component)))
	}
	w.canSize = scaled > 0 || len(counts) > 0 && len(w.fixed) == 0
	if v.Spec.LiftsCounts && !plan.Size.Once {
		v.addLows(w, plan.Size)
	}
}

// addFixed passes over a count that must not change, and adds the reason if the size would change it.
func (v renderer) addFixed(w *wants, c *ledger.Count, size workload.Size) {
	free := c.Component
	free.Fixed = false
	if n := size.Of(free); n == c.Replicas {
		w.setValue("replicas/"+c.Name, path.Integer(n))
		return
	}
	why := c.Part.When.Failing(v.Original)
	w.fixed = append(w.fixed, c.Name+" must not be scaled: "+why.Finding(v.Original))
}

// clamped brings a size into bounds, if any.
func clamped(size workload.Size, b *workload.Bounds) workload.Size {
	if b != nil {
		size.Replicas = b.Clamp(size.Replicas)
	}
	return size
}

// wantCount returns the want of a size on one count.
func (v renderer) wantCount(c *ledger.Count, size workload.Size) ledger.Want {
	var n ledger.Want
	if c.Element < 0 {
		n = v.wantSlot(c.Part.Slot, "")
	} else {
		e := &v.Object.Elements[c.Element]
		n = ledger.Want{Label: ledger.ElementLabel(e) + " " + path.Pointer(e.Pointer).Last(), Pointer: e.Pointer,
			Location: projection.AtElement(c.Element), Field: e.Field, Element: e, Original: c.Original}
	}
	n.Sized = true
	n.Value = c.Part.Text(size, c.Original)
	n.ViaScale = n.ViaScale && n.Value != "" // /scale cannot remove
	n.ValueForWas = n.Value
	if c.Entry != nil {
		n.ValueForWas = c.Part.Text(size, c.Entry.Entry.Was)
	}
	return n
}

// addBounds adds the two ends of a range, with the lower end at or below the upper end. An end without a claim keeps the
// owner's value, which limits the other end.
func (v renderer) addBounds(w *wants, plan workload.Plan) {
	for _, c := range []*workload.Claim[int64]{plan.Min, plan.Max} {
		if c != nil {
			w.asksOther = true
			w.setFirst(c.By)
		}
	}
	if why := v.Unable(v1alpha1.UnableBounds); why != "" {
		if (plan.Min != nil || plan.Max != nil) && !slices.Contains(w.fixed, why) {
			w.reasons = append(w.reasons, why)
		}
		return
	}
	lo, hi := v.endOfObject(v.Spec.Min, plan.Min), v.endOfObject(v.Spec.Max, plan.Max)
	lo, hi = inOrder(lo, hi, v.Spec.Min, v.Spec.Max)
	v.addBound(w, "min", v.Spec.Min, lo, plan.Min)
	v.addBound(w, "max", v.Spec.Max, hi, plan.Max)
	v.addRanges(w, plan)
}

// inOrder returns the two ends with the lower one at or below the upper one.
func inOrder(lo, hi end, low, high *compiled.Bound) (end, end) {
	switch {
	case lo.claimed && hi.claimed:
		hi.value = max(hi.value, lo.value)
	case lo.claimed && hi.known:
		lo.value = max(min(lo.value, hi.value), low.Minimum)
	case hi.claimed && lo.known:
		hi.value = max(hi.value, lo.value)
	}
	if hi.claimed && high.Unlimited != nil && hi.value == *high.Unlimited {
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
func (v renderer) endOfObject(b *compiled.Bound, c *workload.Claim[int64]) end {
	if b == nil {
		return end{}
	}
	own, usable := v.Bound(b)
	return endFrom(b, own, usable, c)
}

// endFrom returns the claimed end, or else the owner's.
func endFrom(b *compiled.Bound, own *int64, usable bool, c *workload.Claim[int64]) end {
	if c != nil && usable {
		return end{value: max(c.Value, b.Minimum), claimed: true}
	}
	if own == nil || b.Unlimited != nil && *own == *b.Unlimited {
		return end{}
	}
	return end{value: *own, known: true}
}

// addBound adds one end of a range, if it is claimed.
func (v renderer) addBound(w *wants, facet string, b *compiled.Bound, e end, c *workload.Claim[int64]) {
	if !e.claimed {
		return
	}
	w.canOther = true
	w.setValue(facet, path.Integer(e.value))
	n := claimedBy(v.wantSlot(b.Slot, v.Spec.BoundText(b, e.value, v.Original(b.Slot))), c)
	if l := v.EntryAt(n.Location); l != nil {
		n.ValueForWas = v.Spec.BoundText(b, e.value, l.Entry.Was)
	}
	w.add(n)
}

// addHold adds the fields of the hold variant that fits.
func (v renderer) addHold(w *wants, c *workload.Claim[bool]) {
	if c == nil || !c.Value {
		return
	}
	w.asksOther = true
	w.setFirst(c.By)
	hold := v.VariantOf(v.Spec.Hold)
	if hold == nil {
		return
	}
	w.canOther = true
	w.setValue("hold", "true")
	if len(hold.Already) > 0 && v.IsSet(hold) {
		return // the owner holds it: left alone
	}
	for _, set := range hold.Set {
		n := claimedBy(v.wantSlot(set.Slot, set.Value), c)
		n.Awake = set.Awake
		w.add(n)
	}
}

// addAnnotations adds annotations in the adapter's place for annotations.
func (v renderer) addAnnotations(w *wants, annotations map[string]workload.Claim[string]) error {
	if len(annotations) == 0 {
		return nil // the common case, without a list of keys
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		c := annotations[key]
		s := v.Spec.Annotate[key]
		if key == v1alpha1.AnnotationLedger {
			return fmt.Errorf("annotation %s is Flyball's own and cannot be set by %s", key, c.By)
		}
		if s == nil {
			return fmt.Errorf("annotation %s, which %s sets, is not part of the projection of adapter %s", key, c.By, v.Spec.Name())
		}
		w.asksOther = true
		w.setFirst(c.By)
		if v.Current(s).Depth == projection.Blocked {
			continue
		}
		w.canOther = true
		w.setValue(key, c.Value)
		w.add(claimedBy(v.wantSlot(s, path.Quote(c.Value)), &c))
	}
	return nil
}
