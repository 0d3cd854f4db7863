package path

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// The scanner reads JSON text in place. rawjson is not used here: one walk must find the end of each value without reading
// it twice, must distinguish a truncated document from a missing key, and must not allocate for strings with escapes
// that nobody reads.

// SyntaxError is the error for a document that is not JSON.
type SyntaxError struct {
	// Offset is the byte offset in the document; its length if the text ends too early.
	Offset int
	// Reason is the token expected there.
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

// specials returns a word whose lowest set bit is in the first byte of w that is a quote, a backslash or a
// control character; 0: none. Bytes after the first may be marked wrongly. The trick is the zero-byte test of
// Hacker's Delight, section 6-1: (x-1) & ^x has the high bit of a byte set where x, the word with the searched
// byte turned to zero, has a zero byte.
func specials(w uint64) uint64 {
	const low, high = 0x0101010101010101, 0x8080808080808080
	q, s := w^(low*'"'), w^(low*'\\')
	return ((q-low)&^q | (s-low)&^s | (w-low*' ')&^w) & high
}

// skipValue returns the offset behind the value that starts at i. A scalar is checked by the JSON grammar, except for
// the escapes in strings. A container is checked for balanced brackets only.
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

// scanNumber returns the offset behind the number that starts at i; without a number, the offset of the fault.
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

// keyText is the position of a key: the offsets inside its quotes.
type keyText struct {
	start, end int
	escaped    bool
}

// in returns the key with its escapes resolved. It aliases the document if possible.
func (k keyText) in(doc []byte) ([]byte, error) {
	if !k.escaped {
		return doc[k.start:k.end], nil
	}
	s, err := unquote(doc[k.start-1 : k.end+1])
	if err != nil {
		return nil, &SyntaxError{Offset: k.start, Reason: "an invalid escape in a key"}
	}
	return []byte(s), nil
}

// items steps through the members of an object or the elements of an array:
//
//	for it := itemsOf(doc, i); it.next(); it.end, it.err = skipValue(doc, it.value) {
//
// After each item the caller sets end to the offset behind its value. After the loop end is the offset behind the
// container, unless err is set.
type items struct {
	doc     []byte
	closing byte // the bracket that ends the container

	index int // of the current item; -1 before the first
	at    keyText
	key   []byte // nil in an array
	value int    // where the current value starts

	end int
	err error
}

// itemsOf returns the items of the container that opens at i.
func itemsOf(doc []byte, i int) items {
	const distance = '}' - '{' // also the distance from [ to ]
	return items{doc: doc, closing: doc[i] + distance, index: -1, end: i + 1}
}

func (it *items) inObject() bool { return it.closing == '}' }

// next advances to the next item and reports whether it exists.
func (it *items) next() bool {
	if !it.reachNext() {
		return false
	}
	it.value = it.end
	if it.inObject() {
		it.err = it.readKey()
	}
	return it.err == nil
}

// reachNext moves end to the start of the next item and reports whether there is one; if not, it moves end behind the
// container.
func (it *items) reachNext() bool {
	if it.err != nil {
		return false
	}
	i := skipSpace(it.doc, it.end)
	c := at(it.doc, i)
	if c == it.closing {
		it.end = i + 1
		return false
	}
	if it.index >= 0 {
		if c != ',' {
			it.err = &SyntaxError{Offset: i, Reason: fmt.Sprintf("expected a comma or %c", it.closing)}
			return false
		}
		i = skipSpace(it.doc, i+1)
	}
	it.end = i
	it.index++
	return true
}

// readKey reads the key at end, and the colon.
func (it *items) readKey() error {
	if at(it.doc, it.end) != '"' {
		return &SyntaxError{Offset: it.end, Reason: "expected a key in quotes"}
	}
	end, escaped, err := skipString(it.doc, it.end)
	if err != nil {
		return err
	}
	colon := skipSpace(it.doc, end)
	if at(it.doc, colon) != ':' {
		return &SyntaxError{Offset: colon, Reason: "expected a colon after the key"}
	}
	it.at = keyText{start: it.end + 1, end: end - 1, escaped: escaped}
	it.value = skipSpace(it.doc, colon+1)
	it.key, err = it.at.in(it.doc)
	return err
}

// skipOthers moves end behind the container and skips the remaining items. The caller must leave the loop then. If
// items were skipped, index is no longer the index of the current item.
func (it *items) skipOthers() {
	if it.reachNext() {
		it.end, it.err = skipRest(it.doc, it.end)
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
	it := itemsOf(doc, i)
	for ; it.next(); it.end, it.err = skipValue(doc, it.value) {
		if string(it.key) == name {
			return it.value, true, nil
		}
	}
	return 0, false, it.err
}

// unquote decodes a JSON string, quotes included. raw begins with a quote.
func unquote(raw []byte) (string, error) {
	if end, escaped, err := skipString(raw, 0); err == nil && !escaped && end == len(raw) {
		return string(raw[1 : end-1]), nil // without escapes the slower encoding/json is not needed
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}
