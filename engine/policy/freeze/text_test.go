package freeze_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/freeze"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"year-end freeze":       "year-end freeze",
		"Größe, 東京":             "Größe, 東京",
		"a\nlevel=error":        `a\nlevel=error`,
		"a\r\t\x1b[31mred":      `a\r\t\x1b[31mred`,
		"\u202eevil\u2066":      `\u202eevil\u2066`,
		"a\u2028b\u200bc\ufeff": `a\u2028b\u200bc\ufeff`,
		"\xff\xfe":              `\xff\xfe`,
		`say "no" \ or`:         `say "no" \ or`,
		strings.Repeat("a", 41): strings.Repeat("a", 37) + "...",
		strings.Repeat("ä", 21): strings.Repeat("ä", 18) + "...",
	} {
		if got := freeze.OneLine(text, 40); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 50).Draw(t, "limit")
		line := freeze.OneLine(text, limit)
		if len(line) > limit || !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q of %d bytes", line, len(line))
		}
	})
}

// A refusal is one printable line of at most 4 KB, whatever people wrote and however many policies refuse.
func TestRefusalIsBounded(t *testing.T) {
	long := strings.Repeat(`\u202e\nwide `, 300)
	var policies []string
	for i := range 40 {
		policies = append(policies, edited(yearEnd, "name: year-end", fmt.Sprintf("name: %s%02d", strings.Repeat("n", 200), i),
			"reason: year-end freeze", `reason: "`+long+`"`))
	}
	for n, named := range map[int]int{2: 2, 10: 10, 40: 10} {
		v := set(t, policies[:n]...).Decide(change(rollOut))
		if v.Allowed || len(v.Message) > 4<<10 || strings.ContainsFunc(v.Message, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%d policies: allowed %t, %d bytes: %s", n, v.Allowed, len(v.Message), v.Message)
		}
		if got := strings.Count(v.Message, "ClusterChangeFreeze/nnn"); got != named {
			t.Errorf("%d policies: %d are named in %s", n, got, v.Message)
		}
		if rest := fmt.Sprintf("; and %d more", n-named); n > named && !strings.Contains(v.Message, rest+". Next allowed: ") {
			t.Errorf("%d policies: want %q in %s", n, rest, v.Message)
		}
		if !strings.Contains(v.Message, "/"+strings.Repeat("n", 200)+"01 denies") {
			t.Errorf("%d policies: the second is not named in %s", n, v.Message)
		}
	}
}
