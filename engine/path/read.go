package path

import "fmt"

// Get returns the value that the path selects. Of several matches it returns the first existing one, in the order of the
// document. Without a match it returns an absent value. A document that is not JSON where the walk looks is an error
// that wraps *SyntaxError.
func (p Path) Get(raw []byte) (Value, error) {
	v := Value{at: p.String()}
	err := p.All(raw, func(m Match) bool {
		if m.Exists() {
			v = m.Value()
		}
		return !m.Exists()
	})
	return v, err
}

// All yields every match of the path in the document until yield returns false, with the rules of Set.Extract: absent
// values are matches too. A document that is not JSON is an error that wraps *SyntaxError; nothing is yielded then.
func (p Path) All(raw []byte, yield func(Match) bool) error {
	err := p.own().extract(raw, func(_ int, m Match) bool { return yield(m) })
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	return nil
}

// own returns the set of this path alone.
func (p Path) own() *Set {
	if p.c == nil {
		return NewSet(p)
	}
	p.c.once.Do(func() { p.c.set = NewSet(p) })
	return p.c.set
}

// Presence is the value at a pointer, and the existing part of the way to it: the facts needed to restore the
// original exactly.
type Presence struct {
	// Value is the value at the pointer, or an absent one.
	Value Value
	// Depth is the number of leading tokens of the pointer that exist in the document.
	Depth int
}

// Probe reads the document at the pointer. A numeric token is an index in an array and a key in an object. For a
// document that is not JSON the error wraps *SyntaxError.
func Probe(raw []byte, pointer Pointer) (Presence, error) {
	all, err := ProbeAll(raw, pointer)
	if err != nil {
		return Presence{}, fmt.Errorf("read %s: %w", pointer, err)
	}
	return Presence{Value: Value{raw: string(all[0].Raw), at: string(pointer)}, Depth: all[0].Depth}, nil
}

// Found is the result for one of many pointers, without a copy.
type Found struct {
	// Raw is the JSON text of the value; nil if the value is absent. It aliases the document.
	Raw []byte
	// Depth is the number of leading tokens of the pointer that exist in the document.
	Depth int
	// Deepest is the type of the value at the first Depth tokens. Around is the type of the container of that value; Absent
	// if the value is the whole document.
	Deepest, Around Type
}

// Type returns the type of the value.
func (f *Found) Type() Type {
	if f.Raw == nil {
		return Absent
	}
	return typeOf(f.Raw[0])
}

// Members returns the number of members of an object or of elements of an array; 0 for any other value.
func (f *Found) Members() int {
	n := 0
	if t := f.Type(); t == Object || t == Array {
		for it := itemsOf(f.Raw, 0); it.next(); n++ {
			it.end, it.err = skipValue(it.doc, it.value)
		}
	}
	return n
}

// ProbeAll is Probe for many pointers in one walk. The results are in the order of the pointers. For a document that is
// not JSON the error is a *SyntaxError.
func ProbeAll(raw []byte, pointers ...Pointer) ([]Found, error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	root := &node{}
	for i, pointer := range pointers {
		end := root
		for _, token := range pointer.Tokens() {
			e := edge{name: token, keyed: true}
			e.index, e.array = arrayIndex(token)
			end = end.edge(e)
		}
		end.leaves = append(end.leaves, i)
	}
	root.seal()

	w := &walk{set: &Set{root: root}}
	if err := w.run(raw); err != nil {
		return nil, err
	}
	all := make([]Found, len(pointers))
	for _, f := range w.found {
		m, around := w.match(f), Absent
		if f.place > 0 {
			around = typeOf(w.opening(w.places[f.place].parent))
		}
		all[f.path] = Found{Raw: m.Raw, Depth: m.Depth, Deepest: typeOf(w.opening(f.place)), Around: around}
	}
	return all, nil
}
