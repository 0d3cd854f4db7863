package path

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Pointer is a JSON pointer (RFC 6901), e.g. "/spec/nodeSets/1/count"; "" is the whole document. Whether a numeric
// token is an array index or a key depends on the document.
type Pointer string

// ParsePointer checks that the text is a JSON pointer. Any other text is an error.
func ParsePointer(text string) (Pointer, error) {
	if i := invalidUTF8(text); i >= 0 {
		return "", fmt.Errorf("parse JSON pointer %q: byte %d is not valid UTF-8", text, i)
	}
	if text != "" && text[0] != '/' {
		return "", fmt.Errorf("parse JSON pointer %q: it must be empty or start with /", text)
	}
	for i := range len(text) {
		if text[i] == '~' && (i+1 == len(text) || text[i+1] != '0' && text[i+1] != '1') {
			return "", fmt.Errorf("parse JSON pointer %q: ~ at column %d must be written ~0, and / inside a key ~1",
				text, column(text, i))
		}
	}
	return Pointer(text), nil
}

// Tokens returns the keys and indexes of the pointer with their escapes resolved.
func (p Pointer) Tokens() []string {
	if p == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(string(p), "/"), "/")
	for i, t := range tokens {
		tokens[i] = unescapeToken(t)
	}
	return tokens
}

// Parent returns the pointer of the container that p's value is in. The parent of the whole document is itself.
func (p Pointer) Parent() Pointer { return p[:max(strings.LastIndexByte(string(p), '/'), 0)] }

// Last returns the last token, the key or index inside the parent, with its escapes resolved; "" for the whole document.
func (p Pointer) Last() string {
	return unescapeToken(string(p[strings.LastIndexByte(string(p), '/')+1:]))
}

// Append returns the pointer of a member or element below; the tokens are without escapes.
func (p Pointer) Append(tokens ...string) Pointer {
	pointer := []byte(p)
	for _, t := range tokens {
		pointer = appendToken(pointer, t)
	}
	return Pointer(pointer)
}

// IsPrefixOf reports whether p's value is q's value or contains it.
func (p Pointer) IsPrefixOf(q Pointer) bool {
	rest, ok := strings.CutPrefix(string(q), string(p))
	return ok && (rest == "" || rest[0] == '/')
}

// Path returns the plain path of the pointer. A token in the form of an array index (RFC 6901) becomes an index,
// although it may also be a key of an object: to read at a pointer, use Probe, which follows the document.
func (p Pointer) Path() Path {
	tokens := p.Tokens()
	steps := make([]Step, len(tokens))
	for i, t := range tokens {
		steps[i] = Step{Kind: Field, Name: t}
		if n, ok := arrayIndex(t); ok {
			steps[i] = Step{Kind: Index, Index: n}
		}
	}
	return newPath(steps)
}

// arrayIndex returns the index of the token, by the grammar of RFC 6901, section 4.
func arrayIndex(token string) (int, bool) {
	if end := skipDigits([]byte(token), 0); token == "" || end < len(token) || token[0] == '0' && end > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(token, 10, 64)
	return int(n), err == nil && n <= math.MaxInt32
}

func appendToken[T string | []byte](pointer []byte, token T) []byte {
	pointer = append(pointer, '/')
	for i := range len(token) {
		switch c := token[i]; c {
		case '~':
			pointer = append(pointer, "~0"...)
		case '/':
			pointer = append(pointer, "~1"...)
		default:
			pointer = append(pointer, c)
		}
	}
	return pointer
}

func unescapeToken(token string) string {
	// In this order, as RFC 6901 has it: ~01 is the key ~1, not a slash.
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// Common returns the number of leading tokens that two pointers have in common.
func Common(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// PointerOf returns the text of the pointer with the tokens.
func PointerOf(tokens []string) string { return string(Pointer("").Append(tokens...)) }
