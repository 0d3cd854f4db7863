package path

import "strconv"

// Overlap reports whether, in some document, a value selected by one path could be, or be inside, a value selected by
// the other path. It is symmetric. If in doubt it returns true: a wildcard overlaps every step. A filter overlaps every
// index, and every filter that it does not contradict. An index overlaps the field with the same number as its name,
// because both have the same pointer.
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
		// A filter selects elements of arrays and a field selects members of objects, but the field of a pointer may be an
		// index.
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

// implied reports whether every element that satisfies g also satisfies f, a different filter. This is so if g demands
// one literal for a key, and f demands that the same key differs from another literal.
func (f Filter) implied(g Filter) bool {
	return f.Key.Equal(g.Key) && f.Op == Differs && g.Op == Equals && f.Literal != g.Literal
}

// selects reports whether the step enumerates elements.
func (s Step) selects() bool { return s.Kind == Wildcard || s.Kind == Where }
