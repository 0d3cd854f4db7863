// Package workload has the nouns shared by all other packages: an Object as the watch keeps it, its view for policies
// (Observed), a policy's claim (Intent), the merged Plan, the originals (Ledger) and the write to the API server
// (Patch). It has the pods of a target too (Fleet), and the order in which the ReplicaSet controller deletes them (victims.go,
// spread.go). It knows no kind, no client and no clock.
//
// Decisions (docs/decisions): 0002.
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

// Ref names one object of a kind in the cluster. Namespace is empty for cluster-scoped objects.
type Ref struct {
	schema.GroupKind
	Namespace, Name string
}

// String returns Kind.group/namespace/name, without empty parts.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.GroupKind.String() + "/" + r.Name
	}
	return r.GroupKind.String() + "/" + r.Namespace + "/" + r.Name
}

// Compare orders references by kind, group, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Group, o.Group), cmp.Compare(r.Namespace, o.Namespace),
		cmp.Compare(r.Name, o.Name))
}

// Policy identifies a policy object: its kind, its namespace (empty for cluster-scoped policies) and its name.
type Policy struct {
	Kind, Namespace, Name string
}

// String returns Kind/name or Kind/namespace/name, the form used in ledgers and messages.
func (p Policy) String() string {
	if p.Namespace == "" {
		return p.Kind + "/" + p.Name
	}
	return p.Kind + "/" + p.Namespace + "/" + p.Name
}

// Label returns namespace/name, or the name of a cluster-scoped policy, the form used in metrics beside the kind.
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

// ParsePolicy is the inverse of String. For a text of a different form it returns a Policy with only a Name.
func ParsePolicy(s string) Policy {
	kind, name, parted := strings.Cut(s, "/")
	namespace, last, namespaced := strings.Cut(name, "/")
	switch {
	case !parted || strings.Contains(last, "/"):
		return Policy{Name: s}
	case namespaced:
		return Policy{Kind: kind, Namespace: namespace, Name: last}
	default:
		return Policy{Kind: kind, Name: name}
	}
}

// Pair is a label or an annotation.
type Pair struct{ Key, Value string }

// Pairs is a small map sorted by key: it takes a third of a Go map's memory. It implements labels.Labels of
// apimachinery, for use with selectors.
type Pairs []Pair

// NewPairs returns a map as Pairs.
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

// Lookup returns the value of a key and whether the key exists.
func (p Pairs) Lookup(key string) (string, bool) {
	i := sort.Search(len(p), func(i int) bool { return p[i].Key >= key })
	if i < len(p) && p[i].Key == key {
		return p[i].Value, true
	}
	return "", false
}

// Get returns the value of a key, or the empty string.
func (p Pairs) Get(key string) string { v, _ := p.Lookup(key); return v }

// Has reports whether the key exists.
func (p Pairs) Has(key string) bool { _, ok := p.Lookup(key); return ok }

// OwnerReference is an object's controlling owner reference.
type OwnerReference struct {
	schema.GroupKind
	Name string
	// UID is the owner's UID; empty if the projection does not keep it.
	UID string
}

// Object is the projection of one watched object: identity, labels, some annotations, the fields read by the adapter,
// and the ledger. It is immutable and shared.
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
	// Annotations has only the keys of the projection.
	Annotations Pairs
	// OwnerReference is the controlling owner reference; nil: none.
	OwnerReference *OwnerReference
	// Fields are the values read by the adapter, in the order of its projection. Values at ledger pointers that the
	// adapter does not write (any more) follow, so an original is restored even after an edit of the adapter.
	Fields []Field
	// Elements are the values read under `each`, one for each element and path, in order. Elements of the ledger that
	// `each` does not yield follow.
	Elements []Element
	// Ledger has the fields changed by Flyball; nil: none.
	Ledger Ledger
	// LedgerNotes has facts about the ledger annotation besides its entries; nil: no ledger.
	LedgerNotes *LedgerNotes
	// LedgerError is the reason why the ledger annotation is unreadable. Such an object is never written.
	LedgerError string
	// Requests are the requests of one pod of the object's template; nil without a ledger or a template.
	Requests *Requests
	// Inventory is the record of the objects that a GitOps tool applies by this object; nil: none, or it is not kept.
	Inventory *Inventory
}

// Inventory has the objects that another object applies, sorted.
type Inventory struct{ Objects []Ref }

// Field is the value found at one plain path of an object.
type Field struct {
	// Raw is the JSON text of the value; empty: absent. An explicit null counts as absent.
	Raw string
	// Depth is the number of leading tokens of the path that exist.
	Depth uint8
	// IsNull is true if the object has an explicit null at the path.
	IsNull bool
}

// Text returns the JSON text of the value, an explicit null included; empty: absent.
func (f Field) Text() string {
	if f.IsNull {
		return "null"
	}
	return f.Raw
}

// LedgerNotes are facts about a ledger besides its entries.
type LedgerNotes struct {
	// UID is the UID of the object on which the ledger was begun; empty if the ledger does not have it. It differs from
	// the object's UID after a restore of the object from a backup.
	UID string
	// CopyOf names the object from which this object was copied, ledger and set values included. The ledger does not
	// belong to the copy.
	CopyOf string
	// Authors has the managers that wrote the fields of the entries, in the order of the ledger; nil: unknown.
	Authors []Author
	// Members has, by pointer, the number of members of the containers that Flyball may have created for fields
	// of the ledger.
	Members map[string]int
}

// Notes returns the facts about the ledger annotation; the zero value if there is no ledger.
func (o *Object) Notes() LedgerNotes {
	if o.LedgerNotes == nil {
		return LedgerNotes{}
	}
	return *o.LedgerNotes
}

// Author is the information in the managed fields about one ledger entry.
type Author struct {
	// Known is true if the last writer of the field is known. Other is true if a different manager has written the field
	// since Flyball did.
	Known, Other bool
	// Alone is the number of tokens of the outermost created parent with no writer except Flyball: its other content
	// came with Flyball's write, such as defaults of the schema. Zero: none.
	Alone uint8
}

// Exists reports whether the value exists.
func (f Field) Exists() bool { return f.Raw != "" }

// Part is a part of an adapter whose values are in list elements.
type Part struct {
	Kind PartKind
	// Index is the index of the part among the adapter's parts of the kind.
	Index uint8
}

// PartKind is the kind of number that a Part has.
type PartKind uint8

// The kinds of numbers in list elements.
const (
	PartCount  PartKind = iota // a replica count
	PartAmount                 // a request, a limit or a utilisation
	PartMin                    // the lower end of a range
	PartMax                    // the upper end of a range
)

// Element is a value found under `each`.
type Element struct {
	// Part is the part of the adapter to which the value belongs.
	Part Part
	// Index is the element's index in its list.
	Index uint16
	// Name is the element's name; empty: none.
	Name string
	// Pointer is the concrete JSON pointer of the value.
	Pointer string
	// NamePointer is the concrete JSON pointer of the name; empty: elements have no names.
	NamePointer string
	// Outside is true for a list element that the adapter's path `each` does not match, or no longer matches. Such an
	// element is kept only for the ledger, and decisions ignore it.
	Outside bool
	Field
}

// Component is one replica count for policies: the owner's count, without Flyball's changes.
type Component struct {
	Name string
	// Replicas is the owner's count.
	Replicas int64
	// Minimum is the lowest count accepted by the kind.
	Minimum int64
	// Fixed is true if the count of this object must not change.
	Fixed bool
}

// Bounds are an autoscaler's limits as set by its owner; nil: no limit.
type Bounds struct {
	Min, Max *int64
}

// Clamp returns a count limited to the bounds. If they contradict each other, the minimum wins.
func (b Bounds) Clamp(n int64) int64 {
	if b.Max != nil {
		n = min(n, *b.Max)
	}
	if b.Min != nil {
		n = max(n, *b.Min)
	}
	return n
}

// Observed is a target as policies see it: with the originals in place of Flyball's values.
type Observed struct {
	Ref    Ref
	Labels Pairs
	// Annotations are the annotations in the projection.
	Annotations Pairs
	Components  []Component
	Bounds      Bounds
	// Allocations are the components' requests and limits; Utilisation is the autoscaler's targets. They are read only
	// if a policy for such amounts selects the kind.
	Allocations Allocations
	Utilisation []Utilisation
	// Blind is true while an autoscaler cannot read its metrics. It is read together with Utilisation.
	Blind bool
	// Settled is true if the object has settled according to its adapter, Flyball's changes included. It is read
	// together with Allocations.
	Settled bool
	// CanSuspend is true if a suspend variant of the adapter fits the object.
	CanSuspend bool
	// CanHold is true if a hold variant of the adapter fits the object.
	CanHold bool
	// Held is true if the owner has set the hold variant.
	Held bool
	// WakesFromZero is true for an autoscaler that scales its target up from zero replicas by itself.
	WakesFromZero bool
	// Suspended is true if the owner has suspended the object.
	Suspended bool
	// Governed is true if an autoscaler with an adapter scales the object.
	Governed bool
	// Governs is true if the object is an autoscaler of a different object.
	Governs bool
	// Created is the creation time; zero: unknown.
	Created time.Time
	// RunsToCompletion is true for an object with an end, for example a Job.
	RunsToCompletion bool
}

// Capacity returns the number of replicas of a size, over all components. SizeOwn counts as the largest number: a
// policy's reduction never leaves more capacity than the owner's own size.
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
