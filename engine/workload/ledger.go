package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// Entry is one changed field: what it was, what it was set to, by whom and since when.
type Entry struct {
	// Pointer is the JSON pointer of the field.
	Pointer string `json:"-"`
	// Was is the JSON text of the original; empty when the field was absent.
	Was string `json:"-"`
	// WasNull is true where the original is an explicit null and Was is empty. A default of the schema takes the place of a field that is
	// absent, but not that of a null.
	WasNull bool `json:"-"`
	// Set is the JSON text of the value set; empty when the field was removed.
	Set string `json:"-"`
	// By is the policy on whose behalf (Policy.String).
	By string `json:"by"`
	// Since is the instant of the transition that asked for it.
	Since time.Time `json:"since,omitzero"`
	// Made is, where parents of the field did not exist, the number of tokens of the outermost one that was made; zero otherwise.
	// On giving back, the parents that were made go too, if nothing else came into them.
	Made uint8 `json:"made,omitempty"`
	// Element is the name of the list element that the pointer went through when the entry was written.
	Element string `json:"element,omitempty"`
	// Place is the place of a list element without a name among those that `each` yields, such as "2 of 3". The element is known by it as
	// long as the list has this length.
	Place string `json:"place,omitempty"`
	// Adopted is true where somebody else was seen to have written the field after Flyball, and only this entry can say so: whatever
	// the field holds is that writer's, also where it is Set again.
	Adopted bool `json:"adopted,omitempty"`
	// Pending is true while the ledger is written and the /scale write is not yet known to be through. That write sets the field,
	// or gives it back: of an entry that is pending the field may hold Set, Was or Prior, all of them Flyball's doing.
	Pending bool `json:"pending,omitempty"`
	// Prior is, while Pending, the JSON text of the value that Flyball had set before and that Set takes the place of; empty
	// where Set takes the place of the original.
	Prior string `json:"-"`
	// Once is, where the field was set once and then left to others, the JSON text of what was asked for; Set may differ from
	// it by bounds. Such an entry only remembers that it was done: it is dropped without giving anything back.
	Once string `json:"once,omitempty"`
	// Interrupted is, beside Once, the JSON text of a list of the claims (of type Once) that the field was set for before other
	// policies came in between: they are not honoured again when they are handed back to.
	Interrupted string `json:"-"`
}

// Original is the JSON text of the original, an explicit null included; empty when the field was absent.
func (e *Entry) Original() string {
	if e.WasNull {
		return "null"
	}
	return e.Was
}

// IsInList reports whether the pointer went through a list element that is to be found again.
func (e *Entry) IsInList() bool { return e.Element != "" || e.Place != "" }

// Ledger is the list of changed fields, sorted by pointer. In JSON it is one object keyed by pointer, with up to three more keys
// that say on which object it was written (Origin).
type Ledger []Entry

// Origin is the object that a ledger was written on. Controllers copy annotations to what they make (a Deployment to its
// ReplicaSets), and people copy whole objects: a ledger of another origin is not the object's own.
type Origin struct {
	// Of is the kind and the name (LedgerOf); empty where the ledger does not say.
	Of string
	// Namespace and UID are those of the object on which the ledger was begun. Without UID, as in ledgers of older versions, neither
	// is known. A restored backup has another UID and is still the same object.
	Namespace, UID string
}

// String names the object for people: Deployment shop/web.
func (o Origin) String() string {
	kind, name, _ := strings.Cut(o.Of, "/")
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return kind + " " + name
}

type entryJSON struct {
	Was   json.RawMessage `json:"was,omitempty"`
	Set   json.RawMessage `json:"set,omitempty"`
	Prior json.RawMessage `json:"prior,omitempty"`
	// Interrupted is empty or a list of type Once.
	Interrupted json.RawMessage `json:"interrupted,omitempty"`
	Entry
}

// Find gives the entry of a pointer, or nil.
func (l Ledger) Find(pointer string) *Entry {
	i := sort.Search(len(l), func(i int) bool { return l[i].Pointer >= pointer })
	if i < len(l) && l[i].Pointer == pointer {
		return &l[i]
	}
	return nil
}

// The keys under which the annotation says what object it belongs to; every other key is a JSON pointer.
const (
	ledgerOf        = "of"
	ledgerNamespace = "namespace"
	ledgerUID       = "uid"
)

// LedgerOf names an object in its ledger.
func LedgerOf(kind, name string) string { return kind + "/" + name }

// Encode renders the annotation's value for an object; equal ledgers give equal texts.
func (l Ledger) Encode(on Origin) (string, error) {
	m := map[string]any{ledgerOf: on.Of}
	if on.UID != "" {
		m[ledgerUID] = on.UID
		if on.Namespace != "" {
			m[ledgerNamespace] = on.Namespace
		}
	}
	for _, e := range l {
		e.Since = e.Since.UTC()
		m[e.Pointer] = entryJSON{Was: json.RawMessage(e.Original()), Set: json.RawMessage(e.Set), Prior: json.RawMessage(e.Prior),
			Interrupted: json.RawMessage(e.Interrupted), Entry: e}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return "", fmt.Errorf("encode the ledger: %w", err)
	}
	return string(bytes.TrimSpace(buf.Bytes())), nil
}

// ParseLedger reads the annotation's value and the object that it was written on.
func ParseLedger(text string) (l Ledger, on Origin, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, Origin{}, fmt.Errorf("read the ledger annotation: %w", err)
	}
	for key, to := range map[string]*string{ledgerOf: &on.Of, ledgerNamespace: &on.Namespace, ledgerUID: &on.UID} {
		if raw, ok := m[key]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, Origin{}, fmt.Errorf("read the ledger annotation: %q: %w", key, err)
			}
			delete(m, key)
		}
	}
	l = make(Ledger, 0, len(m))
	for pointer, raw := range m {
		if pointer == "" || pointer[0] != '/' {
			return nil, Origin{}, fmt.Errorf("read the ledger annotation: %q is not a JSON pointer", pointer)
		}
		var j entryJSON
		if err := json.Unmarshal(raw, &j); err != nil {
			return nil, Origin{}, fmt.Errorf("read the ledger annotation: %s: %w", pointer, err)
		}
		e := j.Entry
		e.Pointer, e.Was, e.Set, e.Prior = pointer, string(j.Was), string(j.Set), string(j.Prior)
		e.Interrupted = string(j.Interrupted)
		if e.Was == "null" {
			e.Was, e.WasNull = "", true
		}
		l = append(l, e)
	}
	slices.SortFunc(l, func(a, b Entry) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return l, on, nil
}
