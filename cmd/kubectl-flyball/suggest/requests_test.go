package suggest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProgressShowsEachPercentageOnce checks that each percentage is shown once. A history of months has more
// instants than a
// person can read.
func TestProgressShowsEachPercentageOnce(t *testing.T) {
	var heard []string
	tell := percent(func(what string) { heard = append(heard, what) }, "replaying")
	for i := range 2001 {
		tell(float64(i) / 100_000)
	}
	if diff := cmp.Diff([]string{"replaying, 0 %", "replaying, 1 %", "replaying, 2 %"}, heard); diff != "" {
		t.Error(diff)
	}
}
