package workload

import (
	"sort"
	"strings"
	"time"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Entry is a changed field: the original, the set value, the policy and the time.
type Entry struct {
	// Pointer is the JSON pointer of the field.
	Pointer string
	// Was is the JSON text of the original; empty if the field was absent.
	Was string
	// WasNull is true if the original is an explicit null and Was is empty. A schema's default replaces an absent
	// field, but not a null.
	WasNull bool
	// Awake is the JSON text that is restored where the field was absent, because the operator needs it to go on; empty: the
	// field is removed.
	Awake string
	// Set is the JSON text of the set value; empty if the field was removed.
	Set string
	// By is the policy that made the claim (Policy.String).
	By string
	// Also is the JSON text of a list of other policies with the same claim (Policy.String), or empty. The entry is theirs when By
	// ends: a policy that is suspended or cannot be read keeps it.
	Also string
	// Since is the instant of the transition that led to the claim.
	Since time.Time
	// Made is the number of tokens of the outermost parent created with the field; zero if all parents existed. The
	// restore also removes created parents that contain nothing else.
	Made uint8
	// Element is the name of the list element in the pointer at the time of the write.
	Element string
	// Place is the index of a list element without a name among the elements yielded by `each`, such as "2 of 3". It
	// identifies the element as long as the list has this length.
	Place string
	// Adopted is true if a different writer was seen to write the field after Flyball, and only this entry records it. The
	// current value belongs to the other writer, even if equal to Set again.
	Adopted bool
	// Pending is true while the ledger is written and the result of the /scale write is unknown. That write sets or
	// restores the field, so a pending field may hold Set, Was or Prior, all written by Flyball.
	Pending bool
	// Prior is, while Pending, the JSON text of Flyball's former value that Set replaces; empty if Set replaces
	// the original.
	Prior string
	// Once is the JSON text of the claim if the field was set once and then left to foreign writers; Set may differ from
	// it because of bounds. Such an entry only records the write, and is dropped without a restore.
	Once string
	// Interrupted is, beside Once, the JSON text of a list of claims (type Once) applied to the field before other
	// policies interrupted them. They are not applied again.
	Interrupted string
}

// Original returns the JSON text of the original, an explicit null included; empty if the field was absent.
func (e *Entry) Original() string {
	if e.WasNull {
		return "null"
	}
	return e.Was
}

// IsInList reports whether the pointer has a list element that must be found again.
func (e *Entry) IsInList() bool { return e.Element != "" || e.Place != "" }

// maxAlso is the number of policies in an entry beside By.
const maxAlso = 8

// SetAlso sets the policies with the same claim as By.
func (e *Entry) SetAlso(policies []Policy) {
	e.Also = ""
	if len(policies) == 0 {
		return
	}
	text := []byte{'['}
	for i, p := range policies[:min(len(policies), maxAlso)] {
		if i > 0 {
			text = append(text, ',')
		}
		text = path.AppendQuoted(text, p.String())
	}
	e.Also = string(append(text, ']'))
}

// Claimants returns By and the policies of Also. A text that is no list of strings counts as empty.
func (e *Entry) Claimants() []Policy {
	holders := []Policy{ParsePolicy(e.By)}
	if e.Also == "" {
		return holders // the common case
	}
	also := rawjson.Parse(e.Also)
	if !also.IsArray() {
		return holders
	}
	also.ForEach(func(_, name rawjson.Value) bool {
		if name.Type != rawjson.String {
			holders = holders[:1]
			return false
		}
		holders = append(holders, ParsePolicy(name.Str))
		return true
	})
	return holders
}

// Ledger is the list of changed fields, sorted by pointer. In JSON it is an object keyed by pointer, with up to three
// more keys for its Origin.
type Ledger []Entry

// Intern replaces the texts of the entries by shared copies. Most objects of a cluster have the same.
func (l Ledger) Intern(in *Interner) {
	for i := range l {
		e := &l[i]
		for _, text := range []*string{&e.Pointer, &e.Was, &e.Awake, &e.Set, &e.By, &e.Also, &e.Element, &e.Place, &e.Prior, &e.Once,
			&e.Interrupted} {
			*text = in.String(*text)
		}
	}
}

// Origin is the object on which a ledger was written. Controllers copy annotations to generated objects (a Deployment
// to its ReplicaSets), and users copy whole objects: a ledger of another origin does not belong to the object.
type Origin struct {
	// Of is the kind and the name (LedgerOf); empty if the ledger does not have them.
	Of string
	// Namespace and UID are the namespace and the UID of the object when the ledger was begun. Objects of files have no UID;
	// the namespace is unknown then too. A restored backup has another UID and is still the same object.
	Namespace, UID string
}

// String returns the name of the object for messages: Deployment shop/web.
func (o Origin) String() string {
	kind, name, _ := strings.Cut(o.Of, "/")
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return kind + " " + name
}

// Find returns the entry of a pointer, or nil.
func (l Ledger) Find(pointer string) *Entry {
	i := sort.Search(len(l), func(i int) bool { return l[i].Pointer >= pointer })
	if i < len(l) && l[i].Pointer == pointer {
		return &l[i]
	}
	return nil
}

// Keys of the annotation for the origin; every other key is a JSON pointer.
const (
	ledgerOf        = "of"
	ledgerNamespace = "namespace"
	ledgerUID       = "uid"
)

// LedgerOf returns the name of an object in its ledger.
func LedgerOf(kind, name string) string { return kind + "/" + name }
