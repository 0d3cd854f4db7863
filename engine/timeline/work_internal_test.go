package timeline

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline/recur"
)

// counted is a node that counts the looks at it.
type counted struct {
	node
	looks *int
}

func (c counted) transition(at int64, d direction) (bool, int64) {
	*c.looks++
	return c.node.transition(at, d)
}

// TestEndlessWindowsAreNotSearched: windows of ten years must not delay others by a search for their end. Windows
// with
// overlapping openings in any zone are known to be endless, and a union of many short runs stops after a bounded number
// of looks.
func TestEndlessWindowsAreNotSearched(t *testing.T) {
	berlin, err := LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, expr := range []string{"0 0 1 1 *", "0 0 29 2 *", "0 0 1-30 * 1", "* * * * *"} {
		c, err := recur.ParseCron(expr)
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := newRepeat(berlin, c, 520*7*24*time.Hour, "").(*settled); !ok || s.from != always {
			t.Errorf("%s for ten years is searched for an end", expr)
		}
	}
	looks := 0
	var parts []node
	for i := range 64 {
		w, errs := ParseWindow(v1alpha1.Window{Cron: fmt.Sprintf("* * 1-30 * %d", i%7), Duration: "24h"}, berlin, field.NewPath("w"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		parts = append(parts, counted{w.root, &looks})
	}
	settle(newUnion(parts, parts))
	if looks == 0 || looks > 2*(maxLooks+len(parts)) {
		t.Errorf("%d looks at the parts of a union", looks)
	}
}

// TestEndsOfUnionsAreSearchedOnDemand: the ends of unions made by Any, and of timelines below calendars, are searched
// only on demand. A policy may have as many of these timelines as windows, and each search may need many looks.
func TestEndsOfUnionsAreSearchedOnDemand(t *testing.T) {
	looks := 0
	part := func(on ...v1alpha1.Day) Timeline {
		w, errs := ParseWindow(v1alpha1.Window{Days: on, From: "00:00", To: "24:00"}, time.UTC, field.NewPath("w"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return Timeline{root: counted{w.root, &looks}}
	}
	even, odd := part("Tue", "Thu", "Sat"), part("Mon", "Wed", "Fri", "Sun")
	all := Any(even, odd)
	laid := Override(even, Effect{During: odd, Active: true}, Effect{During: part("Sun")})
	if looks != 0 {
		t.Errorf("%d looks at the parts of what nobody asked yet", looks)
	}
	for _, joined := range []Timeline{all, laid} {
		if next, ok := joined.Next(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)); ok {
			t.Errorf("%s ends at %s, want never", joined, next)
		}
	}
	if looks == 0 || looks > 4*maxLooks {
		t.Errorf("%d looks for the ends of two", looks)
	}
}

// TestManyWindowsInARow: windows that touch are joined in any order, and end where the last window ends.
func TestManyWindowsInARow(t *testing.T) {
	var all []Timeline
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	const years, windows = 2, 64
	at := func(i int) time.Time { return start.AddDate(years*i, 0, 0) }
	for i := windows - 1; i >= 0; i-- {
		w, errs := ParseWindow(v1alpha1.Window{Start: at(i).Format(time.RFC3339), End: at(i + 1).Format(time.RFC3339)}, time.UTC,
			field.NewPath("w"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		all = append(all, w)
	}
	if _, transition := Union(all...).root.transition(start.Unix(), forward); transition != at(windows).Unix() {
		t.Errorf("%d windows of %d years end at %s, want %s", windows, years, time.Unix(transition, 0).UTC(), at(windows))
	}
}
