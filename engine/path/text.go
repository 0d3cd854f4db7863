package path

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Same compares two JSON texts; an empty one means an absent value.
func Same(a, b string) bool {
	return a == b || a != "" && b != "" && equalJSON(bytesOf(a), bytesOf(b))
}

// bytesOf views a text as bytes without a copy. They must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Compare orders two JSON numbers. It returns false if one of the texts is no number. Whole numbers are compared
// exactly.
func Compare(a, b string) (int, bool) {
	x, errX := NewValue(a, "").Int64()
	y, errY := NewValue(b, "").Int64()
	if errX == nil && errY == nil {
		return cmp.Compare(x, y), true
	}
	f, okF := float(a)
	g, okG := float(b)
	return cmp.Compare(f, g), okF && okG
}

func float(raw string) (float64, bool) {
	if NewValue(raw, "").Type() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(raw, 64)
	return f, err == nil
}

// Integer returns the JSON text of a whole number.
func Integer(n int64) string { return strconv.FormatInt(n, 10) }

// Natural parses a whole number that is not negative.
func Natural(raw string) (int64, bool) {
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		n, err = NewValue(raw, "").Int64() // 3.0 and 3e0 are numbers too
	}
	return n, err == nil && n >= 0
}

// NaturalText parses a whole number in a JSON string that is not negative.
func NaturalText(raw string) (int64, bool) {
	text, errText := NewValue(raw, "").Text()
	n, err := strconv.ParseInt(text, 10, 64)
	return n, errText == nil && err == nil && n >= 0
}

// Quote returns a JSON string.
func Quote(s string) string { return string(AppendQuoted(make([]byte, 0, len(s)+2), s)) }

// AppendQuoted appends a JSON string to a text.
func AppendQuoted(out []byte, s string) []byte {
	special := func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf }
	if strings.IndexFunc(s, special) >= 0 {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(s) // a string cannot fail to encode
		return append(out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
	}
	from := 0
	out = append(out, '"') // without the costs of an encoder
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			out, from = append(append(out, s[from:i]...), '\\'), i
		}
	}
	return append(append(out, s[from:]...), '"')
}

// Brief shortens a JSON text for messages.
func Brief(raw string) string {
	const limit = 40 // bytes
	switch {
	case raw == "":
		return "absent"
	case len(raw) > limit && raw[0] == '{':
		return "{...}"
	case len(raw) > limit && raw[0] == '[':
		return "[...]"
	case len(raw) > limit:
		return strings.ToValidUTF8(raw[:limit], "") + "..."
	}
	return raw
}
