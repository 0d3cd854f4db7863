package workload_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/workload"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"year-end freeze":              "year-end freeze",
		"Größe, 東京":                    "Größe, 東京",
		"a\nlevel=error":               `a\nlevel=error`,
		"a\r\t\x1b[31mred":             `a\r\t\x1b[31mred`,
		"\u202eevil\u2066":             `\u202eevil\u2066`,
		"a\u2028b\u200bc\ufeff":        `a\u2028b\u200bc\ufeff`,
		"\xff\xfe":                     `\xff\xfe`,
		`say "no" \ or`:                `say "no" \ or`,
		strings.Repeat("a", 40):        strings.Repeat("a", 40),
		strings.Repeat("a", 38) + "\n": strings.Repeat("a", 38) + `\n`,
		strings.Repeat("a", 39) + "\n": strings.Repeat("a", 37) + "...",
		strings.Repeat("a", 41):        strings.Repeat("a", 37) + "...",
		strings.Repeat("ä", 21):        strings.Repeat("ä", 18) + "...",
	} {
		if got := workload.OneLine(text, 40); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 50).Draw(t, "limit")
		line := workload.OneLine(text, limit)
		if len(line) > limit || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q of %d bytes", line, len(line))
		}
	})
}
