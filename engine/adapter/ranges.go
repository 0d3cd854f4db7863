package adapter

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// The ends of ranges in lists are elements too. These are their numbers in Element.Component, above the numbers of
// counts and amounts.
const (
	lowEnds  = 254
	highEnds = 255
)

// eachBound is one end of the range that every element of a list has.
type eachBound struct {
	bound
	path path.Path // absolute
	// relative is the number of steps from an element to its bound.
	relative int
}

// boundsEach compiles one range per element of a list.
func (c *compiler) boundsEach(at *field.Path, spec *v1alpha1.Bounds) {
	each, ok := c.parse(at.Child("each"), spec.Each)
	var names []path.Path
	if spec.NameFrom != "" {
		named, okName := c.plain(at.Child("nameFrom"), spec.NameFrom)
		ok = ok && okName
		names = append(names, each.Join(named))
	}
	if !ok {
		return
	}
	if last := each.Steps()[each.Len()-1].Kind; last != path.Wildcard && last != path.Where {
		c.invalid(at.Child("each"), spec.Each, "must end in [*] or a filter, which yields the elements of a list")
		return
	}
	c.use(at.Child("each"), each, false, path.Object)
	c.lastUse().ByPosition = spec.NameFrom == ""
	if spec.NameFrom != "" {
		c.use(at.Child("nameFrom"), names[0], false, path.String)
	}
	c.a.lows = c.eachBound(at.Child("min"), spec.Min, spec.Encoding, each, names, lowEnds)
	c.a.highs = c.eachBound(at.Child("max"), spec.Max, spec.Encoding, each, names, highEnds)
}

func (c *compiler) eachBound(at *field.Path, spec *v1alpha1.Bound, encoding v1alpha1.Encoding, each path.Path, names []path.Path,
	component int) *eachBound {
	if spec == nil {
		return nil
	}
	c.boundNumbers(at, spec)
	relative, ok := c.plain(at.Child("path"), spec.Path)
	if !ok {
		return nil
	}
	p := each.Join(relative)
	if why := forbidden(p.Steps()); why != "" {
		c.invalid(at.Child("path"), spec.Path, "%s", why)
		return nil
	}
	c.written = append(c.written, writtenPath{at.Child("path"), facetBounds, p})
	c.use(at.Child("path"), p, true, boundType(encoding))
	c.addEach(component, each, p, false, names...)
	return &eachBound{bound: bound{absent: spec.Default, minimum: spec.Minimum, unlimited: spec.Unlimited}, path: p, relative: relative.Len()}
}

// ends are the two ends of the range of one list element, as indexes in Object.Elements; -1 for a missing end.
type ends struct{ low, high int }

// ranges returns the ranges of the object's list elements. fault describes the first end that cannot be read or
// identified. With a fault, bounds change no range.
func (v *view) ranges() (all []ends, fault string) {
	if fault = v.crowdFault(isEnd); fault != "" {
		return nil, fault
	}
	byElement, elements := map[string]int{}, v.index()
	for k := range v.obj.Elements {
		e := &v.obj.Elements[k]
		b := v.eachBoundOf(k)
		if b == nil || e.Outside {
			continue
		}
		fault = cmp.Or(fault, elements.fault(k))
		if e.Depth == blocked {
			fault = cmp.Or(fault, elementLabel(e)+" has no place for a bound at "+e.Pointer)
		} else if _, ok := v.a.readBound(&b.bound, v.originalOf(k)); !ok {
			fault = cmp.Or(fault, "the bound of "+elementLabel(e)+" is "+brief(v.originalOf(k))+", which is no whole number of 0 or more")
		}
		tokens := path.Pointer(e.Pointer).Tokens()
		element := strings.Join(tokens[:len(tokens)-b.relative], "/")
		i, known := byElement[element]
		if !known {
			i = len(all)
			byElement[element] = i
			all = append(all, ends{-1, -1})
		}
		if int(e.Component) == lowEnds {
			all[i].low = k
		} else {
			all[i].high = k
		}
	}
	return all, fault
}

// eachBoundOf returns the compiled bound of the field at an index in Object.Elements, or nil if the field is no bound.
func (v *view) eachBoundOf(k int) *eachBound {
	switch v.obj.Elements[k].Component {
	case lowEnds:
		return v.a.lows
	case highEnds:
		return v.a.highs
	}
	return nil
}

// addRanges adds the ends of the ranges of list elements.
func (v *view) addRanges(w *wants, plan workload.Plan) {
	if v.a.lows == nil && v.a.highs == nil || plan.Min == nil && plan.Max == nil {
		return
	}
	ranges, fault := v.ranges()
	if fault = cmp.Or(fault, v.unclearFault()); fault != "" {
		w.keepEntries(fault, func(at location) bool { return at.kind == inElement && v.eachBoundOf(at.index) != nil })
		return
	}
	for _, r := range ranges {
		lo, hi := v.endOfElement(r.low, plan.Min), v.endOfElement(r.high, plan.Max)
		lo, hi = inOrder(lo, hi, boundIn(v.a.lows), boundIn(v.a.highs))
		v.addRangeEnd(w, "min", r.low, lo, plan.Min)
		v.addRangeEnd(w, "max", r.high, hi, plan.Max)
	}
}

func boundIn(b *eachBound) *bound {
	if b == nil {
		return nil
	}
	return &b.bound
}

// endOfElement returns one end of the range of a list element. k is the index of the end in Object.Elements; -1: the
// element lacks this end.
func (v *view) endOfElement(k int, c *workload.Claim[int64]) end {
	if k < 0 {
		return end{}
	}
	b := v.eachBoundOf(k)
	own, usable := v.a.readBound(&b.bound, v.originalOf(k))
	return endFrom(&b.bound, own, usable, c)
}

func (v *view) addRangeEnd(w *wants, facet string, k int, e end, c *workload.Claim[int64]) {
	if !e.claimed {
		return
	}
	w.canOther = true
	w.setValue(facet, integer(e.value))
	element, b := &v.obj.Elements[k], &v.eachBoundOf(k).bound
	original := v.originalOf(k)
	n := want{label: elementLabel(element) + " " + path.Pointer(element.Pointer).Last(), pointer: element.Pointer,
		location: location{inElement, k},
		field:    element.Field, element: element, original: original, value: v.a.boundText(b, e.value, original)}
	n.valueForWas = n.value
	if l := v.entryAt(n.location); l != nil {
		n.valueForWas = v.a.boundText(b, e.value, l.entry.Was)
	}
	w.add(claimedBy(n, c))
}
