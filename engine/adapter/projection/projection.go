package projection

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Slot is a field of every object in memory. index is its index in Object.Fields.
type Slot struct {
	Path    path.Path
	Pointer string // of a plain path
	steps   []path.Step
	Tokens  []string // of a plain path
	Index   int
	Mode    slotMode
	// Written is true if Flyball may write the field.
	Written bool
	// Listed is true if the path goes through a list by position.
	Listed bool
	// Rollout is true if writing the field restarts pods: if a variant declares so, or else if it is in the template.
	Rollout bool
	// Declared is true if a variant declares the effect of the field on pods.
	Declared bool
	// ViaScale is true if the field is written through /scale.
	ViaScale bool
	// parents are the containers above a written field, from the outermost inwards.
	parents []*parent
}

type slotMode uint8

const (
	// modePresence keeps only whether the value exists, as the text "1".
	modePresence slotMode = iota
	// ModeValue keeps the JSON text.
	ModeValue
)

// parent is a container above a written field. Its type decides whether the field can be written at all.
type parent struct {
	path    path.Path
	pointer string
	// id is the parent's index among the parents of the projection.
	id int
}

// Projection lists the parts of an object that stay in memory. It is built while an adapter compiles and does not
// change afterwards.
type Projection struct {
	Form
	Slots     []*Slot
	byPointer map[string]*Slot
	parents   []*parent

	set *path.Set
	// metadataPaths is the number of paths of the metadata, which come first in the set. takers keep the matches of all
	// other paths.
	metadataPaths int
	takers        []func(*reading, path.Match)
	Id            string
}

// List are the absolute paths read under `each`.
type List struct {
	part workload.Part
	// list is the index of the first of the adapter's lists that may yield the same values. Components with different
	// filters can read the same list.
	list int
	// elements is the number of tokens in the pointer of an element.
	elements int
	// value is the path of the value read of each element: a count, an amount or a bound.
	value path.Path
	// names are the fields that together name an element; empty: its key or its place identifies it.
	names []path.Path
	// Lazy is true if only objects with ledger entries for elements have their elements in memory. own then reads these
	// elements.
	Lazy bool
	own  *path.Set
	// all reads the paths with a wildcard in place of each filter; nil if value has no filter.
	all *path.Set
}

// NewList returns a List that reads the field at value of each element below each. known are the Lists so far.
func NewList(known []List, part workload.Part, each, value path.Path, lazy bool, names ...path.Path) List {
	e := List{part: part, list: len(known), elements: each.Len(), value: value, names: names, Lazy: lazy}
	if lazy {
		e.own = path.NewSet(e.paths()...)
	}
	e.all = e.unfiltered()
	same := func(k List) bool { return isSameList(k.value.Steps(), value.Steps()) }
	if i := slices.IndexFunc(known, same); i >= 0 {
		e.list = i
	}
	return e
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
func (e *List) paths() []path.Path { return append([]path.Path{e.value}, e.names...) }

// unfiltered compiles the paths without their filters.
func (e *List) unfiltered() *path.Set {
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

// Builder collects slots while an adapter compiles.
type Builder map[string]*Slot

// slot returns the slot of a path, which it creates if needed, with at least the given mode.
func (d Builder) slot(p path.Path, mode slotMode) *Slot {
	s, ok := d[p.String()]
	if !ok {
		s = &Slot{Path: p, steps: p.Steps()}
		if p.IsPlain() {
			pointer, _ := p.Pointer() // a plain path has one
			s.Pointer, s.Tokens = string(pointer), pointer.Tokens()
		}
		s.Listed = slices.ContainsFunc(s.steps, func(t path.Step) bool { return t.Kind == path.Index })
		d[p.String()] = s
	}
	s.Mode = max(s.Mode, mode)
	return s
}

// Read asks for the value at a path.
func (d Builder) Read(p path.Path) *Slot { return d.slot(p, ModeValue) }

// Exists asks whether there is a value at a path.
func (d Builder) Exists(p path.Path) *Slot { return d.slot(p, modePresence) }

// Write asks for the value at a plain path with everything needed to restore it.
func (d Builder) Write(p path.Path) *Slot {
	s := d.slot(p, ModeValue)
	s.Written = true
	return s
}

// Form has the parts of a projection besides the slots.
type Form struct {
	// Kind is the kind of the objects, for messages.
	Kind     string
	Interner *workload.Interner
	Metadata *workload.Metadata
	Each     []List
	// Template is the place of a pod's requests; empty: none.
	Template path.Path
	// Record is the form of the kept record of applied objects; empty: none is kept.
	Record string
}

// Build sorts the slots, so that equal sets of paths give equal projections, and compiles the walk.
func (d Builder) Build(f Form) *Projection {
	pr := &Projection{Form: f, byPointer: map[string]*Slot{}}
	for _, text := range slices.Sorted(maps.Keys(d)) {
		pr.Slots = append(pr.Slots, d[text])
	}
	pr.addParents()
	slices.SortFunc(pr.Slots, func(a, b *Slot) int {
		return cmp.Or(cmp.Compare(a.Path.String(), b.Path.String()), cmp.Compare(a.Mode, b.Mode))
	})
	for i, s := range pr.Slots {
		s.Index = i
		if s.Path.IsPlain() {
			pr.byPointer[s.Pointer] = s
		}
	}
	pr.compileWalk()
	pr.Id = pr.fingerprint()
	return pr
}

// addParents finds the containers above written fields.
func (pr *Projection) addParents() {
	known := map[string]*parent{}
	for _, s := range pr.Slots {
		if !s.Written {
			continue
		}
		for n := 1; n < len(s.Tokens); n++ {
			s.parents = append(s.parents, pr.parent(known, s, n))
		}
	}
}

func (pr *Projection) parent(known map[string]*parent, s *Slot, n int) *parent {
	pointer := path.PointerOf(s.Tokens[:n])
	if p, ok := known[pointer]; ok {
		return p
	}
	p := &parent{path: prefixPath(s.steps[:n]), pointer: pointer, id: len(pr.parents)}
	known[pointer] = p
	pr.parents = append(pr.parents, p)
	return p
}

// fingerprint identifies the projection by everything that shapes an Object.
func (pr *Projection) fingerprint() string {
	h := fnv.New128a()
	line := func(format string, args ...any) { h.Write(fmt.Appendf(nil, format+"\n", args...)) }
	for _, s := range pr.Slots {
		line("slot %d %t %s", s.Mode, s.Written, s.Path)
	}
	for _, p := range pr.Metadata.Paths() {
		line("metadata %s", p)
	}
	for _, e := range pr.Each {
		line("each %d %t %s %s", e.part, e.Lazy, e.value, e.names)
	}
	line("template %s", pr.Template)
	line("record %s", pr.Record)
	return hex.EncodeToString(h.Sum(nil))
}

// prefixPath returns the path of the steps.
func prefixPath(steps []path.Step) path.Path {
	var text strings.Builder
	text.WriteString("$")
	for _, s := range steps {
		text.WriteString(s.String())
	}
	return path.MustParse(text.String())
}

// Of returns the field of an object, as it is now.
func (s *Slot) Of(obj *workload.Object) workload.Field {
	if s.Index < len(obj.Fields) {
		return obj.Fields[s.Index]
	}
	return workload.Field{Depth: Blocked}
}

// compileWalk makes the set of paths for reading a whole object: first the paths of the metadata, then all other paths.
// Each of the other paths has a function that takes its matches.
func (pr *Projection) compileWalk() {
	paths := pr.Metadata.Paths()
	pr.metadataPaths = len(paths)
	add := func(p path.Path, take func(*reading, path.Match)) {
		paths = append(paths, p)
		pr.takers = append(pr.takers, take)
	}
	add(path.Path{}.Field("metadata").Field("annotations").Field(v1alpha1.AnnotationLedger), (*reading).takeLedger)
	for _, s := range pr.Slots {
		add(s.Path, func(r *reading, m path.Match) { r.takeField(s, m) })
	}
	for i, p := range pr.parents {
		add(p.path, func(r *reading, m path.Match) {
			if m.Exists() {
				r.parents[i] = m.Raw[0]
			}
		})
	}
	if pr.Template.Len() > 0 {
		add(pr.Template.Field("spec"), func(r *reading, m path.Match) {
			if m.Type() == path.Object {
				r.podSpec = m.Raw
			}
		})
	}
	for i, e := range pr.Each {
		if e.Lazy {
			continue
		}
		for k, p := range e.paths() {
			add(p, func(r *reading, m path.Match) { r.lists[i].take(r, k, m) })
		}
	}
	pr.set = path.NewSet(paths...)
}
