// Package workload holds the neutral nouns that everything else speaks in: an Object as the watch keeps it, what policies
// see of it (Observed), what they ask for (Intent), what was agreed (Plan), what was there before (Ledger) and what is
// sent to the API server (Patch). It knows no kind, no client and no clock.
package workload

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref names one object of one kind in the cluster. The zero Namespace is that of cluster-scoped objects.
type Ref struct {
	schema.GroupKind
	Namespace, Name string
}

// String is Kind.group/namespace/name, without the parts that are empty.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.GroupKind.String() + "/" + r.Name
	}
	return r.GroupKind.String() + "/" + r.Namespace + "/" + r.Name
}

// Compare orders references by kind, group, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Group, o.Group), cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// Policy identifies a policy object: its kind, its namespace (empty for cluster-scoped ones) and its name.
type Policy struct {
	Kind, Namespace, Name string
}

// String is Kind/name or Kind/namespace/name. It is what the ledger and messages say.
func (p Policy) String() string {
	if p.Namespace == "" {
		return p.Kind + "/" + p.Name
	}
	return p.Kind + "/" + p.Namespace + "/" + p.Name
}

// Label is namespace/name, or the name alone of a cluster-scoped policy: what metrics call it beside its kind.
func (p Policy) Label() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// Compare orders policies by kind, namespace and name.
func (p Policy) Compare(q Policy) int {
	return cmp.Or(cmp.Compare(p.Kind, q.Kind), cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Name, q.Name))
}

// ParsePolicy is the inverse of String. A text of another shape gives a Policy that has only a Name.
func ParsePolicy(s string) Policy {
	switch parts := strings.Split(s, "/"); len(parts) {
	case 2:
		return Policy{Kind: parts[0], Name: parts[1]}
	case 3:
		return Policy{Kind: parts[0], Namespace: parts[1], Name: parts[2]}
	default:
		return Policy{Name: s}
	}
}

// Pair is one label or annotation.
type Pair struct{ Key, Value string }

// Pairs is a small map sorted by key: labels and annotations cost a third of a Go map in it. It implements
// labels.Labels of apimachinery, so that selectors match on it directly.
type Pairs []Pair

// NewPairs sorts a map into Pairs.
func NewPairs(m map[string]string) Pairs {
	if len(m) == 0 {
		return nil
	}
	p := make(Pairs, 0, len(m))
	for k, v := range m {
		p = append(p, Pair{k, v})
	}
	sortPairs(p)
	return p
}

// sortPairs sorts pairs by key, in place.
func sortPairs(p Pairs) { slices.SortFunc(p, func(a, b Pair) int { return cmp.Compare(a.Key, b.Key) }) }

// Lookup gives the value under a key and whether there is one.
func (p Pairs) Lookup(key string) (string, bool) {
	i := sort.Search(len(p), func(i int) bool { return p[i].Key >= key })
	if i < len(p) && p[i].Key == key {
		return p[i].Value, true
	}
	return "", false
}

// Get gives the value under a key, or the empty string.
func (p Pairs) Get(key string) string { v, _ := p.Lookup(key); return v }

// Has says whether there is such a key.
func (p Pairs) Has(key string) bool { _, ok := p.Lookup(key); return ok }

// Owner is an object's controlling owner reference.
type Owner struct {
	schema.GroupKind
	Name string
	// UID is that of the owner; empty where nobody asks for it.
	UID string
}

// Object is what is kept of one watched object: identity, labels, the annotations that were asked for, the fields that the
// adapter reads, and the ledger. It is immutable once made; holders share it.
type Object struct {
	Namespace, Name string
	UID             string
	ResourceVersion string
	Generation      int64
	// Created is the creation time in seconds since 1970.
	Created int64
	// Deleting is true once the object has a deletion timestamp.
	Deleting bool
	Labels   Pairs
	// Annotations holds only the keys that the projection asked for.
	Annotations Pairs
	// Owner is the controlling owner, nil if there is none.
	Owner *Owner
	// Fields are the values the adapter reads, in the order of its projection. After them come the values at ledger pointers
	// that the adapter does not write (any more), so that an original is given back even after an edit of the adapter.
	Fields []Field
	// Elements are the values read under `each`, one per element and path, in the order met. After them come, where the ledger
	// speaks of elements, those that `each` does not yield.
	Elements []Element
	// Ledger is what Flyball changed on the object; nil if nothing.
	Ledger Ledger
	// LedgerNotes is what else is known of the ledger annotation; nil where there is none.
	LedgerNotes *LedgerNotes
	// LedgerError says why the ledger annotation could not be read; such an object is never written.
	LedgerError string
	// Requests is what one pod of the object's template requests; nil where there is no ledger, so that nobody asks, or no template.
	Requests *Requests
}

// Field is the value found at one plain path of an object.
type Field struct {
	// Raw is the JSON text of the value; empty when there is none. An explicit null counts as none.
	Raw string
	// Depth is how many leading tokens of the path exist.
	Depth uint8
	// IsNull is true where the object has an explicit null there.
	IsNull bool
}

// Text is the JSON text of what the object has there, an explicit null included; empty when it has nothing.
func (f Field) Text() string {
	if f.IsNull {
		return "null"
	}
	return f.Raw
}

// LedgerNotes is what is known of a ledger besides its entries.
type LedgerNotes struct {
	// UID is that of the object on which the ledger was begun, empty where it does not say. It differs from the object's where that
	// was restored.
	UID string
	// CopyOf names the object that this one is a copy of, where it was copied while that one was changed by Flyball and still
	// has what Flyball had set there: the ledger that came along is not its own.
	CopyOf string
	// Authors says who has written the fields of the entries since, in the order of the ledger; nil where nothing is known of it.
	Authors []Author
	// Members are the numbers of members of the containers that Flyball may have made for fields of the ledger, by pointer.
	Members map[string]int
}

// Notes is what is known of the ledger annotation besides its entries; the zero value where there is none.
func (o *Object) Notes() LedgerNotes {
	if o.LedgerNotes == nil {
		return LedgerNotes{}
	}
	return *o.LedgerNotes
}

// Author is what the managed fields of an object say of one ledger entry.
type Author struct {
	// Known is true where they tell who has written the field last; Other, where somebody else has since Flyball did.
	Known, Other bool
	// Alone is, where parents of the field were made, the number of tokens of the outermost one in which nobody but Flyball has written:
	// what else is in there came with Flyball's write, such as defaults of the schema. Zero: none.
	Alone uint8
}

// Exists says whether there is a value.
func (f Field) Exists() bool { return f.Raw != "" }

// Element is one value found under `each`.
type Element struct {
	// Component says which of the adapter's lists the element is of: the index of its scale component, or a number above those.
	Component uint8
	// Index is the element's place in its list.
	Index uint16
	// Name is what the element calls itself; empty where it has no name.
	Name string
	// Pointer is the concrete JSON pointer of the value.
	Pointer string
	// NamePointer is the concrete JSON pointer of the name; empty where elements have none.
	NamePointer string
	// Outside is true for an element that `each` does not yield (any more). It is only there for the ledger.
	Outside bool
	Field
}

// Component is one replica count as a policy sees it: as its owner has it, what Flyball changed undone.
type Component struct {
	Name string
	// Replicas is the owner's count.
	Replicas int64
	// Minimum is the lowest count that the kind accepts.
	Minimum int64
	// Fixed is true where the count must stay as it is on this object.
	Fixed bool
}

// Bounds are an autoscaler's limits as its owner has them; nil where the kind has no such limit or the object none.
type Bounds struct {
	Min, Max *int64
}

// Clamp brings a count into the bounds. Where they contradict each other, the lower one counts.
func (b Bounds) Clamp(n int64) int64 {
	if b.Max != nil {
		n = min(n, *b.Max)
	}
	if b.Min != nil {
		n = max(n, *b.Min)
	}
	return n
}

// Observed is what a policy sees of a target: originals, with Flyball's own changes undone.
type Observed struct {
	Ref    Ref
	Labels Pairs
	// Annotations are those that the projection asked for.
	Annotations Pairs
	Components  []Component
	Bounds      Bounds
	// Allocations are what components request, and Utilisation the targets of an autoscaler. They are known where a policy that sets such
	// amounts selects the kind.
	Allocations Allocations
	Utilisation []Utilisation
	// Blind is true while an autoscaler cannot read its metrics. It is known where its targets are.
	Blind bool
	// Settled is true where the adapter says that the object has settled, Flyball's changes included. It is known where allocations are.
	Settled bool
	// CanSuspend is true when a suspend variant of the adapter fits the object.
	CanSuspend bool
	// CanHold is true when a hold variant of the adapter fits the object.
	CanHold bool
	// Suspended is true when the owner has suspended the object.
	Suspended bool
	// Governed is true when another adapted object owns this one's replicas.
	Governed bool
	// Governs is true when the object owns the replicas of another one.
	Governs bool
	// Created is the creation time; zero: not known.
	Created time.Time
	// RunsToCompletion is true of an object that does its work once and ends, such as a Job.
	RunsToCompletion bool
}

// Capacity is the number of replicas that a size leaves, over all components. Own counts as the largest number, since the
// owner's own wish is never less capacity than a policy's reduction of it.
func (o Observed) Capacity(s Size) int64 {
	if s.Mode == SizeOwn {
		return math.MaxInt64
	}
	if s.Mode == SizeSleep && o.CanSuspend {
		return 0
	}
	var total int64
	for _, c := range o.Components {
		if total += s.Of(c); total < 0 { // quantities of bytes can be large
			return math.MaxInt64
		}
	}
	return total
}
