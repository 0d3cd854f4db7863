package path

import "strconv"

// walk is the scratch memory of one walk over one document, reused by later walks of the same Set. Matches are
// collected here and yielded when the walk is over, because only then is it known that the document is sound and which
// containers hold a single member.
type walk struct {
	set    *Set
	doc    []byte
	places []place
	found  []found
	active []*node // stack: the trie nodes that the values being walked stand for
	seen   []bool  // stack: which edges of those nodes the containers being walked have led to
}

// place is a value that at least one path leads to or through; places[0] is the document.
type place struct {
	parent           int
	depth            int
	start, end       int // of the value's text
	keyStart, keyEnd int // of the key's text, if keyed
	index            int // position in the container
	keyed, escaped   bool
	only             bool // the only member of an object
}

// found is a match: the place of the value, or, if it is absent, the deepest place that exists on the way to it.
type found struct {
	path, place int
	exists      bool
}

// run walks the document and leaves the matches in found.
func (w *walk) run(doc []byte) error {
	w.doc = doc
	w.active = append(w.active, w.set.root)
	w.places = append(w.places, place{start: skipSpace(doc, 0)})
	end, err := w.value(0, 0)
	if err != nil {
		return err
	}
	if end = skipSpace(doc, end); end < len(doc) {
		return &SyntaxError{Offset: end, Reason: "text follows the document"}
	}
	return nil
}

// release returns the memory to the set, without the document and unless one huge document has blown it up.
func (w *walk) release() {
	const limit = 4096 // places kept
	if cap(w.places) > limit || cap(w.found) > limit {
		return
	}
	w.doc = nil
	w.places, w.found, w.active, w.seen = w.places[:0], w.found[:0], w.active[:0], w.seen[:0]
	w.set.walks.Put(w)
}

// value walks the value at the place, which stands for the nodes active[lo:], and returns the offset behind it.
func (w *walk) value(at, lo int) (end int, err error) {
	inner := false
	for _, n := range w.active[lo:] {
		for _, leaf := range n.leaves {
			w.found = append(w.found, found{path: leaf, place: at, exists: true})
		}
		inner = inner || !n.isLeaf()
	}
	start := w.places[at].start
	switch {
	case inner && start < len(w.doc) && w.doc[start] == '{':
		end, err = w.object(at, lo)
	case inner && start < len(w.doc) && w.doc[start] == '[':
		end, err = w.array(at, lo)
	default:
		end, err = skipValue(w.doc, start)
		w.missing(at, lo, nil)
	}
	w.places[at].end = end
	return end, err
}

// missing records the paths that the container at the place cannot lead to: those of all edges of active[lo:] but the
// seen ones.
func (w *walk) missing(at, lo int, seen []bool) {
	i := 0
	for _, n := range w.active[lo:] {
		for _, e := range n.edges {
			if i >= len(seen) || !seen[i] {
				for _, leaf := range e.to.absent {
					w.found = append(w.found, found{path: leaf, place: at})
				}
			}
			i++
		}
	}
}

// object walks the object at the place. It enters the members that a node of active[lo:] leads to, and skips the rest
// of the object at once when there can be no more of them.
func (w *walk) object(at, lo int) (end int, err error) {
	hi, base := len(w.active), len(w.seen)
	left, wild := w.expect(lo, edge.isKey)
	var names map[string]bool // of the members entered by a wildcard: the first of repeated keys counts
	if wild {
		names = map[string]bool{}
	}
	pos, done := enter(w.doc, w.places[at].start, '}')
	for index := 0; !done; {
		m, err := scanMember(w.doc, pos)
		if err != nil {
			return 0, err
		}
		key, err := m.key(w.doc)
		if err != nil {
			return 0, err
		}
		first := false
		if wild && !names[string(key)] {
			first, names[string(key)] = true, true
		}
		left -= w.pushMember(lo, hi, base, key, first)
		child := len(w.places)
		pos, err = w.enterPlace(hi, place{parent: at, start: m.value, index: index,
			keyStart: m.keyStart, keyEnd: m.keyEnd, keyed: true, escaped: m.escaped})
		if err != nil {
			return 0, err
		}
		if pos, done, err = advance(w.doc, pos, '}'); err != nil {
			return 0, err
		}
		if done && index == 0 && child < len(w.places) {
			w.places[child].only = true
		}
		if !done && left == 0 && !wild {
			pos, err = skipRest(w.doc, pos)
			done = true
		}
		if err != nil {
			return 0, err
		}
		if !wild || first {
			index++
		}
	}
	w.missing(at, lo, w.seen[base:])
	w.seen = w.seen[:base]
	return pos, nil
}

// array walks the array at the place, like object.
func (w *walk) array(at, lo int) (end int, err error) {
	hi, base := len(w.active), len(w.seen)
	left, all := w.expect(lo, edge.isIndex)
	for _, n := range w.active[lo:] {
		all = all || len(n.filters) > 0
	}
	pos, done := enter(w.doc, w.places[at].start, ']')
	for index := 0; !done; index++ {
		pushed, err := w.pushElement(lo, hi, base, index, pos)
		if err != nil {
			return 0, err
		}
		left -= pushed
		if pos, err = w.enterPlace(hi, place{parent: at, start: pos, index: index}); err != nil {
			return 0, err
		}
		if pos, done, err = advance(w.doc, pos, ']'); err != nil {
			return 0, err
		}
		if !done && left == 0 && !all {
			pos, err = skipRest(w.doc, pos)
			done = true
		}
		if err != nil {
			return 0, err
		}
	}
	w.missing(at, lo, w.seen[base:])
	w.seen = w.seen[:base]
	return pos, nil
}

func (e edge) isKey() bool   { return e.keyed }
func (e edge) isIndex() bool { return e.array }

// expect makes room in seen for the edges of active[lo:]. It returns how many of them can occur in the container and
// whether a wildcard asks for everything.
func (w *walk) expect(lo int, can func(edge) bool) (left int, wild bool) {
	for _, n := range w.active[lo:] {
		for _, e := range n.edges {
			w.seen = append(w.seen, false)
			if can(e) {
				left++
			}
		}
		wild = wild || n.wild != nil
	}
	return left, wild
}

// pushMember makes active the nodes behind the key, from those in active[lo:hi], and returns how many edges were used
// for the first time. An edge is used once per object: the first of repeated keys counts.
func (w *walk) pushMember(lo, hi, seen int, key []byte, wild bool) (used int) {
	for _, n := range w.active[lo:hi] {
		for i := range n.edges {
			if e := &n.edges[i]; e.keyed && e.name == string(key) && !w.seen[seen] {
				w.seen[seen] = true
				used++
				w.active = append(w.active, e.to)
			}
			seen++
		}
		if wild && n.wild != nil {
			w.active = append(w.active, n.wild)
		}
	}
	return used
}

// pushElement does the same for the array element that starts at pos.
func (w *walk) pushElement(lo, hi, seen, index, pos int) (used int, err error) {
	for _, n := range w.active[lo:hi] {
		for i := range n.edges {
			if e := &n.edges[i]; e.array && e.index == index {
				w.seen[seen] = true
				used++
				w.active = append(w.active, e.to)
			}
			seen++
		}
		if n.wild != nil {
			w.active = append(w.active, n.wild)
		}
		for i := range n.filters {
			ok, err := n.filters[i].holds(w.doc, pos)
			if err != nil {
				return 0, err
			}
			if ok {
				w.active = append(w.active, n.filters[i].to)
			}
		}
	}
	return used, nil
}

// enterPlace walks the value at p for the nodes active[lo:], which it pops, or skips it if there are none. It returns
// the offset behind the value.
func (w *walk) enterPlace(lo int, p place) (end int, err error) {
	if len(w.active) == lo {
		return skipValue(w.doc, p.start)
	}
	p.depth = w.places[p.parent].depth + 1
	w.places = append(w.places, p)
	end, err = w.value(len(w.places)-1, lo)
	w.active = w.active[:lo]
	return end, err
}

// match completes what was found with the facts that are known only after the walk.
func (w *walk) match(f found) Match {
	p := &w.places[f.place]
	m := Match{Depth: p.depth, walk: w, path: f.path, place: f.place}
	if !f.exists {
		return m
	}
	m.Raw = w.doc[p.start:p.end:p.end]
	for ; p.only; p = &w.places[p.parent] {
		m.Sole++
	}
	return m
}

// appendPointer appends the JSON pointer of the place.
func (w *walk) appendPointer(pointer []byte, at int) []byte {
	if at == 0 {
		return pointer
	}
	return appendToken(w.appendPointer(pointer, w.places[at].parent), w.token(at))
}

// token returns the pointer token of the place, without escapes.
func (w *walk) token(at int) string {
	p := &w.places[at]
	if !p.keyed {
		return strconv.Itoa(p.index)
	}
	m := member{keyStart: p.keyStart, keyEnd: p.keyEnd, escaped: p.escaped}
	key, err := m.key(w.doc)
	if err != nil {
		return "" // cannot be: the walk has read this key
	}
	return string(key)
}
