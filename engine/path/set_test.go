package path

import (
	"errors"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parseAll(texts ...string) []Path {
	var paths []Path
	for _, t := range texts {
		paths = append(paths, MustParse(t))
	}
	return paths
}

// row is a Match in the form of the tables below.
type row struct {
	Pointer  Pointer
	Raw      string
	Depth    int
	Elements []int
	Key      string
}

func rows(t *testing.T, doc string, texts ...string) map[string][]row {
	t.Helper()
	got := map[string][]row{}
	err := NewSet(parseAll(texts...)...).Extract([]byte(doc), func(i int, m Match) {
		got[texts[i]] = append(got[texts[i]], row{m.Pointer(), string(m.Raw), m.Depth, m.Elements(), m.ElementKey()})
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestExtractReadsASetOfPaths(t *testing.T) {
	tests := []struct {
		name string
		doc  string
		want map[string][]row
	}{
		{"plain paths, present and absent", `{"spec":{"replicas":3,"a":{"b":{}}},"status":"x"}`, map[string][]row{
			"$":              {{"", `{"spec":{"replicas":3,"a":{"b":{}}},"status":"x"}`, 0, nil, ""}},
			".spec.replicas": {{"/spec/replicas", "3", 2, nil, ""}},
			".spec.a.b":      {{"/spec/a/b", "{}", 3, nil, ""}},
			".spec.a.b.c":    {{"/spec/a/b/c", "", 3, nil, ""}},
			".spec.paused":   {{"/spec/paused", "", 1, nil, ""}},
			".other.x":       {{"/other/x", "", 0, nil, ""}},
			".status.x[1]":   {{"/status/x/1", "", 1, nil, ""}},
		}},
		{"members down to the last", `{"a":{"b":{"c":1}}}`, map[string][]row{
			".a":     {{"/a", `{"b":{"c":1}}`, 1, nil, ""}},
			".a.b.c": {{"/a/b/c", "1", 3, nil, ""}},
		}},
		{"through an array, and beside a sibling", `{"a":[{"b":{"c":1}}],"d":{"e":{"f":1},"g":2}}`, map[string][]row{
			".a[0].b.c": {{"/a/0/b/c", "1", 4, nil, ""}},
			".d.e.f":    {{"/d/e/f", "1", 3, nil, ""}},
			".d.g":      {{"/d/g", "2", 2, nil, ""}},
		}},
		{"elements of an array", `{"spec":{"nodeSets":[{"name":"x","count":1},{"name":"y"},7]}}`, map[string][]row{
			".spec.nodeSets[*].count": {
				{"/spec/nodeSets/0/count", "1", 4, []int{0}, "0"},
				{"/spec/nodeSets/1/count", "", 3, []int{1}, "1"},
				{"/spec/nodeSets/2/count", "", 3, []int{2}, "2"},
			},
			".spec.nodeSets[*].name": {
				{"/spec/nodeSets/0/name", `"x"`, 4, []int{0}, "0"},
				{"/spec/nodeSets/1/name", `"y"`, 4, []int{1}, "1"},
				{"/spec/nodeSets/2/name", "", 3, []int{2}, "2"},
			},
			`.spec.nodeSets[?(@.name=="y")].name`: {{"/spec/nodeSets/1/name", `"y"`, 4, []int{1}, "1"}},
			`.spec.nodeSets[?(@.name!="y")].name`: {{"/spec/nodeSets/0/name", `"x"`, 4, []int{0}, "0"}},
			`.spec.nodeSets[?(@!=7)].name`: {
				{"/spec/nodeSets/0/name", `"x"`, 4, []int{0}, "0"},
				{"/spec/nodeSets/1/name", `"y"`, 4, []int{1}, "1"},
			},
			".spec.nodeSets[1]":          {{"/spec/nodeSets/1", `{"name":"y"}`, 3, nil, ""}},
			".spec.nodeSets[3].name":     {{"/spec/nodeSets/3/name", "", 2, nil, ""}},
			".spec.nodeSets.count":       {{"/spec/nodeSets/count", "", 2, nil, ""}},
			".spec.nodeSets['0'].name":   {{"/spec/nodeSets/0/name", "", 2, nil, ""}},
			".spec.workers[*].replicas":  nil,
			".spec.nodeSets[*].x[*].y":   nil,
			".spec.nodeSets[2][*].count": nil,
		}},
		{"members of an object", `{"nodes":{"a/b":{"n":1},"\u0063":{"n":{}}}}`, map[string][]row{
			".nodes[*].n": {
				{"/nodes/a~1b/n", "1", 3, []int{0}, "a/b"},
				{"/nodes/c/n", "{}", 3, []int{1}, "c"},
			},
			".nodes[*].n[*]":        nil,
			".nodes[?(@.n==1)].n":   nil,
			".nodes[0]":             {{"/nodes/0", "", 1, nil, ""}},
			".nodes['c'].n.x":       {{"/nodes/c/n/x", "", 3, nil, ""}},
			".nodes['a/b']":         {{"/nodes/a~1b", `{"n":1}`, 2, nil, ""}},
			".nodes['~']['/'].a[0]": {{"/nodes/~0/~1/a/0", "", 1, nil, ""}},
		}},
		{"nested wildcards", `[[{"a":1}],[],[{},{"a":2}]]`, map[string][]row{
			"[*][*].a": {
				{"/0/0/a", "1", 3, []int{0, 0}, "0"},
				{"/2/0/a", "", 2, []int{2, 0}, "0"},
				{"/2/1/a", "2", 3, []int{2, 1}, "1"},
			},
		}},
		{"the first of repeated keys counts", `{"a":{"x":1},"a":{"x":2,"y":3},"\u0061":4}`, map[string][]row{
			".a.x":    {{"/a/x", "1", 2, nil, ""}},
			".a.y":    {{"/a/y", "", 1, nil, ""}},
			"[*].x":   {{"/a/x", "1", 2, []int{0}, "a"}},
			".a[*]":   {{"/a/x", "1", 2, []int{0}, "x"}},
			".b['']":  {{"/b/", "", 0, nil, ""}},
			"['a']":   {{"/a", `{"x":1}`, 1, nil, ""}},
			".a['x']": {{"/a/x", "1", 2, nil, ""}},
		}},
		{"escaped keys", `{"a\u002eb":1,"\"\\\/":2}`, map[string][]row{
			`.a\.b`:    {{"/a.b", "1", 1, nil, ""}},
			`['"\\/']`: {{`/"\~1`, "2", 1, nil, ""}},
		}},
		{"a scalar document", ` null `, map[string][]row{
			"$":  {{"", "null", 0, nil, ""}},
			".a": {{"/a", "", 0, nil, ""}},
		}},
		{"null is a value, not an absent one", `{"a":null}`, map[string][]row{
			".a":   {{"/a", "null", 1, nil, ""}},
			".a.b": {{"/a/b", "", 1, nil, ""}},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var texts []string
			want := map[string][]row{}
			for text, rows := range test.want {
				texts = append(texts, text)
				if rows != nil {
					want[text] = rows
				}
			}
			if diff := cmp.Diff(want, rows(t, test.doc, texts...)); diff != "" {
				t.Errorf("one walk for all paths (-want +got):\n%s", diff)
			}
			for _, text := range texts {
				if diff := cmp.Diff(test.want[text], rows(t, test.doc, text)[text]); diff != "" {
					t.Errorf("%s alone (-want +got):\n%s", text, diff)
				}
			}
		})
	}
}

// Items behind the last item on a path are only checked for balanced brackets. All other items are read.
func TestExtractLooksNoFurther(t *testing.T) {
	tests := []struct {
		paths []string
		doc   string
		read  bool // the item that is not JSON
	}{
		{[]string{".a"}, `{"a":1,"z":nope}`, false},
		{[]string{".a", ".b"}, `{"b":1,"a":2,"z":nope}`, false},
		{[]string{".a", ".a.b"}, `{"a":{"b":1,"z":nope},"z":nope}`, false},
		{[]string{"[0]"}, `[1,nope]`, false},
		{[]string{"[1]", "[0]"}, `[1,2,nope]`, false},
		{[]string{".a", ".b"}, `{"a":1,"z":nope}`, true},
		{[]string{".a", "[*]"}, `{"a":1,"z":nope}`, true},
		{[]string{"[1]"}, `[nope,2]`, true},
		{[]string{"[0]", "[*]"}, `[1,nope]`, true},
		{[]string{"[0]", `[?(@=="x")]`}, `[1,nope]`, true},
		{[]string{".a", `[?(@=="x")]`}, `{"a":1,"z":nope}`, false},
	}
	for _, test := range tests {
		err := NewSet(parseAll(test.paths...)...).Extract([]byte(test.doc), func(int, Match) {})
		if (err != nil) != test.read {
			t.Errorf("%v of %s: error %v, want one: %v", test.paths, test.doc, err, test.read)
		}
	}
}

func TestExtractSamePathTwice(t *testing.T) {
	var got []int
	err := NewSet(parseAll(".a", "$['a']")...).Extract([]byte(`{"a":1}`), func(i int, m Match) { got = append(got, i) })
	if diff := cmp.Diff([]int{0, 1}, got); err != nil || diff != "" {
		t.Errorf("error %v, positions (-want +got):\n%s", err, diff)
	}
}

// A yield that walks another document with the same set must not disturb the walk it is called from.
func TestExtractReentrant(t *testing.T) {
	set := NewSet(parseAll("[*].a")...)
	var got []Pointer
	err := set.Extract([]byte(`[{"a":1},{"a":2}]`), func(_ int, m Match) {
		if err := set.Extract([]byte(`{"k":{"a":3}}`), func(_ int, n Match) { got = append(got, n.Pointer()) }); err != nil {
			t.Error(err)
		}
		got = append(got, m.Pointer())
	})
	if diff := cmp.Diff([]Pointer{"/k/a", "/0/a", "/k/a", "/1/a"}, got); err != nil || diff != "" {
		t.Errorf("error %v, pointers (-want +got):\n%s", err, diff)
	}
}

func TestExtractRefusesBrokenJSON(t *testing.T) {
	tests := []struct {
		doc    string
		offset int
	}{
		{"", 0},
		{"  ", 2},
		{"{", 1},
		{`{"a"`, 4},
		{`{"a":`, 5},
		{`{"a":{"b":1}`, 12},
		{`{"a":{"b":1}}x`, 13},
		{`{"a":{"b":1}},`, 13},
		{`{"a":tru}`, 5},
		{`{"a":01}`, 7},
		{`{"a":-}`, 6},
		{`{"a":1.}`, 7},
		{`{"a":1e}`, 7},
		{`{"a" 1}`, 5},
		{`{a:1}`, 1},
		{`{"z":1 "a":2}`, 7},
		{`{"z":1,}`, 7},
		{`{"z":"` + "\n" + `"}`, 6},
		{`{"z":"\`, 7},
		{`{"z":{"y":"`, 11},
		{`{"z":[1,[2]`, 11},
		{`{"\x":1}`, 2},
		{`{"a":{"b":1},"z":[`, 18},
		{`{"l":[{"k":1},{]}`, 15},
	}
	for _, test := range tests {
		t.Run(test.doc, func(t *testing.T) {
			set := NewSet(parseAll(".a.b", ".l[*].m", ".l[?(@.k==1)].m")...)
			err := set.Extract([]byte(test.doc), func(i int, m Match) { t.Errorf("yields %s, exists: %v", m.Pointer(), m.Exists()) })
			var got *SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a *SyntaxError", err)
			}
			if got.Offset != test.offset {
				t.Errorf("%v; want offset %d", err, test.offset)
			}
		})
	}
}

func TestExtractAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := documents(4, true).Draw(t, "document")
		set := rapid.SliceOfN(paths(), 1, 6).Draw(t, "paths")
		checkReference(t, []byte(doc), set)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func checkReference(t fataler, doc []byte, set []Path) {
	tree, err := refDecode(doc)
	if err != nil {
		t.Fatalf("reference: %v", err)
	}
	got, err := extracted(doc, set)
	if err != nil {
		t.Fatalf("Extract: %v", err)
	}
	if diff := cmp.Diff(refExtract(tree, set), got); diff != "" {
		t.Fatalf("document %s, paths %v: (-reference +Extract):\n%s", doc, set, diff)
	}
}

func FuzzExtract(f *testing.F) {
	for _, seed := range []struct{ doc, a, b string }{
		{`{"spec":{"replicas":3}}`, ".spec.replicas", ".spec.paused"},
		{`{"l":[{"k":"v","n":1},{"k":"w"}]}`, `.l[?(@.k=="v")].n`, ".l[*].k"},
		{`{"a":1,"\u0061":2,"b":{"a":{}}}`, "[*].a", ".a"},
		{`[[1,2],[3]]`, "[*][1]", "[0]"},
		{`{"a":1e400,"b":"\ud800"}`, ".a", ".b"},
		{`{"a":[{"b":`, ".a[*].b", "$"},
		{`"\"`, "$", ".x"},
	} {
		f.Add([]byte(seed.doc), seed.a, seed.b)
	}
	f.Fuzz(func(t *testing.T, doc []byte, a, b string) {
		var set []Path
		for _, text := range []string{a, b} {
			if p, err := Parse(text); err == nil {
				set = append(set, p)
			}
		}
		if _, err := refDecode(doc); err == nil && utf8.Valid(doc) {
			checkReference(t, doc, set)
			return
		}
		yielded := 0
		err := NewSet(set...).Extract(doc, func(_ int, m Match) {
			yielded++
			_, _ = m.Pointer(), m.Value()
		})
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || yielded > 0 || syntax.Offset > len(doc)) {
			t.Fatalf("error %v after %d matches", err, yielded)
		}
	})
}

// Run with the race detector, this is the proof that paths and sets may be shared.
func TestConcurrentUse(t *testing.T) {
	doc, p := deployment(t), MustParse(".spec.template.spec.containers[*].env[*].name")
	set := NewSet(p)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				matches := 0
				if err := set.Extract(doc, func(_ int, m Match) { matches += len(m.Elements()) }); err != nil || matches != 8 {
					t.Errorf("Extract: %d elements, %v", matches, err)
				}
				if v, err := p.Get(doc); err != nil || v.Raw() != `"LOG_LEVEL"` {
					t.Errorf("Get: %s, %v", v, err)
				}
			}
		})
	}
	group.Wait()
}

// TestElementsOfObjects checks the elements of objects with keys that look like indexes.
func TestElementsOfObjects(t *testing.T) {
	set := NewSet(parseAll(".a[*].n", ".b.n")...)
	for doc, want := range map[string]bool{`{"a":[{"n":1}]}`: false, `{"a":{"0":{"n":1}}}`: true, `{"b":{"n":1}}`: false} {
		if err := set.Extract([]byte(doc), func(_ int, m Match) {
			if m.Exists() && m.ElementInObject() != want {
				t.Errorf("%s: %s in an object: %t", doc, m.Pointer(), !want)
			}
		}); err != nil {
			t.Error(err)
		}
	}
}
