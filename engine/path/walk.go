package path

import "strconv"

// walk is the scratch memory of one walk over one document, reused by later walks of the same Set. Matches are
// collected here and yielded when the walk is over, because only then is it known that the document is sound.
type walk struct {
	set    *Set
	doc    []byte
	places []place
	found  []found
	// active is a stack of the trie nodes that belong to the values being walked. The nodes of the innermost value are on
	// top.
	active []*node
	// used has one mark for each edge of the trie nodes of the containers being walked, as a stack: the innermost
	// container is on top. A mark is true once its edge has matched an item of the container.
	used []bool
}

// place is a value that at least one path leads to or through; places[0] is the document.
type place struct {
	parent     int // index into walk.places
	depth      int // number of tokens of the pointer
	start, end int // of the value's text
	key        keyText
	keyed      bool // it is a member of an object and has a key
	index      int  // position in the container
}

// found is the result for a path of the set: the place of the value, or, for an absent value, the deepest existing
// place on the way.
type found struct {
	path, place int // indexes into Set.paths and walk.places
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

// release returns the memory to the set, without the document, unless one huge document has enlarged it too much.
func (w *walk) release() {
	const limit = 4096 // places kept
	if cap(w.places) > limit || cap(w.found) > limit {
		return
	}
	w.doc = nil
	w.places, w.found, w.active, w.used = w.places[:0], w.found[:0], w.active[:0], w.used[:0]
	w.set.walks.Put(w)
}

// value walks the value at the place, whose trie nodes are active[lo:], and returns the offset behind the value.
func (w *walk) value(at, lo int) (end int, err error) {
	inner := false
	for _, n := range w.active[lo:] {
		for _, leaf := range n.leaves {
			w.found = append(w.found, found{path: leaf, place: at, exists: true})
		}
		inner = inner || !n.isLeaf()
	}
	if open := w.opening(at); inner && (open == '{' || open == '[') {
		end, err = w.container(at, lo)
	} else {
		end, err = skipValue(w.doc, w.places[at].start)
		w.recordAbsent(at, lo, nil)
	}
	w.places[at].end = end
	return end, err
}

// opening returns the first byte of the value at the place, or 0 if the document ends before it.
func (w *walk) opening(place int) byte { return at(w.doc, w.places[place].start) }

// recordAbsent records as absent the paths that continue through unused edges of active[lo:] at the place. used has a
// mark for each edge; nil if none was used.
func (w *walk) recordAbsent(at, lo int, used []bool) {
	i := 0
	for _, n := range w.active[lo:] {
		for _, e := range n.edges {
			if used == nil || !used[i] {
				for _, leaf := range e.to.absent {
					w.found = append(w.found, found{path: leaf, place: at})
				}
			}
			i++
		}
	}
}

// asked records, while the items of a container are walked, which items are still on a path.
type asked struct {
	lo, hi int  // walk.active[lo:hi] are the trie nodes of the container
	used   int  // walk.used[used:] are the marks of the edges of these nodes
	edges  int  // how many edges can still lead to an item of this container
	all    bool // a wildcard or a filter needs every item

	// names are the keys met so far, for wildcards: the first of repeated keys counts.
	names map[string]bool
	// position is the number of items met so far, repeated keys counted once.
	position int
}

// ask returns the record of the container at the place before its first item, and makes room for the marks of its edges.
func (w *walk) ask(at, lo int) asked {
	a := asked{lo: lo, hi: len(w.active), used: len(w.used)}
	isObject := w.opening(at) == '{'
	for _, n := range w.active[lo:] {
		for _, e := range n.edges {
			w.used = append(w.used, false)
			if isObject && e.keyed || !isObject && e.array {
				a.edges++
			}
		}
		a.all = a.all || n.wild != nil || !isObject && len(n.filters) > 0
	}
	if isObject && a.all {
		a.names = map[string]bool{}
	}
	return a
}

// container walks the object or array at the place. It walks the values of items on a path, and skips the rest once no
// path can lead to another item.
func (w *walk) container(at, lo int) (end int, err error) {
	a := w.ask(at, lo)
	it := itemsOf(w.doc, w.places[at].start)
	for it.next() {
		if it.end, it.err = w.item(&a, &it, at); it.err == nil && a.edges == 0 && !a.all {
			it.skipOthers()
			break
		}
	}
	if it.err != nil {
		return 0, it.err
	}
	w.recordAbsent(at, lo, w.used[a.used:])
	w.used = w.used[:a.used]
	return it.end, nil
}

// item walks the value of the current item if it is on a path, or else skips it. It returns the offset behind
// the value.
func (w *walk) item(a *asked, it *items, container int) (end int, err error) {
	position := a.position
	if err := w.activateItem(a, it); err != nil {
		return 0, err
	}
	if len(w.active) == a.hi {
		return skipValue(w.doc, it.value)
	}
	w.places = append(w.places, place{parent: container, depth: w.places[container].depth + 1,
		start: it.value, key: it.at, keyed: it.inObject(), index: position})
	end, err = w.value(len(w.places)-1, a.hi)
	w.active = w.active[:a.hi]
	return end, err
}

// activateItem pushes the nodes of the current item on the stack of active nodes: the nodes behind the item's key or
// index, behind a wildcard, or behind a filter that holds.
func (w *walk) activateItem(a *asked, it *items) error {
	repeated := a.names[string(it.key)]
	if !repeated {
		a.position++
	}
	if a.names != nil {
		a.names[string(it.key)] = true
	}
	mark := a.used
	for _, n := range w.active[a.lo:a.hi] {
		if i := n.leading(it); i >= 0 && !w.used[mark+i] {
			w.used[mark+i] = true
			a.edges--
			w.active = append(w.active, n.edges[i].to)
		}
		mark += len(n.edges)
		if n.wild != nil && !repeated {
			w.active = append(w.active, n.wild)
		}
		if it.inObject() {
			continue
		}
		for i := range n.filters {
			ok, err := n.filters[i].selects(w.doc, it.value)
			if err != nil {
				return err
			}
			if ok {
				w.active = append(w.active, n.filters[i].to)
			}
		}
	}
	return nil
}

// match returns the Match of a found path. It is called after the walk, when the ends of all texts are known.
func (w *walk) match(f found) Match {
	p := &w.places[f.place]
	m := Match{Depth: p.depth, walk: w, path: f.path, place: f.place}
	if !f.exists {
		return m
	}
	m.Raw = w.doc[p.start:p.end:p.end]
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
	key, err := p.key.in(w.doc)
	if err != nil {
		return "" // cannot be: the walk has read this key
	}
	return string(key)
}
