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

// disjointSteps has functions, by the kinds of two steps, that report whether the steps select no common value
// from the same container. Kinds without an entry may always select the same value. A pair of kinds has one
// entry, the smaller kind first.
var disjointSteps = [Where + 1][Where + 1]func(s, t Step) bool{
	Field: {
		Field: func(s, t Step) bool { return s.Name != t.Name },
		Index: func(s, t Step) bool { return s.Name != strconv.Itoa(t.Index) },
		// A filter selects from arrays and a field from objects, but the field of a pointer may be an index.
		Where: func(s, _ Step) bool { _, isIndex := arrayIndex(s.Name); return !isIndex },
	},
	Index: {
		Index: func(s, t Step) bool { return s.Index != t.Index },
	},
	Where: {
		Where: func(s, t Step) bool { return s.Filter.contradicts(t.Filter) },
	},
}

// disjoint reports whether no value is selected by both steps from the same container.
func (s Step) disjoint(t Step) bool {
	if s.Kind > t.Kind {
		s, t = t, s
	}
	rule := disjointSteps[s.Kind][t.Kind]
	return rule != nil && rule(s, t)
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

// implied reports whether every element that satisfies g satisfies f, a different filter: a key equal to one literal
// differs from any other.
func (f Filter) implied(g Filter) bool {
	return f.Key.Equal(g.Key) && f.Op == Differs && g.Op == Equals && f.Literal != g.Literal
}

// selects reports whether the step enumerates elements.
func (s Step) selects() bool { return s.Kind == Wildcard || s.Kind == Where }
