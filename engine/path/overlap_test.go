package path

import (
	"testing"

	"pgregory.net/rapid"
)

func TestOverlapAndCovers(t *testing.T) {
	tests := []struct {
		a, b             string
		overlap          bool
		covers, coversBA bool
	}{
		{".spec", ".spec", true, true, true},
		{".spec", ".spec.replicas", true, true, false},
		{"$", ".spec", true, true, false},
		{".spec.replicas", ".spec.paused", false, false, false},
		{".spec", ".status", false, false, false},
		{".a[0]", ".a[1]", false, false, false},
		{".a[0]", ".a[0].b", true, true, false},
		{".a[0]", ".a['0']", true, false, false}, // the same pointer, not the same path
		{".a[1]", ".a['01']", false, false, false},
		{".a[*]", ".a[1].b", true, true, false},
		{".a[*]", ".a.b", true, true, false},
		{".a[*].x", ".a[0].y", false, false, false},
		{".a[*].x", ".a[*].x", true, true, true},
		{".a[*]", `.a[?(@.k=="v")]`, true, true, false},
		{`.a[?(@.k=="v")]`, ".a[3].x", true, false, false},
		{`.a[?(@.k=="v")]`, ".a.b", false, false, false},
		{`.a[?(@.k=="v")]`, ".a['7']", true, false, false},
		{`.a[?(@.k=="v")].x`, `.a[?(@.k=="w")].x`, false, false, false},
		{`.a[?(@.k=="v")].x`, `.a[?(@['k']=='v')].x`, true, true, true},
		{`.a[?(@.k=="v")]`, `.a[?(@.l=="w")]`, true, false, false},
		{`.a[?(@.k==1)]`, `.a[?(@.k==1.0)]`, true, true, true},
		{`.a[?(@.k==1)]`, `.a[?(@.k=="1")]`, false, false, false},
		{`.a[?(@.k!=1)]`, `.a[?(@.k==1)]`, false, false, false},
		{`.a[?(@.k!=1)]`, `.a[?(@.k==2)]`, true, true, false},
		{`.a[?(@.k!=1)]`, `.a[?(@.k!=2)]`, true, false, false},
	}
	for _, test := range tests {
		a, b := MustParse(test.a), MustParse(test.b)
		if got := Overlap(a, b); got != test.overlap {
			t.Errorf("Overlap(%s, %s) = %v", a, b, got)
		}
		if got := Covers(a, b); got != test.covers {
			t.Errorf("Covers(%s, %s) = %v", a, b, got)
		}
		if got := Covers(b, a); got != test.coversBA {
			t.Errorf("Covers(%s, %s) = %v", b, a, got)
		}
	}
}

// pointers returns the pointers of the values that the path selects.
func pointers(t *rapid.T, doc string, p Path) (found []Pointer) {
	err := p.All([]byte(doc), func(m Match) bool {
		if m.Exists() {
			found = append(found, m.Pointer())
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOverlapAndCoversAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := documents(4, false).Draw(t, "document")
		shared := paths().Draw(t, "shared")
		a, b := shared.Join(paths().Draw(t, "a")), shared.Join(paths().Draw(t, "b"))
		if Overlap(a, b) != Overlap(b, a) {
			t.Fatalf("Overlap(%s, %s) is not symmetric", a, b)
		}
		if Covers(a, b) && !Overlap(a, b) {
			t.Fatalf("%s covers %s without overlap", a, b)
		}
		ofA, ofB := pointers(t, doc, a), pointers(t, doc, b)
		for _, q := range ofB {
			covered := false
			for _, p := range ofA {
				covered = covered || p.IsPrefixOf(q)
				if (p.IsPrefixOf(q) || q.IsPrefixOf(p)) && !Overlap(a, b) {
					t.Fatalf("in %s, %s selects %s and %s selects %s, but they do not overlap", doc, a, p, b, q)
				}
			}
			if Covers(a, b) && !covered {
				t.Fatalf("in %s, %s covers %s but not %s", doc, a, b, q)
			}
		}
	})
}
