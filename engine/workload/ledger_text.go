package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
)

// A ledger is written with each change and read with each version of a changed object, so its text is written and read without
// encoding/json, which takes four times as long.

// Encode returns the annotation's value for an object; equal ledgers give equal texts. A value that is not JSON is an
// error.
func (l Ledger) Encode(on Origin) (string, error) {
	w := memberWriter{}
	w.out.Grow(128 + 160*len(l)) // as a usual ledger has, so the text does not grow in steps
	w.begin()
	for i := range l {
		w.key(l[i].Pointer)
		w.entry(&l[i])
	}
	if on.UID != "" {
		w.textIfAny(ledgerNamespace, on.Namespace)
	}
	w.text(ledgerOf, on.Of)
	w.textIfAny(ledgerUID, on.UID)
	w.end()
	if w.err != nil {
		return "", fmt.Errorf("encode the ledger: %w", w.err)
	}
	return w.out.String(), nil
}

// memberWriter writes JSON objects, member by member. err is the first error.
type memberWriter struct {
	out bytes.Buffer
	err error
	// first is true before the first member of an object.
	first bool
}

func (w *memberWriter) begin() {
	w.out.WriteByte('{')
	w.first = true
}

func (w *memberWriter) end() {
	w.out.WriteByte('}')
	w.first = false
}

func (w *memberWriter) key(name string) {
	if !w.first {
		w.out.WriteByte(',')
	}
	w.first = false
	w.quote(name)
	w.out.WriteByte(':')
}

func (w *memberWriter) text(name, value string) {
	w.key(name)
	w.quote(value)
}

func (w *memberWriter) quote(text string) {
	w.out.Write(path.AppendQuoted(w.out.AvailableBuffer(), text))
}

func (w *memberWriter) textIfAny(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

// json writes a JSON text without white space, unless it is empty.
func (w *memberWriter) json(name, value string) {
	if value == "" {
		return
	}
	w.key(name)
	w.err = cmp.Or(w.err, json.Compact(&w.out, []byte(value)))
}

func (w *memberWriter) flag(name string, is bool) {
	if is {
		w.json(name, "true")
	}
}

func (w *memberWriter) entry(e *Entry) {
	w.begin()
	w.json("was", e.Original())
	w.json("awake", e.Awake)
	w.json("set", e.Set)
	w.json("prior", e.Prior)
	w.json("also", e.Also)
	w.json("interrupted", e.Interrupted)
	w.text("by", e.By)
	if !e.Since.IsZero() {
		since, err := e.Since.UTC().MarshalText()
		w.err = cmp.Or(w.err, err)
		w.text("since", string(since))
	}
	if e.Made > 0 {
		w.json("made", path.Integer(int64(e.Made)))
	}
	w.textIfAny("element", e.Element)
	w.textIfAny("place", e.Place)
	w.flag("adopted", e.Adopted)
	w.flag("pending", e.Pending)
	w.textIfAny("once", e.Once)
	w.end()
}

// ParseLedger parses the annotation's value and returns the ledger and its origin. Their texts share the memory of the value. An error
// names an unreadable key.
func ParseLedger(text string) (l Ledger, on Origin, err error) {
	if !json.Valid([]byte(text)) {
		return nil, Origin{}, fmt.Errorf("read the ledger annotation: %w", json.Unmarshal([]byte(text), new(json.RawMessage)))
	}
	l = Ledger{}
	if root := rawjson.Parse(text); root.IsObject() {
		root.ForEach(func(key, value rawjson.Value) bool {
			l, err = addMember(l, &on, key.Str, value)
			return err == nil
		})
	} else {
		err = errors.New("it is not a JSON object")
	}
	if err != nil {
		return nil, Origin{}, fmt.Errorf("read the ledger annotation: %w", err)
	}
	// Of two members with one name, the later counts.
	slices.Reverse(l)
	slices.SortStableFunc(l, func(a, b Entry) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return slices.CompactFunc(l, func(a, b Entry) bool { return a.Pointer == b.Pointer }), on, nil
}

// addMember adds a member of the annotation's value to a ledger or to its origin.
func addMember(l Ledger, on *Origin, key string, value rawjson.Value) (Ledger, error) {
	e, err := Entry{Pointer: key}, error(nil)
	switch {
	case key == ledgerOf:
		err = readText(value, &on.Of)
	case key == ledgerNamespace:
		err = readText(value, &on.Namespace)
	case key == ledgerUID:
		err = readText(value, &on.UID)
	case key == "" || key[0] != '/':
		return nil, fmt.Errorf("%q is not a JSON pointer", key)
	default:
		if err := e.read(value); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		return append(l, e), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return l, nil
}

// read reads the members of an entry. It ignores members with other names.
func (e *Entry) read(from rawjson.Value) (err error) {
	if !from.IsObject() {
		return errors.New("the entry is not an object")
	}
	from.ForEach(func(key, value rawjson.Value) bool {
		err = e.readMember(key.Str, value)
		return err == nil
	})
	if e.Was == "null" {
		e.Was, e.WasNull = "", true
	}
	return err
}

func (e *Entry) readMember(name string, value rawjson.Value) error {
	switch name {
	case "was":
		e.Was = value.Raw
	case "awake":
		e.Awake = value.Raw
	case "set":
		e.Set = value.Raw
	case "prior":
		e.Prior = value.Raw
	case "also":
		e.Also = value.Raw
	case "interrupted":
		e.Interrupted = value.Raw
	case "by":
		return readText(value, &e.By)
	case "since":
		return readInstant(value, &e.Since)
	case "made":
		return readSmall(value, &e.Made)
	case "element":
		return readText(value, &e.Element)
	case "place":
		return readText(value, &e.Place)
	case "adopted":
		return readFlag(value, &e.Adopted)
	case "pending":
		return readFlag(value, &e.Pending)
	case "once":
		return readText(value, &e.Once)
	}
	return nil
}

func readText(v rawjson.Value, to *string) error {
	if v.Type != rawjson.String {
		return fmt.Errorf("%s is not a string", path.Brief(v.Raw))
	}
	*to = v.Str
	return nil
}

func readInstant(v rawjson.Value, to *time.Time) error {
	var text string
	if err := readText(v, &text); err != nil {
		return err
	}
	return to.UnmarshalText([]byte(text))
}

func readSmall(v rawjson.Value, to *uint8) error {
	n := v.Float()
	if v.Type != rawjson.Number || n < 0 || n > math.MaxUint8 || n != math.Trunc(n) {
		return fmt.Errorf("%s is not a whole number up to %d", path.Brief(v.Raw), math.MaxUint8)
	}
	*to = uint8(n)
	return nil
}

func readFlag(v rawjson.Value, to *bool) error {
	if !v.IsBool() {
		return fmt.Errorf("%s is neither true nor false", path.Brief(v.Raw))
	}
	*to = v.Bool()
	return nil
}
