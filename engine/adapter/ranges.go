package adapter

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// addRanges adds the ends of the ranges of list elements.
func (v renderer) addRanges(w *wants, plan workload.Plan) {
	if v.Spec.Lows == nil && v.Spec.Highs == nil || plan.Min == nil && plan.Max == nil {
		return
	}
	ranges, fault := v.Ranges()
	if fault = cmp.Or(fault, v.UnclearFault()); fault != "" {
		w.keepEntries(fault, func(at projection.Location) bool {
			return at.Kind == projection.InElement && v.EachBoundOf(at.Index) != nil
		})
		return
	}
	for _, r := range ranges {
		lo, hi := v.endOfElement(r.Low, plan.Min), v.endOfElement(r.High, plan.Max)
		lo, hi = inOrder(lo, hi, boundIn(v.Spec.Lows), boundIn(v.Spec.Highs))
		v.addRangeEnd(w, "min", r.Low, lo, plan.Min)
		v.addRangeEnd(w, "max", r.High, hi, plan.Max)
	}
}

func boundIn(b *compiled.EachBound) *compiled.Bound {
	if b == nil {
		return nil
	}
	return &b.Bound
}

// endOfElement returns one end of the range of a list element. k is the index of the end in Object.Elements; -1: the
// element lacks this end.
func (v renderer) endOfElement(k int, c *workload.Claim[int64]) end {
	if k < 0 {
		return end{}
	}
	b := v.EachBoundOf(k)
	own, usable := v.Spec.ReadBound(&b.Bound, v.OriginalOf(k))
	return endFrom(&b.Bound, own, usable, c)
}

// addLows adds the minimums above the wanted counts of their list elements. Without minimums that can be read, the counts
// alone change.
func (v renderer) addLows(w *wants, size *workload.Claim[workload.Size]) {
	ranges, fault := v.Ranges()
	if fault != "" {
		return
	}
	counts := slices.Clone(w.list)
	for _, r := range ranges {
		if r.Low < 0 {
			continue
		}
		low := &v.Object.Elements[r.Low]
		own, _ := v.Spec.ReadBound(&v.Spec.Lows.Bound, v.OriginalOf(r.Low))
		tokens := path.Pointer(low.Pointer).Tokens()
		around := tokens[:len(tokens)-v.Spec.Lows.Relative]
		for i := range counts {
			n := &counts[i]
			count, ok := path.Natural(n.Value)
			inside := n.Element != nil && n.Element.Part.Kind == workload.PartCount && slices.Equal(around, first(n.Pointer, len(around)))
			if ok && inside && own != nil && count < *own {
				w.add(claimedBy(v.wantEnd(r.Low, count), size))
			}
		}
	}
}

// first returns the first n tokens of a pointer, or all if there are fewer.
func first(pointer string, n int) []string {
	tokens := path.Pointer(pointer).Tokens()
	return tokens[:min(n, len(tokens))]
}

func (v renderer) addRangeEnd(w *wants, facet string, k int, e end, c *workload.Claim[int64]) {
	if !e.claimed {
		return
	}
	w.canOther = true
	w.setValue(facet, path.Integer(e.value))
	w.add(claimedBy(v.wantEnd(k, e.value), c))
}

// wantEnd returns the want of a number on one end of the range of a list element.
func (v renderer) wantEnd(k int, value int64) ledger.Want {
	element, b := &v.Object.Elements[k], &v.EachBoundOf(k).Bound
	original := v.OriginalOf(k)
	n := ledger.Want{Label: ledger.ElementLabel(element) + " " + path.Pointer(element.Pointer).Last(), Pointer: element.Pointer,
		Location: projection.AtElement(k),
		Field:    element.Field, Element: element, Original: original, Value: v.Spec.BoundText(b, value, original)}
	n.ValueForWas = n.Value
	if l := v.EntryAt(n.Location); l != nil {
		n.ValueForWas = v.Spec.BoundText(b, value, l.Entry.Was)
	}
	return n
}
