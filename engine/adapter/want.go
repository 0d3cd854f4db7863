package adapter

import (
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

// want is one field's wish with the claim behind it.
type want struct {
	// label names the field in messages: replicas, hot count.
	label    string
	pointer  string
	site     site
	field    workload.Field
	viaScale bool
	// element is the name of the list element, empty for plain fields.
	element string
	// sized is true for fields that the size wants.
	sized bool

	// value is the JSON text wanted; empty: none. original is the owner's.
	value, original string
	// before is what the same claim wanted of the original that the ledger has; it differs from value when somebody
	// else's value has become the original.
	before string

	by      workload.Policy
	since   time.Time
	enforce bool
	// once is, where the value is to be set once, the JSON text of what is asked for, before bounds; resumed says that it
	// has been set.
	once    string
	resumed bool
}

// wishes is all that a plan wants of one object.
type wishes struct {
	list []want
	// values are the wishes by facet, for status.
	values map[string]string
	// sized and sizeAble say whether a size is asked for, and whether the object can do it; facets likewise.
	sized, sizeAble   bool
	facets, facetAble bool
	// first is who asks first: for size, else for the first facet.
	first workload.Policy
	// fixed says of each count that the size would change, but that must stay as it is, why.
	fixed []string
}

// wish turns a plan into values of fields. Where two facets want the same field, the first has it: size, hold, bounds,
// annotations.
func (v *view) wish(plan workload.Plan) (wishes, error) {
	var w wishes
	v.wishSize(&w, plan)
	v.wishHold(&w, plan.Hold)
	v.wishBounds(&w, plan)
	err := v.wishNotes(&w, plan.Annotations)
	return w, err
}

func (w *wishes) asked(by workload.Policy) {
	if w.first == (workload.Policy{}) {
		w.first = by
	}
}

// note remembers a wish by its facet.
func (w *wishes) note(facet, value string) {
	if w.values == nil {
		w.values = map[string]string{}
	}
	w.values[facet] = value
}

func (w *wishes) add(n want) {
	if !slices.ContainsFunc(w.list, func(o want) bool { return o.pointer == n.pointer }) {
		w.list = append(w.list, n)
	}
}

// wanted is a want on a plain field.
func (v *view) wanted(s *slot, value string) want {
	return want{
		label: s.tokens[len(s.tokens)-1], pointer: s.pointer, site: site{siteSlot, s.index}, field: v.current(s),
		viaScale: s.viaScale, value: value, before: value, original: v.original(s),
	}
}

func claimed[T any](n want, c *workload.Claim[T]) want {
	n.by, n.since, n.enforce = c.By, c.Since, c.Enforce
	return n
}

func (v *view) wishSize(w *wishes, plan workload.Plan) {
	if plan.Size == nil || plan.Size.Value.Mode == workload.SizeOwn {
		return
	}
	w.sized = true
	w.asked(plan.Size.By)
	suspend := v.variant(v.a.suspend)
	if suspend != nil && plan.Asleep() && v.isSet(suspend) {
		w.sizeAble = true // the owner has it suspended: left alone
		return
	}
	if suspend != nil && plan.Size.Value.Mode == workload.SizeSleep {
		w.sizeAble = true
		w.note("suspend", "true")
		for _, set := range suspend.set {
			n := claimed(v.wanted(set.slot, set.value), plan.Size)
			n.sized = true
			w.add(n)
		}
		return
	}
	v.wishCounts(w, plan)
}

func (v *view) wishCounts(w *wishes, plan workload.Plan) {
	size, once := plan.Size.Value, ""
	if plan.Size.Once {
		once, size = integer(size.Replicas), within(size, plan.Within)
	}
	counts, scaled := v.counts(), 0
	for i := range counts {
		if counts[i].Fixed {
			w.leave(v, &counts[i], size)
			continue
		}
		scaled++
		if plan.Size.Resumed && !counts[i].isSetOnce() {
			continue // given back, if it was taken
		}
		n := claimed(v.wantedCount(&counts[i], size), plan.Size)
		n.once, n.resumed = once, plan.Size.Resumed
		if len(v.a.components) > 1 && n.element == "" {
			n.label = counts[i].Name + " " + n.label
		}
		w.add(n)
		w.note("replicas/"+counts[i].Name, integer(size.Of(counts[i].Component)))
	}
	w.sizeAble = scaled > 0 || len(counts) > 0 && len(w.fixed) == 0
}

// isSetOnce says whether the count was set once, for whomever.
func (c *count) isSetOnce() bool {
	return c.entry != nil && c.entry.entry.Once != "" && !c.entry.ours
}

// leave passes over a count that must stay as it is, and remembers why if the size would change it.
func (w *wishes) leave(v *view, c *count, size workload.Size) {
	free := c.Component
	free.Fixed = false
	if n := size.Of(free); n == c.Replicas {
		w.note("replicas/"+c.Name, integer(n))
		return
	}
	why := v.failing(c.part.when, v.original)
	w.fixed = append(w.fixed, c.Name+" must not be scaled: "+why.finding(v.original))
}

// within brings a size into bounds.
func within(size workload.Size, b *workload.Bounds) workload.Size {
	if b != nil {
		size.Replicas = b.Clamp(size.Replicas)
	}
	return size
}

func (v *view) wantedCount(c *count, size workload.Size) want {
	var n want
	if c.element < 0 {
		n = v.wanted(c.part.slot, "")
	} else {
		e := &v.obj.Elements[c.element]
		n = want{label: e.Name + " " + path.Pointer(e.Pointer).Last(), pointer: e.Pointer,
			site: site{siteElement, c.element}, field: e.Field, element: e.Name, original: c.original}
	}
	n.sized = true
	n.value = c.part.text(size, c.original)
	n.viaScale = n.viaScale && n.value != "" // /scale cannot remove
	n.before = n.value
	if c.entry != nil {
		n.before = c.part.text(size, c.entry.entry.Was)
	}
	return n
}

// text is the count that a size leaves of an owner's, which stays as it is written where that is the same number.
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

// wishBounds keeps the lower end at or below the upper one: an end that nobody claims is the owner's and limits the other.
func (v *view) wishBounds(w *wishes, plan workload.Plan) {
	lo, hi := v.end(v.a.min, plan.Min), v.end(v.a.max, plan.Max)
	for _, c := range []*workload.Claim[int64]{plan.Min, plan.Max} {
		if c != nil {
			w.facets = true
			w.asked(c.By)
		}
	}
	switch {
	case lo.claimed && hi.claimed:
		hi.value = max(hi.value, lo.value)
	case lo.claimed && hi.known:
		lo.value = max(min(lo.value, hi.value), v.a.min.minimum)
	case hi.claimed && lo.known:
		hi.value = max(hi.value, lo.value)
	}
	if hi.claimed && v.a.max.unlimited != nil && hi.value == *v.a.max.unlimited {
		least := int64(1)
		if lo.known || lo.claimed {
			least = max(least, lo.value)
		}
		hi.value = max(hi.value, least) // a small number that would be read as no limit
	}
	v.wishBound(w, "min", v.a.min, lo, plan.Min)
	v.wishBound(w, "max", v.a.max, hi, plan.Max)
}

// end is one end of a range: the number claimed, or else the owner's if there is one that limits.
type end struct {
	value          int64
	claimed, known bool
}

func (v *view) end(b *bound, c *workload.Claim[int64]) end {
	if b == nil {
		return end{}
	}
	own, usable := v.bound(b)
	if c != nil && usable {
		return end{value: max(c.Value, b.minimum), claimed: true}
	}
	if own == nil || b.unlimited != nil && *own == *b.unlimited {
		return end{}
	}
	return end{value: *own, known: true}
}

func (v *view) wishBound(w *wishes, facet string, b *bound, e end, c *workload.Claim[int64]) {
	if !e.claimed {
		return
	}
	w.facetAble = true
	w.note(facet, integer(e.value))
	n := claimed(v.wanted(b.slot, v.a.boundText(b, e.value, v.original(b.slot))), c)
	if l := v.entryAt(n.site); l != nil {
		n.before = v.a.boundText(b, e.value, l.entry.Was)
	}
	w.add(n)
}

// boundText is a bound as the kind has it; the owner's text where it means the same number.
func (a *Adapter) boundText(b *bound, n int64, own string) string {
	if has, ok := a.readBound(b, own); ok && has != nil && *has == n {
		return own
	}
	return a.encode(n)
}

func (v *view) wishHold(w *wishes, c *workload.Claim[bool]) {
	if c == nil || !c.Value {
		return
	}
	w.facets = true
	w.asked(c.By)
	hold := v.holding()
	if hold == nil {
		return
	}
	w.facetAble = true
	w.note("hold", "true")
	for _, set := range hold.set {
		w.add(claimed(v.wanted(set.slot, set.value), c))
	}
}

func (v *view) wishNotes(w *wishes, notes map[string]workload.Claim[string]) error {
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		c := notes[key]
		s := v.a.notes[key]
		if key == v1alpha1.AnnotationLedger {
			return fmt.Errorf("annotation %s is Flyball's own and cannot be set by %s", key, c.By)
		}
		if s == nil {
			return fmt.Errorf("annotation %s, which %s sets, is not part of the projection of adapter %s", key, c.By, v.a.name)
		}
		w.facets = true
		w.asked(c.By)
		if v.current(s).Depth == blocked {
			continue
		}
		w.facetAble = true
		w.note(key, c.Value)
		w.add(claimed(v.wanted(s, quoted(c.Value)), &c))
	}
	return nil
}

// quoted is a JSON string.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string cannot fail to encode
	return strings.TrimSuffix(b.String(), "\n")
}
