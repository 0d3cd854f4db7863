package migrate_test

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/engine/timeline"
)

// TestWindowsAreOpenAfterAStart checks the windows at every half hour of a week. A window has to be open if the last
// event was a start.
func TestWindowsAreOpenAfterAStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length, step = 7 * 24 * 60, 6 * 60
		minutes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int { return step * rapid.IntRange(0, length/step-1).Draw(t, "step") }), 1, 6)
		starts, ends := minutes.Draw(t, "starts"), minutes.Draw(t, "ends")
		var open []timeline.Timeline
		for _, w := range migrate.Between(starts, ends) {
			one, errs := timeline.ParseWindow(w, time.UTC, field.NewPath("window"))
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			open = append(open, one)
		}
		if !slices.ContainsFunc(ends, func(e int) bool { return !slices.Contains(starts, e) }) {
			if len(open) > 0 {
				t.Fatal("there are windows without an end of their own")
			}
			return
		}
		monday := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
		for m := 0; m < length; m += 30 {
			want := false
			for back := range length {
				at := (m - back + length) % length
				if want = slices.Contains(starts, at); want || slices.Contains(ends, at) {
					break
				}
			}
			at := monday.Add(time.Duration(m) * time.Minute)
			got := slices.ContainsFunc(open, func(w timeline.Timeline) bool { return w.At(at).Active })
			if got != want {
				t.Fatalf("%s: open is %t, want %t", at.Format("Mon 15:04"), got, want)
			}
		}
	})
}
