package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"
)

// Entry is one changed field: what it was, what it was set to, by whom and since when.
type Entry struct {
	// Pointer is the JSON pointer of the field.
	Pointer string `json:"-"`
	// Was is the JSON text of the original; empty when the field was absent.
	Was string `json:"-"`
	// Set is the JSON text of the value set; empty when the field was removed.
	Set string `json:"-"`
	// By is the policy on whose behalf (Policy.String).
	By string `json:"by"`
	// Since is the instant of the transition that asked for it.
	Since time.Time `json:"since,omitzero"`
	// Made is, where parents of the field did not exist, how many leading tokens of the pointer did, plus one; zero otherwise.
	// On giving back, the parents that were made go too, if nothing else came into them.
	Made uint8 `json:"made,omitempty"`
	// Element is the name of the list element that the pointer went through when the entry was written.
	Element string `json:"element,omitempty"`
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

// Ledger is the list of changed fields, sorted by pointer. In JSON it is one object keyed by pointer, with one more key, "of",
// that names the object.
type Ledger []Entry

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

// ledgerOf is the key under which the annotation names the object it belongs to; every other key is a JSON pointer.
const ledgerOf = "of"

// LedgerOf names an object in its ledger. Controllers copy annotations to what they make (a Deployment to its ReplicaSets):
// a ledger that names another object is not the object's own.
func LedgerOf(kind, name string) string { return kind + "/" + name }

// Encode renders the annotation's value for the object that of names; equal ledgers give equal texts.
func (l Ledger) Encode(of string) (string, error) {
	m := map[string]any{ledgerOf: of}
	for _, e := range l {
		e.Since = e.Since.UTC()
		m[e.Pointer] = entryJSON{Was: json.RawMessage(e.Was), Set: json.RawMessage(e.Set), Prior: json.RawMessage(e.Prior),
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

// ParseLedger reads the annotation's value and the name of the object it belongs to, empty if it gives none.
func ParseLedger(text string) (l Ledger, of string, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, "", fmt.Errorf("read the ledger annotation: %w", err)
	}
	l = make(Ledger, 0, len(m))
	for pointer, raw := range m {
		if pointer == ledgerOf {
			if err := json.Unmarshal(raw, &of); err != nil {
				return nil, "", fmt.Errorf("read the ledger annotation: %q: %w", ledgerOf, err)
			}
			continue
		}
		if pointer == "" || pointer[0] != '/' {
			return nil, "", fmt.Errorf("read the ledger annotation: %q is not a JSON pointer", pointer)
		}
		var j entryJSON
		if err := json.Unmarshal(raw, &j); err != nil {
			return nil, "", fmt.Errorf("read the ledger annotation: %s: %w", pointer, err)
		}
		e := j.Entry
		e.Pointer, e.Was, e.Set, e.Prior, e.Interrupted = pointer, string(j.Was), string(j.Set), string(j.Prior), string(j.Interrupted)
		l = append(l, e)
	}
	slices.SortFunc(l, func(a, b Entry) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return l, of, nil
}
