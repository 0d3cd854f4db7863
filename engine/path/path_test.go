package path

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJoinAppendsRelativePaths(t *testing.T) {
	tests := []struct{ parent, child, want string }{
		{".spec.nodeSets[*]", ".count", ".spec.nodeSets[*].count"},
		{"$", ".a", ".a"},
		{".a", "$", ".a"},
		{"$", "$", "$"},
	}
	for _, test := range tests {
		if got := MustParse(test.parent).Join(MustParse(test.child)); got.String() != test.want {
			t.Errorf("%s joined with %s is %s, want %s", test.parent, test.child, got, test.want)
		}
	}
}

// Two children of one parent must not share memory.
func TestPathIsImmutable(t *testing.T) {
	parent := MustParse(".a.b.c")
	x, y := parent.Field("x"), parent.Field("y.z")
	steps := x.Steps()
	steps[0].Name = "changed"
	want := []string{".a.b.c", ".a.b.c.x", ".a.b.c['y.z']"}
	if diff := cmp.Diff(want, []string{parent.String(), x.String(), y.String()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if x.Steps()[0].Name != "a" {
		t.Error("Steps returns the path's own memory")
	}
}

func TestPathProperties(t *testing.T) {
	tests := []struct {
		path    string
		plain   bool
		pointer Pointer
	}{
		{"$", true, ""},
		{".a['b/c'][3]['~']", true, "/a/b~1c/3/~0"},
		{".a[*]", false, ""},
		{".a[?(@.k==1)].b", false, ""},
	}
	for _, test := range tests {
		p := MustParse(test.path)
		if p.IsPlain() != test.plain {
			t.Errorf("%s: IsPlain %v", p, p.IsPlain())
		}
		if got, err := p.Pointer(); got != test.pointer || (err == nil) != test.plain {
			t.Errorf("pointer of %s: %q, %v", p, got, err)
		}
	}
}

func TestMustParsePanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(*Error); !ok || err.Column != 1 {
			t.Errorf("panics with %v", err)
		}
	}()
	MustParse("..a")
}

func TestPointerOfAPathIsAJSONPointer(t *testing.T) {
	tests := []struct {
		pointer Pointer
		tokens  []string
		parent  Pointer
		last    string
	}{
		{"", nil, "", ""},
		{"/", []string{""}, "", ""},
		{"/a", []string{"a"}, "", "a"},
		{"/a~1b/~01/0", []string{"a/b", "~1", "0"}, "/a~1b/~01", "0"},
		{"/a/~1", []string{"a", "/"}, "/a", "/"},
	}
	for _, test := range tests {
		p, err := ParsePointer(string(test.pointer))
		if err != nil {
			t.Errorf("%q: %v", test.pointer, err)
		}
		if diff := cmp.Diff(test.tokens, p.Tokens()); diff != "" {
			t.Errorf("tokens of %q (-want +got):\n%s", p, diff)
		}
		if p.Parent() != test.parent || p.Last() != test.last {
			t.Errorf("%q: parent %q, last %q", p, p.Parent(), p.Last())
		}
	}
}

func TestParsePointerRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"a", `parse JSON pointer "a": it must be empty or start with /`},
		{"/ä~", `parse JSON pointer "/ä~": ~ at column 3 must be written ~0, and / inside a key ~1`},
		{"/~2", `parse JSON pointer "/~2": ~ at column 2 must be written ~0, and / inside a key ~1`},
		{"\xff", `parse JSON pointer "\xff": byte 0 is not valid UTF-8`},
		{"/\xff", `parse JSON pointer "/\xff": byte 1 is not valid UTF-8`},
	}
	for _, test := range tests {
		if p, err := ParsePointer(test.text); err == nil || err.Error() != test.want {
			t.Errorf("ParsePointer(%q) = %q, %v; want error %s", test.text, p, err, test.want)
		}
	}
}

func TestPointerIsPrefixOf(t *testing.T) {
	tests := []struct {
		p, q Pointer
		want bool
	}{
		{"", "", true},
		{"", "/a", true},
		{"/a", "/a/b", true},
		{"/a", "/ab", false},
		{"/a/b", "/a", false},
		{"/a", "/a/", true},
	}
	for _, test := range tests {
		if got := test.p.IsPrefixOf(test.q); got != test.want {
			t.Errorf("%q is a prefix of %q: %v", test.p, test.q, got)
		}
	}
}

func TestPointerPath(t *testing.T) {
	tests := []struct {
		pointer Pointer
		path    string
	}{
		{"", "$"},
		{"/spec/nodeSets/1/count", ".spec.nodeSets[1].count"},
		{"/a/01/-1/4294967296", ".a.01.-1.4294967296"},
		{"/a/2147483647/2147483648", ".a[2147483647].2147483648"},
		{"/l/app.kubernetes.io~1name", ".l['app.kubernetes.io/name']"},
	}
	for _, test := range tests {
		if got := test.pointer.Path(); !got.Equal(MustParse(test.path)) {
			t.Errorf("path of %q is %s, want %s", test.pointer, got, test.path)
		}
	}
}

func TestPointerTokensRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOf(rapid.String()).Draw(t, "tokens")
		var p Pointer
		for i, token := range tokens {
			q := p.Append(token)
			if q.Parent() != p || q.Last() != token || !p.IsPrefixOf(q) || q.IsPrefixOf(p) {
				t.Fatalf("token %d: %q appended to %q is %q, with parent %q and last %q", i, token, p, q, q.Parent(), q.Last())
			}
			p = q
		}
		if len(tokens) == 0 {
			tokens = nil
		}
		if diff := cmp.Diff(tokens, p.Tokens()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if _, err := ParsePointer(string(p)); err != nil {
			t.Fatal(err)
		}
	})
}
