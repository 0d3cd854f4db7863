package path

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestGetReadsTheValueAtAPath(t *testing.T) {
	const doc = `{"a":{"b":3},"l":[{"k":"x"},{"k":"y","v":null},{"k":"y","v":7}],"q":"\u0041"}`
	tests := []struct{ path, raw, at string }{
		{"$", doc, "$"},
		{".a.b", "3", ".a.b"},
		{".a.c", "", ".a.c"},
		{".l[1].k", `"y"`, ".l[1].k"},
		{".l[*].v", "null", "/l/1/v"},
		{`.l[?(@.k=="y")].w`, "", `.l[?(@.k=="y")].w`},
		{`.l[?(@.v==7)].k`, `"y"`, "/l/2/k"},
		{".q", `"\u0041"`, ".q"},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			v, err := MustParse(test.path).Get([]byte(doc))
			if err != nil {
				t.Fatal(err)
			}
			if v.Raw() != test.raw || v.at != test.at || v.Exists() != (test.raw != "") {
				t.Errorf("got %s at %s, want %q at %s", v, v.at, test.raw, test.at)
			}
		})
	}
}

// A value must not change, nor keep the document, when the caller reuses the document's buffer.
func TestGetCopies(t *testing.T) {
	doc := []byte(`{"a":"before"}`)
	v, err := MustParse(".a").Get(doc)
	if err != nil {
		t.Fatal(err)
	}
	copy(doc, `{"a":"after!"}`)
	if text, err := v.Text(); text != "before" || err != nil {
		t.Errorf("value became %q, %v", text, err)
	}
}

func TestReadErrors(t *testing.T) {
	broken := []byte(`{"a":{"b":1}`)
	_, get := MustParse(".a.c").Get(broken)
	_, probe := Probe(broken, "/a/c")
	all := MustParse(".a[*]").All(broken, func(Match) bool { t.Error("All yields a match of a broken document"); return true })
	for _, test := range []struct {
		err  error
		want string
	}{
		{get, "read .a.c: invalid JSON at byte 12: expected a comma or }"},
		{probe, "read /a/c: invalid JSON at byte 12: expected a comma or }"},
		{all, "read .a[*]: invalid JSON at byte 12: expected a comma or }"},
	} {
		var syntax *SyntaxError
		if !errors.As(test.err, &syntax) || test.err.Error() != test.want {
			t.Errorf("error %v, want %s", test.err, test.want)
		}
	}
}

func TestAllStops(t *testing.T) {
	var got []Pointer
	err := MustParse("[*].a").All([]byte(`[{"a":1},{},{"a":3}]`), func(m Match) bool {
		got = append(got, m.Pointer())
		return m.Exists()
	})
	if diff := cmp.Diff([]Pointer{"/0/a", "/1/a"}, got); err != nil || diff != "" {
		t.Errorf("error %v, pointers (-want +got):\n%s", err, diff)
	}
}

func TestProbeDistinguishesAbsentFromNull(t *testing.T) {
	const doc = `{"metadata":{"annotations":{"app/x":"1"}},"data":{"0":{"k":1}},"list":[{"k":{"only":true}}],"n":null}`
	tests := []struct {
		pointer Pointer
		raw     string
		depth   int
	}{
		{"", doc, 0},
		{"/metadata/annotations/app~1x", `"1"`, 3},
		{"/metadata/annotations/app~1y", "", 2},
		{"/metadata/labels/a/b", "", 1},
		{"/spec/replicas", "", 0},
		{"/data/0/k", "1", 3},
		{"/list/0/k/only", "true", 4},
		{"/list/00/k", "", 1},
		{"/list/1/k", "", 1},
		{"/list/-", "", 1},
		{"/n", "null", 1},
		{"/n/x", "", 1},
	}
	for _, test := range tests {
		t.Run(string(test.pointer), func(t *testing.T) {
			p, err := Probe([]byte(doc), test.pointer)
			if err != nil {
				t.Fatal(err)
			}
			if p.Value.Raw() != test.raw || p.Depth != test.depth {
				t.Errorf("got %s, depth %d; want %q, %d", p.Value, p.Depth, test.raw, test.depth)
			}
		})
	}
}

// For each match of a path, probing the match's pointer gives the same result, and so does the path made from the
// pointer (unless the pointer contains a numeric key of an object).
func TestProbeAgreesWithExtract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(documents(4, true).Draw(t, "document"))
		tree, err := refDecode(doc)
		if err != nil {
			t.Fatal(err)
		}
		err = paths().Draw(t, "path").All(doc, func(m Match) bool {
			pointer := m.Pointer()
			if !m.Exists() && strings.ContainsAny(string(pointer), "01") {
				return true // the path may say key where the document has an index
			}
			p, err := Probe(doc, pointer)
			if err != nil || p.Value.Raw() != string(m.Raw) || p.Depth != m.Depth {
				t.Fatalf("Extract: %s: %q, depth %d; Probe: %s, %d, %v",
					pointer, m.Raw, m.Depth, p.Value, p.Depth, err)
			}
			plain := pointer.Path()
			if back, err := plain.Pointer(); back != pointer || err != nil {
				t.Fatalf("%s became the path %s, whose pointer is %s, %v", pointer, plain, back, err)
			}
			if ref := refExtract(tree, []Path{plain}); m.Exists() && ref[0].Exists {
				if v, err := plain.Get(doc); err != nil || v.Raw() != p.Value.Raw() {
					t.Fatalf("Get(%s) is %s, %v; Probe says %s", plain, v, err, p.Value)
				}
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Reading many pointers or paths in one walk gives the same results as reading each alone. A trie node with many edges
// finds them in another way.
func TestReadingManyPointersEqualsReadingEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := func(label string) string { return strconv.Itoa(rapid.IntRange(0, 3*fewEdges).Draw(t, label)) }
		var items, members []string
		for i := range rapid.IntRange(0, 2*fewEdges).Draw(t, "items") {
			items = append(items, rapid.SampledFrom([]string{`{"k":1}`, "null", "[4,5]", `"text"`}).Draw(t, "item"))
			members = append(members, strconv.Quote(token("key"))+":"+items[i])
		}
		doc := []byte(`{"list":[` + strings.Join(items, ",") + `],"map":{` + strings.Join(members, ",") + `}}`)

		var pointers []Pointer
		var paths []Path
		for range rapid.IntRange(1, 4*fewEdges).Draw(t, "pointers") {
			p := Pointer("/" + rapid.SampledFrom([]string{"list", "map", "none"}).Draw(t, "in")).Append(token("token"))
			pointers = append(pointers, p+Pointer(rapid.SampledFrom([]string{"", "/k", "/0"}).Draw(t, "rest")))
			paths = append(paths, p.Path())
		}
		all, err := ProbeAll(doc, pointers...)
		if err != nil {
			t.Fatal(err)
		}
		for i, pointer := range pointers {
			one, err := ProbeAll(doc, pointer)
			if diff := cmp.Diff(one, all[i:i+1]); err != nil || diff != "" {
				t.Fatalf("%s: alone %+v, %v, among many %+v", pointer, one, err, all[i])
			}
		}
		err = NewSet(paths...).Extract(doc, func(i int, m Match) {
			if v, err := paths[i].Get(doc); err != nil || v.Raw() != string(m.Raw) {
				t.Fatalf("%s: alone %s, %v, among many %s", paths[i], v, err, m.Raw)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A probe returns the types on the way, for existing and absent values.
func TestProbeReturnsTheTypesOnTheWay(t *testing.T) {
	const doc = `{"map":{"n":null,"t":"x"},"list":[{"k":1}]}`
	for pointer, want := range map[Pointer][2]Type{
		"":          {Object, Absent},
		"/none":     {Object, Absent},
		"/map/t":    {String, Object},
		"/map/n/k":  {Null, Object},
		"/list/0":   {Object, Array},
		"/list/0/k": {Number, Object},
		"/list/1/k": {Array, Object},
	} {
		if p, err := ProbeAll([]byte(doc), pointer); err != nil || p[0].Deepest != want[0] || p[0].Around != want[1] {
			t.Errorf("%q: %+v, %v; want %v in %v", pointer, p, err, want[0], want[1])
		}
	}
}

func TestMembersCountsTheMembersOfAValue(t *testing.T) {
	const doc = `{"map":{"a":{"b":[1,2]}, "c":null ,"d":"}"},"empty":{},"list":[[1,2],3],"text":"x"}`
	for pointer, want := range map[Pointer]int{"": 4, "/map": 3, "/empty": 0, "/list": 2, "/text": 0, "/none": 0, "/map/c": 0} {
		if p, err := ProbeAll([]byte(doc), pointer); err != nil || p[0].Members() != want {
			t.Errorf("%q has %d members, %v; want %d", pointer, p[0].Members(), err, want)
		}
	}
}
