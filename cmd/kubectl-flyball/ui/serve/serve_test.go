package serve

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// TestSlowRead checks that a world is shown for its whole time although reading it takes longer than this time.
func TestSlowRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		s := New("0", Options{Load: func(context.Context) (*source.World, error) {
			reads++
			time.Sleep(2 * fresh)
			return &source.World{}, nil
		}})
		for range 3 {
			if _, _, err := s.current(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if reads != 1 {
			t.Errorf("the world was read %d times for requests at the same instant, want once", reads)
		}
	})
}
