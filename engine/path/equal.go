package path

import (
	"bytes"
	"encoding/json"
)

// maxNesting is the maximum depth of JSON objects and arrays inside each other. A deeper text equals nothing.
// encoding/json has the same limit.
const maxNesting = 10_000

// Equal reports whether two JSON texts are the same value: numbers by exact value (1 is 1.0 and 1e0), strings with
// escapes resolved, objects in any order of their keys, and with any white space. A text that is not JSON, or is nested
// deeper than 10,000 containers, equals nothing.
func Equal[T ~string | ~[]byte](a, b T) bool { return equalJSON([]byte(a), []byte(b)) }

func equalJSON(a, b []byte) bool {
	a, b = trimSpace(a), trimSpace(b)
	if len(a) == 0 || len(b) == 0 || typeOf(a[0]) != typeOf(b[0]) {
		return false
	}
	if bytes.Equal(a, b) {
		return json.Valid(a)
	}
	if a[0] == '"' && !bytes.ContainsRune(a, '\\') && !bytes.ContainsRune(b, '\\') {
		return false // strings without escapes that differ
	}
	if isWhole(a) && isWhole(b) {
		return false // whole numbers that differ
	}
	x, okX := decodeAll(a)
	y, okY := decodeAll(b)
	return okX && okY && equalTrees(x, y)
}

// isWhole reports whether a text is a whole number without sign, fraction and exponent. Such a number has one text.
func isWhole(text []byte) bool {
	return skipDigits(text, 0) == len(text) && (text[0] != '0' || len(text) == 1)
}

// trimSpace removes JSON's white space, which is less than Unicode's, around the text.
func trimSpace(doc []byte) []byte { return bytes.Trim(doc, " \t\r\n") }

// scalar is the JSON text of a number, a boolean or null in a decoded tree.
type scalar []byte

// decodeAll decodes a whole text into map[string]any, []any, string and scalar. Unlike encoding/json it keeps numbers
// exact and the first of repeated keys.
func decodeAll(doc []byte) (any, bool) {
	tree, end, err := decode(doc, 0, maxNesting)
	return tree, err == nil && end == len(doc)
}

// decode decodes the value at i, with up to the given depth of nested containers.
func decode(doc []byte, i, nesting int) (tree any, end int, err error) {
	if c := at(doc, i); c == '{' || c == '[' {
		if nesting == 0 {
			return nil, 0, &SyntaxError{Offset: i, Reason: "nested too deep"}
		}
		return decodeContainer(doc, i, nesting-1)
	}
	if end, err = skipValue(doc, i); err != nil {
		return nil, 0, err
	}
	if doc[i] != '"' {
		return scalar(doc[i:end]), end, nil
	}
	s, err := unquote(doc[i:end])
	return s, end, err
}

func decodeContainer(doc []byte, i, nesting int) (tree any, end int, err error) {
	object, array := map[string]any{}, []any{}
	it := itemsOf(doc, i)
	for it.next() {
		var value any
		value, it.end, it.err = decode(doc, it.value, nesting)
		if !it.inObject() {
			array = append(array, value)
		} else if _, repeated := object[string(it.key)]; !repeated {
			object[string(it.key)] = value
		}
	}
	if it.inObject() {
		return object, it.end, it.err
	}
	return array, it.end, it.err
}

// equalTrees compares results of decodeAll.
func equalTrees(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			other, ok := y[key]
			if !ok || !equalTrees(value, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equalTrees(x[i], y[i]) {
				return false
			}
		}
		return true
	case scalar:
		y, ok := b.(scalar)
		return ok && typeOf(x[0]) == typeOf(y[0]) && (bytes.Equal(x, y) || typeOf(x[0]) == Number && equalNumbers(x, y))
	default:
		return a == b // strings
	}
}
