// Package rawjson reads values of a JSON text without decoding the text. It is the only package that knows the reader,
// github.com/tidwall/gjson. Its paths are those of gjson, for fields that the code names; package path has the grammar
// of adapters, checks syntax and compares numbers exactly.
package rawjson

import "github.com/tidwall/gjson"

// The types of a Value. The zero Value has the type Null, and does not exist.
const (
	Null   = gjson.Null
	False  = gjson.False
	True   = gjson.True
	Number = gjson.Number
	String = gjson.String
)

// Value is a value of a JSON text. Its fields share the memory of the text: Raw is its JSON, Str a decoded string, Num
// a number, and Type its type.
type Value gjson.Result

// Parse returns the value of a text. Of invalid JSON it returns an undefined part.
func Parse(text string) Value { return Value(gjson.Parse(text)) }

// ParseBytes is Parse for bytes, of which it keeps a copy.
func ParseBytes(text []byte) Value { return Value(gjson.ParseBytes(text)) }

// Get returns the value at a path, such as metadata.name.
func Get(text, path string) Value { return Value(gjson.Get(text, path)) }

// GetBytes is Get for bytes. It keeps a copy of the value alone.
func GetBytes(text []byte, path string) Value { return Value(gjson.GetBytes(text, path)) }

// Valid reports whether a text is JSON.
func Valid(text string) bool { return gjson.Valid(text) }

// ValidBytes reports whether a text is JSON.
func ValidBytes(text []byte) bool { return gjson.ValidBytes(text) }

// Escape returns a key as one step of a path, such as flyball\.dev/ledger.
func Escape(key string) string { return gjson.Escape(key) }

// Get returns the value at a path below the value.
func (v Value) Get(path string) Value { return Value(gjson.Result(v).Get(path)) }

// Exists reports whether the text has the value. A null exists.
func (v Value) Exists() bool { return gjson.Result(v).Exists() }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return gjson.Result(v).IsObject() }

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool { return gjson.Result(v).IsArray() }

// IsBool reports whether the value is true or false.
func (v Value) IsBool() bool { return gjson.Result(v).IsBool() }

// String returns a string decoded, and another value as its JSON.
func (v Value) String() string { return gjson.Result(v).String() }

// Bool returns whether the value is true, or a text or number that means it.
func (v Value) Bool() bool { return gjson.Result(v).Bool() }

// Int returns the integer part of a number, and 0 for a value without one.
func (v Value) Int() int64 { return gjson.Result(v).Int() }

// Float returns a number, and 0 for a value without one.
func (v Value) Float() float64 { return gjson.Result(v).Float() }

// Value returns the value decoded as by encoding/json.
func (v Value) Value() any { return gjson.Result(v).Value() }

// ForEach yields the elements of an array or the members of an object until yield returns false.
func (v Value) ForEach(yield func(key, value Value) bool) {
	gjson.Result(v).ForEach(func(key, value gjson.Result) bool { return yield(Value(key), Value(value)) })
}

// Array returns the elements of an array, the value itself if it is something else, and nothing if it is null or absent.
func (v Value) Array() (all []Value) {
	switch {
	case v.Type == Null:
		return nil
	case !v.IsArray():
		return []Value{v}
	}
	v.ForEach(func(_, element Value) bool {
		all = append(all, element)
		return true
	})
	return all
}

// Map returns the members of an object, and an empty map of another value. Of a repeated key the first member counts.
func (v Value) Map() map[string]Value {
	all := map[string]Value{}
	if v.IsObject() {
		v.ForEach(func(key, value Value) bool {
			if _, repeated := all[key.Str]; !repeated {
				all[key.Str] = value
			}
			return true
		})
	}
	return all
}
