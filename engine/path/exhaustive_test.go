package path

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every text of up to six characters of numbers is parsed, and the result compared with encoding/json.
func TestNumbersOfSixCharacters(t *testing.T) {
	const alphabet = "-+.eE019"
	texts := []string{""}
	for length := range 7 {
		var longer []string
		for _, text := range texts {
			end, ok := scanNumber([]byte(text), 0)
			if got, want := ok && end == len(text), json.Valid([]byte(text)); got != want {
				t.Fatalf("%q is a number: %v, want %v", text, got, want)
			}
			if length < 6 {
				for _, c := range alphabet {
					longer = append(longer, text+string(c))
				}
			}
		}
		texts = longer
	}
}

// The properties of each character are compared with regular expressions and encoding/json.
func TestEveryCharacterOfANameIsReadBack(t *testing.T) {
	bare := regexp.MustCompile(`^[A-Za-z0-9_-]$`)
	plain := regexp.MustCompile("^[^\x00-\x1f\x7f\"\\\\]$")
	for c := range 0x80 {
		text := string(rune(c))
		if got, want := isBareName(text), bare.MatchString(text); got != want {
			t.Errorf("%q is a bare name: %v", text, got)
		}
		want := `"` + text + `"`
		switch {
		case text == `"` || text == `\`:
			want = `"\` + text + `"`
		case !plain.MatchString(text):
			want = fmt.Sprintf(`"\u%04x"`, c)
		}
		if got := quote(text, '"'); got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
		if got := skipSpace([]byte(text), 0) == 1; got != slices.Contains([]string{" ", "\t", "\r", "\n"}, text) {
			t.Errorf("%q is white space: %v", text, got)
		}
		if doc := `"` + text + `x"`; c != '"' && c != '\\' {
			_, _, err := skipString([]byte(doc), 0)
			if (err == nil) != json.Valid([]byte(doc)) {
				t.Errorf("%q in a string: %v", text, err)
			}
		}
	}
}

// Steps of every kind are compared with steps of every kind, in both orders. TestOverlapAndCoversAreSound proves on
// documents that disjoint steps select nothing in common.
func TestStepsOfAllKinds(t *testing.T) {
	where := func(op Op, literal string) Step {
		return Step{Kind: Where, Filter: Filter{Key: MustParse(".k"), Op: op, Literal: literal}}
	}
	other := where(Equals, "1")
	other.Filter.Key = MustParse(".l")
	steps := []Step{
		{Kind: Field, Name: "a"}, {Kind: Field, Name: "b"}, {Kind: Field, Name: "0"}, {Kind: Field, Name: "1"},
		{Kind: Index, Index: 0}, {Kind: Index, Index: 1}, {Kind: Wildcard},
		where(Equals, "1"), where(Equals, "2"), where(Differs, "1"), where(Differs, "2"), other,
	}
	// One row for each step, one column for each step in the same order: x where the two are disjoint.
	want := []string{
		".xxxxx.xxxxx", // .a
		"x.xxxx.xxxxx", // .b
		"xx.x.x......", // ['0']
		"xxx.x.......", // ['1']
		"xx.x.x......", // [0]
		"xxx.x.......", // [1]
		"............", // [*]
		"xx......xx..", // k is 1
		"xx.....x..x.", // k is 2
		"xx.....x....", // k is not 1
		"xx......x...", // k is not 2
		"xx..........", // l is 1
	}
	for i, s := range steps {
		for j, u := range steps {
			if got := s.disjoint(u); got != (want[i][j] == 'x') {
				t.Errorf("%s and %s are disjoint: %v", s, u, got)
			}
		}
	}
}

// The cases are numbers around the length from which they are written with an exponent.
func TestDecimalText(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	tests := []struct{ number, want string }{
		{"-0.0", "0"},
		{"-12.50", "-12.5"},
		{"0.012", "0.012"},
		{"-0.5", "-0.5"},
		{"0.5", "0.5"},
		{"1" + zeros(24), "1" + zeros(24)},
		{"1" + zeros(25), "1e25"},
		{"12" + zeros(23), "12" + zeros(23)},
		{"-12" + zeros(24), "-12e24"},
		{"1e-25", "0." + zeros(24) + "1"},
		{"1e-26", "1e-26"},
		{"-12e-25", "-0." + zeros(23) + "12"},
		{"12e-26", "12e-26"},
		{"123e-2", "1.23"},
		{"123e-3", "0.123"},
		{strings.Repeat("1", 26), strings.Repeat("1", 26) + "e0"},
		{"1E2147483647", "1e2147483647"},
		{"1e-2147483647", "1e-2147483647"},
	}
	for _, test := range tests {
		if d, ok := parseDecimal(test.number); !ok || d.String() != test.want {
			t.Errorf("%s became %s, %v; want %s", test.number, d, ok, test.want)
		}
	}
	for _, refused := range []string{"1e2147483648", "1e-2147483648", "1e99999999999999999999", "", "1x", "x"} {
		if d, ok := parseDecimal(refused); ok {
			t.Errorf("%q became %s", refused, d)
		}
	}
}

// Containers are compared at the maximum depth, and one deeper.
func TestEqualAtTheLimitOfNesting(t *testing.T) {
	nested := func(open, inner, closing string, depth int) string {
		return strings.Repeat(open, depth-1) + inner + strings.Repeat(closing, depth-1)
	}
	for _, test := range []struct {
		depth int
		want  bool
	}{{maxNesting, true}, {maxNesting + 1, false}} {
		for _, c := range []struct{ open, a, b, closing string }{
			{"[", "[]", "[ ]", "]"},
			{`{"a":`, "{}", "{ }", "}"},
			{"[", "[1]", "[1.0]", "]"},
		} {
			a, b := nested(c.open, c.a, c.closing, test.depth), nested(c.open, c.b, c.closing, test.depth)
			if Equal(a, b) != test.want || Equal(a, a) != test.want {
				t.Errorf("%d of %s: equal to another is %v, to itself %v", test.depth, c.open, Equal(a, b), Equal(a, a))
			}
		}
	}
}
