package path

import "strconv"

// Overlap reports whether the two paths could, in some document, select the same value or values that lie one inside
// the other. It is symmetric and errs on the side of true: a wildcard overlaps anything, a filter any index and any
// filter that it does not contradict, an index the field of the same number (they have the same pointer).
func Overlap(a, b Path) bool {
	x, y := a.steps(), b.steps()
	for i := range min(len(x), len(y)) {
		if x[i].disjoint(y[i]) {
			return false
		}
	}
	return true
}

// Covers reports whether, in every document, each value that b selects is selected by a or lies inside a value that a
// selects.
func Covers(a, b Path) bool {
	x, y := a.steps(), b.steps()
	if len(x) > len(y) {
		return false
	}
	for i := range x {
		if !x[i].covers(y[i]) {
			return false
		}
	}
	return true
}

// disjoint reports whether no value is selected by both steps from the same container.
func (s Step) disjoint(t Step) bool {
	if s.Kind > t.Kind {
		s, t = t, s
	}
	switch {
	case t.Kind == Wildcard || s.Kind == Wildcard:
		return false
	case s.Kind == Field && t.Kind == Field:
		return s.Name != t.Name
	case s.Kind == Field && t.Kind == Index:
		return s.Name != strconv.Itoa(t.Index)
	case s.Kind == Field && t.Kind == Where:
		// A filter selects from arrays, a field from objects; but a pointer's field may be an index.
		_, isIndex := arrayIndex(s.Name)
		return !isIndex
	case s.Kind == Index && t.Kind == Index:
		return s.Index != t.Index
	case s.Kind == Index:
		return false
	default:
		return s.Filter.contradicts(t.Filter)
	}
}

// covers reports whether s selects everything that t selects from the same container.
func (s Step) covers(t Step) bool {
	if s.Kind == Where && t.Kind == Where && s.Filter.implied(t.Filter) {
		return true
	}
	return s.Kind == Wildcard || s.equal(t)
}

// contradicts reports whether no element satisfies both filters. Literals are canonical, so equal values have equal text.
func (f Filter) contradicts(g Filter) bool {
	if !f.Key.Equal(g.Key) {
		return false
	}
	same := f.Literal == g.Literal
	if f.Op == Equals && g.Op == Equals {
		return !same
	}
	return f.Op != g.Op && same
}

// implied reports whether every element that satisfies g satisfies f, which differs from it: a key that equals one
// literal differs from any other.
func (f Filter) implied(g Filter) bool {
	return f.Key.Equal(g.Key) && f.Op == Differs && g.Op == Equals && f.Literal != g.Literal
}

// selects reports whether the step enumerates elements.
func (s Step) selects() bool { return s.Kind == Wildcard || s.Kind == Where }
