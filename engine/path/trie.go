package path

// node is a place in the trie of compiled paths. Paths with the same first steps share the nodes of these steps.
type node struct {
	edges   []edge
	wild    *node
	filters []filterEdge

	// byName and byIndex find an edge by its key and by its index if there are more than fewEdges.
	byName  map[string]int
	byIndex map[int]int

	// leaves are the paths that end at this node.
	leaves []int
	// absent are the paths that end at this node or below and reach their end by edges only, without a wildcard or filter.
	// If the value of this node does not exist, these paths are reported as absent. All other paths through the node have
	// no match then.
	absent []int
}

// edge leads to one member or element. An edge made of a pointer token may be both a key and an index.
type edge struct {
	name  string
	index int
	keyed bool // name is a key of objects
	array bool // index is an index of arrays
	to    *node
}

// filterEdge leads to the elements of an array for which a filter holds.
type filterEdge struct {
	step    Step
	key     []Step
	literal []byte
	to      *node
}

// insert adds the path's steps to the trie below n.
func (n *node) insert(steps []Step, path int) {
	for _, s := range steps {
		n = n.child(s)
	}
	n.leaves = append(n.leaves, path)
}

// child returns the node behind the step. It creates a new node if needed.
func (n *node) child(s Step) *node {
	switch s.Kind {
	case Field:
		return n.edge(edge{name: s.Name, keyed: true})
	case Index:
		return n.edge(edge{index: s.Index, array: true})
	case Wildcard:
		if n.wild == nil {
			n.wild = &node{}
		}
		return n.wild
	}
	for _, f := range n.filters {
		if f.step.equal(s) {
			return f.to
		}
	}
	f := filterEdge{step: s, key: s.Filter.Key.steps(), literal: []byte(s.Filter.Literal), to: &node{}}
	n.filters = append(n.filters, f)
	return f.to
}

// edge returns the node behind an edge. It creates a new node if needed.
func (n *node) edge(want edge) *node {
	at := n.atIndex(want.index)
	if want.keyed {
		at = n.named([]byte(want.name))
	}
	if at >= 0 {
		return n.edges[at].to
	}
	want.to = &node{}
	n.edges = append(n.edges, want)
	if len(n.edges) > fewEdges {
		n.findEdges()
	}
	return want.to
}

// fewEdges is the number of edges up to which a node's edges are compared in turn.
const fewEdges = 8

// findEdges fills byName and byIndex, or adds the last edge to them.
func (n *node) findEdges() {
	fresh := n.edges[len(n.edges)-1:]
	if n.byName == nil {
		n.byName, n.byIndex, fresh = map[string]int{}, map[int]int{}, n.edges
	}
	for i, e := range fresh {
		at := len(n.edges) - len(fresh) + i
		if e.keyed {
			n.byName[e.name] = at
		}
		if e.array {
			n.byIndex[e.index] = at
		}
	}
}

// leading returns the position of the edge for the key or the index of the current item; -1: none.
func (n *node) leading(it *items) int {
	if it.inObject() {
		return n.named(it.key)
	}
	return n.atIndex(it.index)
}

// named returns the position of the edge with a key; -1: none.
func (n *node) named(key []byte) int {
	if n.byName != nil {
		if at, ok := n.byName[string(key)]; ok {
			return at
		}
		return -1
	}
	for i := range n.edges {
		if e := &n.edges[i]; e.keyed && e.name == string(key) {
			return i
		}
	}
	return -1
}

// atIndex returns the position of the edge with an index; -1: none.
func (n *node) atIndex(index int) int {
	if n.byIndex != nil {
		if at, ok := n.byIndex[index]; ok {
			return at
		}
		return -1
	}
	for i := range n.edges {
		if e := &n.edges[i]; e.array && e.index == index {
			return i
		}
	}
	return -1
}

// seal fills the field absent of n and of every node below n.
func (n *node) seal() {
	n.absent = append(n.absent, n.leaves...)
	for _, e := range n.edges {
		e.to.seal()
		n.absent = append(n.absent, e.to.absent...)
	}
	if n.wild != nil {
		n.wild.seal()
	}
	for _, f := range n.filters {
		f.to.seal()
	}
}

// isLeaf reports whether no path continues below the value.
func (n *node) isLeaf() bool { return len(n.edges) == 0 && n.wild == nil && len(n.filters) == 0 }

// selects reports whether the filter selects the element that starts at i.
func (f *filterEdge) selects(doc []byte, i int) (bool, error) {
	start, end, found, err := lookup(doc, i, f.key)
	if err != nil || !found {
		return false, err
	}
	return equalJSON(doc[start:end], f.literal) == (f.step.Filter.Op == Equals), nil
}
