package path

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// skipString reads the text word by word. Its results equal those of a simple scan byte by byte.
func TestSkipStringAgreesWithBytes(t *testing.T) {
	bytewise := func(doc []byte) (end int, escaped, ok bool) {
		for i := 1; i < len(doc); i++ {
			switch {
			case doc[i] == '"':
				return i + 1, escaped, true
			case doc[i] == '\\':
				escaped = true
				i++
			case doc[i] < ' ':
				return 0, false, false
			}
		}
		return 0, false, false
	}
	char := rapid.Custom(func(t *rapid.T) byte {
		if rapid.IntRange(0, 9).Draw(t, "plain") > 0 {
			return byte(rapid.IntRange(' ', 255).Draw(t, "char"))
		}
		return rapid.SampledFrom([]byte{'"', '\\', 0, 1, 0x1f, '!', '#', '[', ']', 0x7f, 0x80, 0xff}).Draw(t, "special")
	})
	rapid.Check(t, func(t *rapid.T) {
		doc := append([]byte{'"'}, rapid.SliceOfN(char, 0, 40).Draw(t, "text")...)
		if rapid.Bool().Draw(t, "closed") {
			doc = append(doc, '"')
		}
		end, escaped, ok := bytewise(doc)
		gotEnd, gotEscaped, err := skipString(doc, 0)
		if gotEnd != end || gotEscaped != escaped || (err == nil) != ok {
			t.Fatalf("%q: got %d, %v, %v; want %d, %v, %v", doc, gotEnd, gotEscaped, err, end, escaped, ok)
		}
	})
}

// The error of a truncated string has the offset of the end of the text, wherever the words of the text end.
func TestSkipStringCutOff(t *testing.T) {
	for length := range 3 * wordSize {
		doc := []byte(`"` + strings.Repeat("x", length))
		_, _, err := skipString(doc, 0)
		var got *SyntaxError
		if !errors.As(err, &got) || got.Offset != len(doc) || got.Reason != "a string has no closing quote" {
			t.Errorf("%d characters: %v", length, err)
		}
	}
}

// Control characters are refused at any position in a word of the text.
func TestControlCharacters(t *testing.T) {
	for c := range byte(' ') {
		for at := range 2 * wordSize {
			doc := []byte(`"` + strings.Repeat("A", 3*wordSize) + `"`)
			doc[1+at] = c
			_, _, err := skipString(doc, 0)
			var got *SyntaxError
			if !errors.As(err, &got) || got.Offset != 1+at {
				t.Errorf("%q: %v", doc, err)
			}
		}
	}
}
