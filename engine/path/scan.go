package path

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// The scanner reads JSON text in place. It is this package's own rather than gjson's because one walk must know where
// each value ends without measuring it first and again inside, must tell a truncated document from one that lacks a
// key, and must not allocate for escaped strings that nobody asked for.

// SyntaxError says where a document stops being JSON.
type SyntaxError struct {
	// Offset is the byte offset in the document; its length if the text ends too early.
	Offset int
	// Reason says what was expected there.
	Reason string
}

// Error returns the reason and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// skipSpace returns the offset of the first byte at or after i that is not white space.
func skipSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// at returns the byte at i, or 0, which is no JSON token, past the end.
func at(doc []byte, i int) byte {
	if i >= len(doc) {
		return 0
	}
	return doc[i]
}

// skipString returns the offset behind the string that starts at i, and whether it holds escapes.
func skipString(doc []byte, i int) (end int, escaped bool, err error) {
	for i++; i < len(doc); i++ {
		// Most of a document is inside strings, so they are read by words.
		for len(doc)-i >= wordSize {
			mask := specials(binary.LittleEndian.Uint64(doc[i:]))
			if mask != 0 {
				i += bits.TrailingZeros64(mask) / 8
				break
			}
			i += wordSize
		}
		switch c := at(doc, i); {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			i++
		case c < ' ' && i < len(doc):
			return 0, false, &SyntaxError{Offset: i, Reason: "a control character in a string"}
		}
	}
	return 0, false, &SyntaxError{Offset: len(doc), Reason: "a string has no closing quote"}
}

const wordSize = 8

// specials returns a word whose lowest set bit is in the first byte of w that is a quote, a backslash or a control
// character; 0 if there is none. Bytes after the first may be marked wrongly. The trick is the zero-byte test of
// Hacker's Delight, section 6-1: (x-1) & ^x has the high bit of a byte set where x, the word with the byte looked for
// turned to zero, has a zero byte.
func specials(w uint64) uint64 {
	const low, high = 0x0101010101010101, 0x8080808080808080
	q, s := w^(low*'"'), w^(low*'\\')
	return ((q-low)&^q | (s-low)&^s | (w-low*' ')&^w) & high
}

// skipValue returns the offset behind the value that starts at i. Scalars are checked by the JSON grammar (except for
// the escapes in strings), containers for balanced brackets only.
func skipValue(doc []byte, i int) (int, error) {
	switch at(doc, i) {
	case '"':
		end, _, err := skipString(doc, i)
		return end, err
	case '{', '[':
		return skipRest(doc, i+1)
	case 't':
		return skipLiteral(doc, i, "true")
	case 'f':
		return skipLiteral(doc, i, "false")
	case 'n':
		return skipLiteral(doc, i, "null")
	default:
		end, ok := scanNumber(doc, i)
		if !ok {
			return 0, &SyntaxError{Offset: end, Reason: "expected a value"}
		}
		return end, nil
	}
}

func skipLiteral(doc []byte, i int, word string) (int, error) {
	if !bytes.HasPrefix(doc[i:], []byte(word)) {
		return 0, &SyntaxError{Offset: i, Reason: "expected " + word}
	}
	return i + len(word), nil
}

// skipRest returns the offset behind the container that i is in.
func skipRest(doc []byte, i int) (int, error) {
	for depth := 1; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			end, _, err := skipString(doc, i)
			if err != nil {
				return 0, err
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, &SyntaxError{Offset: len(doc), Reason: "an object or array has no closing bracket"}
}

// scanNumber returns the offset behind the number that starts at i; if there is none, the offset of the fault.
func scanNumber(doc []byte, i int) (end int, ok bool) {
	if at(doc, i) == '-' {
		i++
	}
	start := i
	if i = skipDigits(doc, i); i == start || doc[start] == '0' && i > start+1 {
		return i, false
	}
	if at(doc, i) == '.' {
		start = i + 1
		if i = skipDigits(doc, start); i == start {
			return i, false
		}
	}
	if c := at(doc, i); c != 'e' && c != 'E' {
		return i, true
	}
	if i++; at(doc, i) == '+' || at(doc, i) == '-' {
		i++
	}
	start = i
	i = skipDigits(doc, i)
	return i, i > start
}

func skipDigits(doc []byte, i int) int {
	for i < len(doc) && doc[i] >= '0' && doc[i] <= '9' {
		i++
	}
	return i
}

// member is one member of an object: its key as written, and where its value starts.
type member struct {
	keyStart, keyEnd int // inside the quotes
	escaped          bool
	value            int
}

// scanMember reads the key that starts at i, and the colon.
func scanMember(doc []byte, i int) (m member, err error) {
	if at(doc, i) != '"' {
		return m, &SyntaxError{Offset: i, Reason: "expected a key in quotes"}
	}
	end, escaped, err := skipString(doc, i)
	if err != nil {
		return m, err
	}
	colon := skipSpace(doc, end)
	if at(doc, colon) != ':' {
		return m, &SyntaxError{Offset: colon, Reason: "expected a colon after the key"}
	}
	return member{keyStart: i + 1, keyEnd: end - 1, escaped: escaped, value: skipSpace(doc, colon+1)}, nil
}

// key returns the key with its escapes resolved. It aliases the document where it can.
func (m member) key(doc []byte) ([]byte, error) {
	if !m.escaped {
		return doc[m.keyStart:m.keyEnd], nil
	}
	s, err := unquote(doc[m.keyStart-1 : m.keyEnd+1])
	if err != nil {
		return nil, &SyntaxError{Offset: m.keyStart, Reason: "an invalid escape in a key"}
	}
	return []byte(s), nil
}

// enter returns the offset of the first item of the container that opens at i, or, if it is empty, the offset behind
// it and done.
func enter(doc []byte, i int, closing byte) (next int, done bool) {
	i = skipSpace(doc, i+1)
	if at(doc, i) == closing {
		return i + 1, true
	}
	return i, false
}

// advance returns, from the end of an item, the offset of the next one, or the offset behind the container and done.
func advance(doc []byte, i int, closing byte) (next int, done bool, err error) {
	i = skipSpace(doc, i)
	switch at(doc, i) {
	case ',':
		return skipSpace(doc, i+1), false, nil
	case closing:
		return i + 1, true, nil
	default:
		return 0, false, &SyntaxError{Offset: i, Reason: fmt.Sprintf("expected a comma or %c", closing)}
	}
}

// lookup finds the value at the keys below the value that starts at i.
func lookup(doc []byte, i int, keys []Step) (start, end int, found bool, err error) {
	for _, key := range keys {
		if at(doc, i) != '{' {
			return 0, 0, false, nil
		}
		if i, found, err = find(doc, i, key.Name); err != nil || !found {
			return 0, 0, false, err
		}
	}
	end, err = skipValue(doc, i)
	return i, end, err == nil, err
}

// find returns the offset of the value of the named member of the object that opens at i.
func find(doc []byte, i int, name string) (value int, found bool, err error) {
	i, done := enter(doc, i, '}')
	for !done {
		m, err := scanMember(doc, i)
		if err != nil {
			return 0, false, err
		}
		key, err := m.key(doc)
		if err != nil {
			return 0, false, err
		}
		if string(key) == name {
			return m.value, true, nil
		}
		if i, err = skipValue(doc, m.value); err != nil {
			return 0, false, err
		}
		if i, done, err = advance(doc, i, '}'); err != nil {
			return 0, false, err
		}
	}
	return 0, false, nil
}

// unquote decodes a JSON string, quotes included.
func unquote(raw []byte) (string, error) {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : n-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
