package path

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseAcceptsTheGrammarOnly(t *testing.T) {
	field := func(name string) Step { return Step{Kind: Field, Name: name} }
	index := func(n int) Step { return Step{Kind: Index, Index: n} }
	where := func(key Path, op Op, literal string) Step {
		return Step{Kind: Where, Filter: Filter{Key: key, Op: op, Literal: literal}}
	}
	wild := Step{Kind: Wildcard}
	key := func(names ...string) (p Path) {
		for _, n := range names {
			p = p.Field(n)
		}
		return p
	}
	tests := []struct {
		text, canonical string
		steps           []Step
	}{
		{"$", "$", nil},
		{".", "$", nil},
		{"{.}", "$", nil},
		{"{$}", "$", nil},
		{"{}", "$", nil},
		{".spec.replicas", ".spec.replicas", []Step{field("spec"), field("replicas")}},
		{"$.spec.replicas", ".spec.replicas", []Step{field("spec"), field("replicas")}},
		{"{.spec.replicas}", ".spec.replicas", []Step{field("spec"), field("replicas")}},
		{"{$.spec}", ".spec", []Step{field("spec")}},
		{"$['a']", ".a", []Step{field("a")}},
		{`["a"]['b c']`, ".a['b c']", []Step{field("a"), field("b c")}},
		{`.labels.app\.kubernetes\.io/name`, ".labels['app.kubernetes.io/name']", []Step{field("labels"), field("app.kubernetes.io/name")}},
		{`.labels['app.kubernetes.io/name']`, ".labels['app.kubernetes.io/name']", []Step{field("labels"), field("app.kubernetes.io/name")}},
		{`.labels['app\.kubernetes\.io/name']`, ".labels['app.kubernetes.io/name']", []Step{field("labels"), field("app.kubernetes.io/name")}},
		{`.a\}`, `.['a}']`[1:], []Step{field("a}")}},
		{`{.a\}}`, `['a}']`, []Step{field("a}")}},
		{`.a\ b\\`, `['a b\\']`, []Step{field(`a b\`)}},
		{`['it\'s']`, `['it\'s']`, []Step{field("it's")}},
		{`["it's"]`, `['it\'s']`, []Step{field("it's")}},
		{`["\"\u00e9\ud83d\ude00\n"]`, `['"é😀\u000a']`, []Step{field("\"é😀\n")}},
		{`['']`, `['']`, []Step{field("")}},
		{`.größe`, `['größe']`, []Step{field("größe")}},
		{`.0`, `.0`, []Step{field("0")}},
		{`[2147483647]`, `[2147483647]`, []Step{index(2147483647)}},
		{".\ufffd", "['\ufffd']", []Step{field("\ufffd")}},
		{`[0][12]`, `[0][12]`, []Step{index(0), index(12)}},
		{`.a[*].b`, `.a[*].b`, []Step{field("a"), wild, field("b")}},
		{`.c[?(@.type=="Ready")].status`, `.c[?(@.type=="Ready")].status`,
			[]Step{field("c"), where(key("type"), Equals, `"Ready"`), field("status")}},
		{`[?( @.a.b != 'x' )]`, `[?(@.a.b!="x")]`, []Step{where(key("a", "b"), Differs, `"x"`)}},
		{`[?(@['a.b']==true)]`, `[?(@['a.b']==true)]`, []Step{where(key("a.b"), Equals, "true")}},
		{`[?(@.n==1.50e1)]`, `[?(@.n==15)]`, []Step{where(key("n"), Equals, "15")}},
		{`[?(@.n!=-0.0)]`, `[?(@.n!=0)]`, []Step{where(key("n"), Differs, "0")}},
		{`[?(@=="x)]")]`, `[?(@=="x)]")]`, []Step{where(Path{}, Equals, `"x)]"`)}},
		{`[?(@.k=='"\\')]`, `[?(@.k=="\"\\")]`, []Step{where(key("k"), Equals, `"\"\\"`)}},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			p, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.steps, p.Steps()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if p.String() != test.canonical {
				t.Errorf("canonical text %s, want %s", p, test.canonical)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		text   string
		column int
		reason string
	}{
		{"", 1, "the path is empty: write $ for the whole object"},
		{"..a", 1, "recursion (..) is not supported: write the path out in full"},
		{".spec..x", 6, "recursion (..) is not supported: write the path out in full"},
		{"{.größe..x}", 8, "recursion (..) is not supported: write the path out in full"},
		{".a[1:2]", 5, "slices [a:b] are not supported: write one index, [*] or a filter"},
		{".a[:2]", 4, "slices [a:b] are not supported: write one index, [*] or a filter"},
		{".a[0,1]", 5, "unions [a,b] are not supported: write one path for each"},
		{".x[a,b]", 5, "unions [a,b] are not supported: write one path for each"},
		{".a['b','c']", 7, "unions [a,b] are not supported: write one path for each"},
		{".a[(@.length-1)]", 4, `scripts (...) are not supported: write an index, [*] or a filter [?(@.key=="value")]`},
		{".a[-1]", 4, `negative indexes are not supported: count from the start or write a filter [?(@.key=="value")]`},
		{".a[01]", 4, "an index has no leading zero"},
		{".a[4294967296]", 4, "the index is too large: at most 2147483647"},
		{".a[99999999999999999999]", 4, "the index is too large: at most 2147483647"},
		{".a[0", 3, "the opening [ has no closing ]"},
		{".a[", 3, "the opening [ has no closing ]"},
		{".a[]", 4, "the brackets are empty: write [0], [*] or ['key']"},
		{".a[b]", 4, "a key in brackets is quoted: write ['b']"},
		{".a[ 0]", 4, "white space is not part of a path: remove it"},
		{".a[0 ]", 5, "expected ] before ' '"},
		{".a[0]b", 6, `expected . or [ before 'b'`},
		{".a['b]", 4, "the opening ' has no closing '"},
		{`.a['\q']`, 5, `unknown escape: write \\ for a backslash itself`},
		{`.a['\`, 5, `unknown escape: write \\ for a backslash itself`},
		{`.a['\u12']`, 5, `\u takes four hexadecimal digits of a character, or two such escapes that form a pair`},
		{`.a['\u1`, 5, `\u takes four hexadecimal digits of a character, or two such escapes that form a pair`},
		{`.a['\u0041`, 4, "the opening ' has no closing '"},
		{`.a['\ud800']`, 5, `\u takes four hexadecimal digits of a character, or two such escapes that form a pair`},
		{`.a['\ud800\u0041']`, 5, `\u takes four hexadecimal digits of a character, or two such escapes that form a pair`},
		{"spec.replicas", 1, "a path starts with . or [: write .spec.replicas"},
		{"$spec", 2, "a path starts with . or [: write .spec"},
		{"@.a", 1, "@ is known only inside a filter: start the path with . or ["},
		{" .a", 1, "white space is not part of a path: remove it"},
		{".a ", 3, "white space cannot stand in a name: remove it or put the name in ['...']"},
		{".a.", 4, "a name must follow the dot"},
		{"{.a.}", 5, "a name must follow the dot"},
		{".*", 2, "write [*] instead of .*"},
		{".a.['b']", 3, "remove the dot before ["},
		{".a]", 3, "] has no opening ["},
		{".a*", 3, `'*' cannot stand in a name: write \* or put the name in ['...']`},
		{".a}", 3, `'}' cannot stand in a name: write \} or put the name in ['...']`},
		{`.a\`, 3, `\ escapes one mark, as in \. : write \\ for a backslash itself`},
		{`.a\b`, 3, `\ escapes one mark, as in \. : write \\ for a backslash itself`},
		{"{.a", 4, "the opening { has no closing }"},
		{"{.a}{.b}", 5, "text follows the closing }: write one path only"},
		{"{range .items[*]}", 2, "a path starts with . or [: write .range .items[*]}"},
		{".a\xff", 3, "the text is not valid UTF-8"},
		{"\xff", 1, "the text is not valid UTF-8"},
		{".a\ufffd\xff", 4, "the text is not valid UTF-8"},
		{".a[2147483648]", 4, "the index is too large: at most 2147483647"},
		{".a[?]", 5, `a filter is written [?(@.key=="value")]`},
		{".a[?(.k==1)]", 6, `a filter starts with the element, @: write [?(@.key=="value")]`},
		{".a[?(@.k)]", 9, "a filter compares with == or !=: a bare key is not supported"},
		{".a[?(@.k>1)]", 9, "a filter compares with == or !=, not with '>'"},
		{".a[?(@.k=~/x/)]", 9, "a filter compares with == or !=, not with '='"},
		{".a[?(@.k", 9, `the filter has no comparison: write [?(@.key=="value")]`},
		{".a[?(@..k==1)]", 7, "recursion (..) is not supported: write the path out in full"},
		{".a[?(@[0]==1)]", 7, "a filter compares a field of the element: write @.key or @['key']"},
		{".a[?(@.b[*]==1)]", 9, "a filter compares a field of the element: write @.key or @['key']"},
		{".a[?(@.k==)]", 11, "a literal must follow the operator: a string in quotes, a number, true or false"},
		{".a[?(@.k==", 11, "a literal must follow the operator: a string in quotes, a number, true or false"},
		{".a[?(@.k==null)]", 11, "null cannot be compared: write a string in quotes, a number, true or false"},
		{".a[?(@.k==@.l)]", 11, "the right side is a literal, not a path: a string in quotes, a number, true or false"},
		{".a[?(@.k==$.l)]", 11, "the right side is a literal, not a path: a string in quotes, a number, true or false"},
		{".a[?(@.k==Ready)]", 11, `a string is quoted: write "Ready"`},
		{".a[?(@.k==01)]", 11, "01 is not a JSON number"},
		{".a[?(@.k==1 && @.l==2)]", 13, "a filter is one comparison: && and || are not supported"},
		{".a[?(@.k==1 2)]", 13, "expected ) before '2'"},
		{".a[?(@.k==1", 12, "the filter has no closing )]"},
		{".a[?(@.k==1)", 3, "the opening [ has no closing ]"},
		{`.a[?(@.k=="v)]`, 11, `the opening " has no closing "`},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			p, err := Parse(test.text)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("Parse returned %v, %v; want an *Error", p, err)
			}
			want := &Error{Path: test.text, Column: test.column, Reason: test.reason}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse(".a[1:2]")
	want := `path ".a[1:2]": column 5: slices [a:b] are not supported: write one index, [*] or a filter`
	if err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}
}

// steps generates any steps that a path can have, names of any characters included.
func anySteps() *rapid.Generator[[]Step] {
	field := rapid.Custom(func(t *rapid.T) Step { return Step{Kind: Field, Name: rapid.String().Draw(t, "name")} })
	literal := rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 2).Draw(t, "literal") {
		case 0:
			return quote(rapid.String().Draw(t, "string"), '"')
		case 1:
			d, _ := parseDecimal(numberText().Draw(t, "number"))
			return d.String()
		default:
			return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
		}
	})
	step := rapid.Custom(func(t *rapid.T) Step {
		switch StepForm(rapid.IntRange(0, 3).Draw(t, "kind")) {
		case Field:
			return field.Draw(t, "field")
		case Index:
			return Step{Kind: Index, Index: rapid.IntRange(0, 1<<31-1).Draw(t, "index")}
		case Wildcard:
			return Step{Kind: Wildcard}
		default:
			return Step{Kind: Where, Filter: Filter{
				Key:     newPath(rapid.SliceOfN(field, 0, 3).Draw(t, "key")),
				Op:      rapid.SampledFrom([]Op{Equals, Differs}).Draw(t, "op"),
				Literal: literal.Draw(t, "literal"),
			}}
		}
	})
	return rapid.SliceOfN(step, 0, 6)
}

func numberText() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,3})?`)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := anySteps().Draw(t, "steps")
		p := newPath(steps)
		for _, text := range []string{p.String(), "{" + p.String() + "}"} {
			q, err := Parse(text)
			if err != nil {
				t.Fatalf("canonical text is refused: %v", err)
			}
			if !q.Equal(p) || q.Len() != len(steps) {
				t.Fatalf("%s came back as %s", text, q)
			}
			for i, s := range q.Steps() {
				if !s.equal(steps[i]) {
					t.Fatalf("step %d: got %v, want %v", i, s, steps[i])
				}
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"$", ".spec.replicas", "{.a['b'].c[0][*]}", `.l.app\.io/x`, `[?(@.k=="v")].x`, `[?(@['a'].b!=1e3)]`, "..", ".a[1:2]",
		".a[b,c]", ".a[(x)]", ".a[-1]", `["\ud83d\ude00"]`, "{", "}", "[?(@", ".é[", ".a\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Path != text || e.Reason == "" ||
				e.Column < 1 || e.Column > utf8.RuneCountInString(text)+1 {
				t.Fatalf("Parse(%q): %#v", text, err)
			}
			return
		}
		q, err := Parse(p.String())
		if err != nil || !q.Equal(p) {
			t.Fatalf("Parse(%q) is %s, which parses to %s, %v", text, p, q, err)
		}
		if !Overlap(p, q) || !Covers(p, q) {
			t.Fatalf("%s does not overlap and cover itself", p)
		}
	})
}
