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

// Entry is a changed field: the original, the set value, the policy and the time.
type Entry struct {
	// Pointer is the JSON pointer of the field.
	Pointer string `json:"-"`
	// Was is the JSON text of the original; empty if the field was absent.
	Was string `json:"-"`
	// WasNull is true if the original is an explicit null and Was is empty. A schema's default replaces an absent
	// field, but not a null.
	WasNull bool `json:"-"`
	// Awake is the JSON text that is restored where the field was absent, because the operator needs it to go on; empty: the
	// field is removed.
	Awake string `json:"-"`
	// Set is the JSON text of the set value; empty if the field was removed.
	Set string `json:"-"`
	// By is the policy that made the claim (Policy.String).
	By string `json:"by"`
	// Also is the JSON text of a list of other policies with the same claim (Policy.String), or empty. The entry is theirs when By
	// ends: a policy that is suspended or cannot be read keeps it.
	Also string `json:"-"`
	// Since is the instant of the transition that led to the claim.
	Since time.Time `json:"since,omitzero"`
	// Made is the number of tokens of the outermost parent created with the field; zero if all parents existed. The
	// restore also removes created parents that contain nothing else.
	Made uint8 `json:"made,omitempty"`
	// Element is the name of the list element in the pointer at the time of the write.
	Element string `json:"element,omitempty"`
	// Place is the index of a list element without a name among the elements yielded by `each`, such as "2 of 3". It
	// identifies the element as long as the list has this length.
	Place string `json:"place,omitempty"`
	// Adopted is true if a different writer was seen to write the field after Flyball, and only this entry records it. The
	// current value belongs to the other writer, even if equal to Set again.
	Adopted bool `json:"adopted,omitempty"`
	// Pending is true while the ledger is written and the result of the /scale write is unknown. That write sets or
	// restores the field, so a pending field may hold Set, Was or Prior, all written by Flyball.
	Pending bool `json:"pending,omitempty"`
	// Prior is, while Pending, the JSON text of Flyball's former value that Set replaces; empty if Set replaces
	// the original.
	Prior string `json:"-"`
	// Once is the JSON text of the claim if the field was set once and then left to foreign writers; Set may differ from
	// it because of bounds. Such an entry only records the write, and is dropped without a restore.
	Once string `json:"once,omitempty"`
	// Interrupted is, beside Once, the JSON text of a list of claims (type Once) applied to the field before other
	// policies interrupted them. They are not applied again.
	Interrupted string `json:"-"`
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
	var names []string
	for _, p := range policies[:min(len(policies), maxAlso)] {
		names = append(names, p.String())
	}
	if text, err := json.Marshal(names); err == nil && len(names) > 0 { // names can always be encoded
		e.Also = string(text)
	}
}

// Holders returns By and the policies of Also. An unreadable text counts as empty.
func (e *Entry) Holders() []Policy {
	holders := []Policy{ParsePolicy(e.By)}
	var names []string
	if e.Also == "" || json.Unmarshal([]byte(e.Also), &names) != nil {
		return holders
	}
	for _, name := range names {
		holders = append(holders, ParsePolicy(name))
	}
	return holders
}

// Ledger is the list of changed fields, sorted by pointer. In JSON it is an object keyed by pointer, with up to three
// more keys for its Origin.
type Ledger []Entry

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

type entryJSON struct {
	Was   json.RawMessage `json:"was,omitempty"`
	Awake json.RawMessage `json:"awake,omitempty"`
	Set   json.RawMessage `json:"set,omitempty"`
	Prior json.RawMessage `json:"prior,omitempty"`
	Also  json.RawMessage `json:"also,omitempty"`
	// Interrupted is empty or a list of type Once.
	Interrupted json.RawMessage `json:"interrupted,omitempty"`
	Entry
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

// Encode returns the annotation's value for an object; equal ledgers give equal texts. A value that is not JSON is an
// error.
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
			Awake: json.RawMessage(e.Awake), Also: json.RawMessage(e.Also), Interrupted: json.RawMessage(e.Interrupted), Entry: e}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return "", fmt.Errorf("encode the ledger: %w", err)
	}
	return string(bytes.TrimSpace(buf.Bytes())), nil
}

// ParseLedger parses the annotation's value and returns the ledger and its origin. An error names an unreadable key.
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
		e.Interrupted, e.Awake, e.Also = string(j.Interrupted), string(j.Awake), string(j.Also)
		if e.Was == "null" {
			e.Was, e.WasNull = "", true
		}
		l = append(l, e)
	}
	slices.SortFunc(l, func(a, b Entry) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return l, on, nil
}
