package ledger

import (
	"cmp"
	"strings"

	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// ends are the two ends of the range of one list element, as indexes in Object.Elements; -1 for a missing end.
type ends struct{ Low, High int }

// Ranges returns the ranges of the object's list elements. fault describes the first end that cannot be read or
// identified. With a fault, bounds change no range.
func (v *View) Ranges() (all []ends, fault string) {
	if fault = v.crowdFault(workload.PartMin, workload.PartMax); fault != "" {
		return nil, fault
	}
	byElement, elements := map[string]int{}, v.index()
	for k := range v.Object.Elements {
		e := &v.Object.Elements[k]
		b := v.EachBoundOf(k)
		if b == nil || e.Outside {
			continue
		}
		fault = cmp.Or(fault, elements.Fault(k))
		if e.Depth == projection.Blocked {
			fault = cmp.Or(fault, ElementLabel(e)+" has no place for a bound at "+e.Pointer)
		} else if _, ok := v.Spec.ReadBound(&b.Bound, v.OriginalOf(k)); !ok {
			fault = cmp.Or(fault, "the bound of "+ElementLabel(e)+" is "+path.Brief(v.OriginalOf(k))+", which is no whole number of 0 or more")
		}
		tokens := path.Pointer(e.Pointer).Tokens()
		element := strings.Join(tokens[:len(tokens)-b.Relative], "/")
		i, known := byElement[element]
		if !known {
			i = len(all)
			byElement[element] = i
			all = append(all, ends{-1, -1})
		}
		if e.Part.Kind == workload.PartMin {
			all[i].Low = k
		} else {
			all[i].High = k
		}
	}
	return all, fault
}

// EachBoundOf returns the compiled bound of the field at an index in Object.Elements, or nil if the field is no bound.
func (v *View) EachBoundOf(k int) *compiled.EachBound {
	switch v.Object.Elements[k].Part.Kind {
	case workload.PartMin:
		return v.Spec.Lows
	case workload.PartMax:
		return v.Spec.Highs
	}
	return nil
}
