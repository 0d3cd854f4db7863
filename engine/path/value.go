package path

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrAbsent is wrapped by the errors of Value's accessors when there is no value.
var ErrAbsent = errors.New("no such field")

// Type is the JSON type of a Value.
type Type string

// The types of a Value. Absent is the type of a value that does not exist; it is not Null, which is a value.
const (
	Absent  Type = "absent"
	Null    Type = "null"
	Boolean Type = "boolean"
	Number  Type = "number"
	String  Type = "string"
	Array   Type = "array"
	Object  Type = "object"
)

// typeOf returns the type of a JSON text by its first byte.
func typeOf(c byte) Type {
	switch c {
	case 'n':
		return Null
	case 't', 'f':
		return Boolean
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	default:
		return Number
	}
}

// TypeError is the error for a value of an unexpected type.
type TypeError struct {
	// Path is the path or JSON pointer of the value.
	Path string
	// Want is the wanted type.
	Want string
	// Got is the value's JSON text, shortened.
	Got string
}

// Error names the path, the type asked for and the value found.
func (e *TypeError) Error() string {
	return fmt.Sprintf("read %s: want %s, got %s", e.Path, e.Want, e.Got)
}

// Value is a value of a document as raw JSON text. It is a copy and keeps no part of the document alive. The zero
// Value is absent.
type Value struct {
	raw string
	at  string // the path or JSON pointer, for errors
}

// NewValue makes a value of raw JSON text, which is not checked; at names it in errors. Empty text is an absent value.
func NewValue(raw, at string) Value { return Value{raw: raw, at: at} }

// Exists reports whether the document has the value. A null exists.
func (v Value) Exists() bool { return v.raw != "" }

// Raw returns the JSON text exactly as the document has it; "" if absent.
func (v Value) Raw() string { return v.raw }

// String returns the JSON text, or "<absent>", for messages.
func (v Value) String() string {
	if !v.Exists() {
		return "<absent>"
	}
	return v.raw
}

// Type returns the JSON type.
func (v Value) Type() Type {
	if !v.Exists() {
		return Absent
	}
	return typeOf(v.raw[0])
}

// Int64 returns the number exactly. In JSON 3, 3.0 and 3e0 are equal: all three are the integer 3. Fractions, numbers
// outside int64 and other types are a *TypeError; an absent value is ErrAbsent.
func (v Value) Int64() (int64, error) {
	if err := v.check(Number, "an integer"); err != nil {
		return 0, err
	}
	d, ok := parseDecimal(v.raw)
	if !ok {
		return 0, v.typeError("an integer")
	}
	n, ok := d.int64()
	if !ok {
		return 0, v.typeError("a 64-bit integer")
	}
	return n, nil
}

// Text returns the decoded string. Other types are a *TypeError; an absent value is ErrAbsent.
func (v Value) Text() (string, error) {
	if err := v.check(String, "a string"); err != nil {
		return "", err
	}
	s, err := unquote([]byte(v.raw))
	if err != nil {
		return "", v.typeError("a valid string")
	}
	return s, nil
}

func (v Value) check(t Type, want string) error {
	switch v.Type() {
	case t:
		return nil
	case Absent:
		return fmt.Errorf("read %s: %w", v.at, ErrAbsent)
	default:
		return v.typeError(want)
	}
}

func (v Value) typeError(want string) error {
	const limit = 80 // bytes of the value in a message
	got := v.raw
	if len(got) > limit {
		got = string(bytes.ToValidUTF8([]byte(got[:limit]), nil)) + "..."
	}
	return &TypeError{Path: v.at, Want: want, Got: got}
}
