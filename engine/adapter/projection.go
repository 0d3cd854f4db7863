package adapter

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// slot is a field of every object in memory. index is its index in Object.Fields.
type slot struct {
	path    path.Path
	pointer string // of a plain path
	steps   []path.Step
	tokens  []string // of a plain path
	index   int
	mode    slotMode
	// written is true if Flyball may write the field.
	written bool
	// listed is true if the path goes through a list by position.
	listed bool
	// rollout is true if writing the field restarts pods: if a variant declares so, or else if it is in the template.
	rollout bool
	// declared is true if a variant declares the effect of the field on pods.
	declared bool
	// viaScale is true if the field is written through /scale.
	viaScale bool
	// parents are the containers above a written field, from the outermost inwards.
	parents []*parent
}

type slotMode uint8

const (
	// modePresence keeps only whether the value exists, as the text "1".
	modePresence slotMode = iota
	// modeValue keeps the JSON text.
	modeValue
)

// parent is a container above a written field. Its type decides whether the field can be written at all.
type parent struct {
	path    path.Path
	pointer string
	// id is the parent's index among the parents of the projection.
	id int
}

// projection lists the parts of an object that stay in memory. It is built while an adapter compiles and does not
// change afterwards.
type projection struct {
	slots     []*slot
	byPointer map[string]*slot
	parents   []*parent

	metadata *workload.Metadata
	each     []eachPaths
	// template is the place of a pod's requests; empty: none.
	template path.Path
	// record is the form of the kept record of applied objects; empty: none is kept.
	record string
	set    *path.Set
	// metadataPaths is the number of paths of the metadata, which come first in the set. takers keep the matches of all
	// other paths.
	metadataPaths int
	takers        []func(*reading, path.Match)
	id            string
}

// eachPaths are the absolute paths read under `each`.
type eachPaths struct {
	component int
	// list is the index of the first of the adapter's eachPaths that may yield the same values. Components with different
	// filters can read the same list.
	list int
	// elements is the number of tokens in the pointer of an element.
	elements int
	// value is the path of the value read of each element: a count, an amount or a bound.
	value path.Path
	// names are the fields that together name an element; empty: its key or its place identifies it.
	names []path.Path
	// lazy is true if only objects with ledger entries for elements have their elements in memory. own then reads these
	// elements.
	lazy bool
	own  *path.Set
	// all reads the paths with a wildcard in place of each filter; nil if value has no filter.
	all *path.Set
}

// addEach adds the values that every element of a list has at a path.
func (c *compiler) addEach(component int, each, value path.Path, lazy bool, names ...path.Path) {
	e := eachPaths{component: component, elements: each.Len(), value: value, names: names, lazy: lazy}
	if lazy {
		e.own = path.NewSet(e.paths()...)
	}
	e.all = e.unfiltered()
	e.list = len(c.each)
	for i := range c.each {
		if isSameList(c.each[i].value.Steps(), value.Steps()) {
			e.list = i
			break
		}
	}
	c.each = append(c.each, e)
}

// isSameList reports whether two paths may have a match in common, whatever their filters match.
func isSameList(a, b []path.Step) bool {
	return slices.EqualFunc(a, b, func(x, y path.Step) bool {
		switch {
		case x.Kind == path.Field || y.Kind == path.Field:
			return x.Kind == y.Kind && x.Name == y.Name
		case x.Kind == path.Index && y.Kind == path.Index:
			return x.Index == y.Index
		}
		return true
	})
}

// paths returns the values and then the names.
func (e *eachPaths) paths() []path.Path { return append([]path.Path{e.value}, e.names...) }

// unfiltered compiles the paths without their filters.
func (e *eachPaths) unfiltered() *path.Set {
	if !slices.ContainsFunc(e.value.Steps(), func(s path.Step) bool { return s.Kind == path.Where }) {
		return nil
	}
	open := func(p path.Path) path.Path {
		steps := p.Steps()
		for i := range steps {
			if steps[i].Kind == path.Where {
				steps[i] = path.Step{Kind: path.Wildcard}
			}
		}
		return prefixPath(steps)
	}
	var all []path.Path
	for _, p := range e.paths() {
		all = append(all, open(p))
	}
	return path.NewSet(all...)
}

// drafts collects slots while an adapter compiles.
type drafts map[string]*slot

// slot returns the slot of a path, which it creates if needed, with at least the given mode.
func (d drafts) slot(p path.Path, mode slotMode) *slot {
	s, ok := d[p.String()]
	if !ok {
		s = &slot{path: p, steps: p.Steps()}
		if p.IsPlain() {
			pointer, _ := p.Pointer() // a plain path has one
			s.pointer, s.tokens = string(pointer), pointer.Tokens()
		}
		s.listed = slices.ContainsFunc(s.steps, func(t path.Step) bool { return t.Kind == path.Index })
		d[p.String()] = s
	}
	s.mode = max(s.mode, mode)
	return s
}

// read asks for the value at a path.
func (d drafts) read(p path.Path) *slot { return d.slot(p, modeValue) }

// exists asks whether there is a value at a path.
func (d drafts) exists(p path.Path) *slot { return d.slot(p, modePresence) }

// write asks for the value at a plain path with everything needed to restore it.
func (d drafts) write(p path.Path) *slot {
	s := d.slot(p, modeValue)
	s.written = true
	return s
}

// seal sorts the slots, so that equal sets of paths give equal projections, and compiles the walk.
func (d drafts) seal(metadata *workload.Metadata, each []eachPaths, template path.Path, record string) *projection {
	pr := &projection{byPointer: map[string]*slot{}, each: each, metadata: metadata, template: template, record: record}
	for _, text := range slices.Sorted(maps.Keys(d)) {
		pr.slots = append(pr.slots, d[text])
	}
	pr.addParents()
	slices.SortFunc(pr.slots, func(a, b *slot) int {
		return cmp.Or(cmp.Compare(a.path.String(), b.path.String()), cmp.Compare(a.mode, b.mode))
	})
	for i, s := range pr.slots {
		s.index = i
		if s.path.IsPlain() {
			pr.byPointer[s.pointer] = s
		}
	}
	pr.compileWalk()
	pr.id = pr.fingerprint()
	return pr
}

// addParents finds the containers above written fields.
func (pr *projection) addParents() {
	known := map[string]*parent{}
	for _, s := range pr.slots {
		if !s.written {
			continue
		}
		for n := 1; n < len(s.tokens); n++ {
			s.parents = append(s.parents, pr.parent(known, s, n))
		}
	}
}

func (pr *projection) parent(known map[string]*parent, s *slot, n int) *parent {
	pointer := pointerOf(s.tokens[:n])
	if p, ok := known[pointer]; ok {
		return p
	}
	p := &parent{path: prefixPath(s.steps[:n]), pointer: pointer, id: len(pr.parents)}
	known[pointer] = p
	pr.parents = append(pr.parents, p)
	return p
}

// fingerprint identifies the projection by everything that shapes an Object.
func (pr *projection) fingerprint() string {
	h := fnv.New128a()
	line := func(format string, args ...any) { h.Write(fmt.Appendf(nil, format+"\n", args...)) }
	for _, s := range pr.slots {
		line("slot %d %t %s", s.mode, s.written, s.path)
	}
	for _, p := range pr.metadata.Paths() {
		line("metadata %s", p)
	}
	for _, e := range pr.each {
		line("each %d %t %s %s", e.component, e.lazy, e.value, e.names)
	}
	line("template %s", pr.template)
	line("record %s", pr.record)
	return hex.EncodeToString(h.Sum(nil))
}

func commonTokens(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func pointerOf(tokens []string) string { return string(path.Pointer("").Append(tokens...)) }

// prefixPath returns the path of the steps.
func prefixPath(steps []path.Step) path.Path {
	var text strings.Builder
	text.WriteString("$")
	for _, s := range steps {
		text.WriteString(s.String())
	}
	return path.MustParse(text.String())
}
