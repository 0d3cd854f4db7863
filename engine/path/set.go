package path

import (
	"slices"
	"sync"
)

// Set is a set of paths compiled into one trie, so that one walk of a document finds all matches. It is made by NewSet,
// is immutable, and is safe for concurrent use.
type Set struct {
	paths    []Path
	pointers []Pointer // of the plain paths
	root     *node
	walks    sync.Pool // of *walk
}

// NewSet compiles the paths. A path is identified by its position among the arguments; the same path may be
// given twice.
func NewSet(paths ...Path) *Set {
	s := &Set{paths: slices.Clone(paths), pointers: make([]Pointer, len(paths)), root: &node{}}
	for i, p := range s.paths {
		s.root.insert(p.steps(), i)
		if p.IsPlain() {
			s.pointers[i] = plainPointer(p.steps())
		}
	}
	s.root.seal()
	s.walks.New = func() any { return &walk{set: s} }
	return s
}

// Paths returns the paths in the order they were given to NewSet.
func (s *Set) Paths() []Path { return slices.Clone(s.paths) }

// Match is a value selected by one path in one document. A Match and its Raw are valid only during the yield; Pointer
// and Value make copies that last.
type Match struct {
	// Raw is the JSON text of the value; nil if the value is absent. It aliases the document.
	Raw []byte
	// Depth is the number of leading tokens of the pointer that exist in the document; the length of the pointer if the
	// value exists. The value at the first Depth tokens may have a type without children.
	Depth int

	walk  *walk
	path  int
	place int
}

// Exists reports whether the document has the value.
func (m Match) Exists() bool { return m.Raw != nil }

// Type returns the JSON type of the value.
func (m Match) Type() Type {
	if !m.Exists() {
		return Absent
	}
	return typeOf(m.Raw[0])
}

// Path returns the matched path.
func (m Match) Path() Path { return m.walk.set.paths[m.path] }

// Pointer returns the JSON pointer of the value, with an index or a key for each wildcard and filter of the path. It
// allocates only for paths with a wildcard or filter.
func (m Match) Pointer() Pointer {
	path := m.Path()
	if path.IsPlain() {
		return m.walk.set.pointers[m.path]
	}
	pointer := m.walk.appendPointer(nil, m.place)
	for _, s := range path.steps()[m.Depth:] {
		pointer = appendToken(pointer, s.token())
	}
	return Pointer(pointer)
}

// Value returns a copy of the value. Its errors name the path, or the pointer if the path selects elements.
func (m Match) Value() Value {
	path := m.Path()
	v := Value{raw: string(m.Raw), at: path.String()}
	if !path.IsPlain() {
		v.at = string(m.Pointer())
	}
	return v
}

// Element returns the position, in its array or object, of the element that the innermost wildcard or filter of the
// path selected; -1 if the path has none. Matches of two paths with the same steps up to that wildcard belong to the
// same element if their Elements are equal.
func (m Match) Element() int {
	if place := m.innermost(); place > 0 {
		return m.walk.places[place].index
	}
	return -1
}

// ElementKey returns the pointer token of the innermost selected element: its index in an array, its key in an object;
// "" if the path selects no elements.
func (m Match) ElementKey() string {
	if place := m.innermost(); place > 0 {
		return m.walk.token(place)
	}
	return ""
}

// ElementInObject reports whether the innermost selected element is a member of an object, even with a key such as "0".
func (m Match) ElementInObject() bool { return m.walk.places[m.innermost()].keyed }

// innermost returns the place of the innermost selected element; 0, the document, if there is none.
func (m Match) innermost() int {
	steps := m.Path().steps()
	for place := m.place; place > 0; place = m.walk.places[place].parent {
		if steps[m.walk.places[place].depth-1].selects() {
			return place
		}
	}
	return 0
}

// Extract walks the document once and yields the matches of every path, with the path's position in the set. All matches
// of one path come in the order of the document. Matches of different paths are interleaved.
//
// A plain path has exactly one match, which is absent if the document lacks the value. A path with wildcards or filters
// has one match per selected element, and none if there is no element. A match is absent if its element lacks the value.
// A wildcard selects the elements of arrays and the members of objects. A filter selects the matching elements of an
// array.
//
// If the document is not JSON where the walk looks, nothing is yielded and the error is a *SyntaxError.
func (s *Set) Extract(raw []byte, yield func(index int, m Match)) error {
	return s.extract(raw, func(index int, m Match) bool {
		yield(index, m)
		return true
	})
}

func (s *Set) extract(raw []byte, yield func(index int, m Match) bool) error {
	w := s.walks.Get().(*walk)
	defer w.release()
	if err := w.run(raw); err != nil {
		return err
	}
	for _, f := range w.found {
		if !yield(f.path, w.match(f)) {
			return nil
		}
	}
	return nil
}
