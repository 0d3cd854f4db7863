package path

import (
	"strings"
	"unicode/utf8"
)

// isBareName reports whether the canonical form of the name is .name, without quotes.
func isBareName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isAlphanumeric(rune(c)) && c != '_' && c != '-' {
			return false
		}
	}
	return name != ""
}

// quote returns s between quotes, either ' or ". With " the result is JSON.
func quote(s string, quotes byte) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte(quotes)
	for i := range len(s) {
		switch c := s[i]; {
		case c == quotes || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			const hex = "0123456789abcdef"
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&0xf])
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quotes)
	return b.String()
}

func isAlphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// column returns the 1-based column, in characters, of the byte offset.
func column(text string, offset int) int {
	return utf8.RuneCountInString(text[:min(offset, len(text))]) + 1
}
