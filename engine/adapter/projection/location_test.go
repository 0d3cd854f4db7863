package projection

import (
	"testing"

	"flyball.dev/flyball/engine/path"
)

// TestPointersThatCouldMatch checks that a pointer fits a path with as many steps and the same names and indexes.
func TestPointersThatCouldMatch(t *testing.T) {
	p := path.MustParse(".spec.pools[2].name")
	for pointer, want := range map[string]bool{"/spec/pools/2/name": true, "/spec/pools/3/name": false, "/spec/sets/2/name": false,
		"/spec/pools/2": false, "/spec/pools/2/name/x": false} {
		if got := fits(p.Steps(), path.Pointer(pointer).Tokens()); got != want {
			t.Errorf("%s: %t", pointer, got)
		}
	}
}
