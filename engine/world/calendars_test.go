package world_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/world"
)

func including(name string, generation int64, names ...string) *v1alpha1.Calendar {
	return &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: generation},
		Spec: v1alpha1.CalendarSpec{Dates: []v1alpha1.CalendarDate{{Date: "2026-03-0" + string(rune('0'+len(name)))}}, Include: names}}
}

// validity returns the names of calendars, each with its validity.
func validity(w *world.World, names ...string) (list []string) {
	for _, name := range names {
		c, known := w.Snapshot().Calendar(name)
		switch {
		case !known:
			list = append(list, name+" gone")
		case len(c.Invalid) > 0:
			list = append(list, name+" invalid")
		default:
			list = append(list, name+" valid")
		}
	}
	return list
}

// Calendars include other calendars and may be added, changed and removed in any order. If calendars include each
// other in a circle, they are invalid, and so are the policies that name one of them.
func TestCalendarsIncludeOthers(t *testing.T) {
	a, bb, ccc := including("a", 1, "bb"), including("bb", 1, "ccc"), including("ccc", 1)
	set := func(c *v1alpha1.Calendar) func(*world.Tx) { return func(tx *world.Tx) { tx.SetCalendar(c) } }
	third := time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	permuted(t, []func(*world.Tx){set(a), set(bb), set(ccc)}, func(t *testing.T, w *world.World) {
		if got := validity(w, "a", "bb", "ccc"); !slices.Equal(got, []string{"a valid", "bb valid", "ccc valid"}) {
			t.Error(got)
		}
		c, _ := w.Snapshot().Calendar("a")
		if st := c.Days.At(third); !st.Active || st.Name != "ccc" {
			t.Errorf("on a day of the innermost: %+v", st)
		}
		w.Update(set(including("ccc", 2, "a")))
		if got := validity(w, "a", "bb", "ccc"); !slices.Equal(got, []string{"a invalid", "bb invalid", "ccc invalid"}) {
			t.Error(got)
		}
		if c, _ = w.Snapshot().Calendar("bb"); !strings.Contains(c.Invalid.ToAggregate().Error(), "bb -> ccc -> a -> bb") {
			t.Error(c.Invalid)
		}
		change := w.Update(set(including("ccc", 3)))
		if got := validity(w, "a", "bb", "ccc"); !slices.Equal(got, []string{"a valid", "bb valid", "ccc valid"}) ||
			!slices.Equal(change.Calendars, []string{"a", "bb", "ccc"}) {
			t.Error(got, change.Calendars)
		}
		w.Update(func(tx *world.Tx) { tx.RemoveCalendar("ccc") })
		if got := validity(w, "a", "bb", "ccc"); !slices.Equal(got, []string{"a invalid", "bb invalid", "ccc gone"}) {
			t.Error(got)
		}
		w.Update(set(ccc))
		if got := validity(w, "a"); !slices.Equal(got, []string{"a valid"}) {
			t.Error(got)
		}
	})
	w := world.New(selector.Scope{})
	w.Update(set(bb))
	if _, errs := w.Snapshot().CheckCalendar(including("ccc", 1, "bb")); len(errs) != 1 ||
		!strings.Contains(errs[0].Error(), "ccc -> bb -> ccc") {
		t.Errorf("at apply, a circle is refused: %v", errs)
	}
	if _, errs := w.Snapshot().CheckCalendar(including("a", 1, "bb", "not there")); len(errs) > 0 {
		t.Errorf("at apply, a calendar may come later: %v", errs)
	}
}

// A file in a ConfigMap is created, changed and deleted without a change of its calendar.
func TestFilesOfCalendars(t *testing.T) {
	key := v1alpha1.ConfigMapKey{Namespace: "ops", Name: "company", Key: "calendar.ics"}
	c := including("a", 1)
	c.Spec.ICS = &v1alpha1.CalendarICS{ConfigMap: &key}
	file := func(date string) string {
		return "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:move\nDTSTART:" + date +
			"\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:soon\nEND:VEVENT\nEND:VCALENDAR\n"
	}
	w := world.New(selector.Scope{})
	w.Update(func(tx *world.Tx) {
		tx.SetPolicy(kind("Schedule"), nights("a"))
		tx.SetCalendar(c)
	})
	if got := validity(w, "a"); got[0] != "a invalid" || len(w.Snapshot().Texts()) != 1 {
		t.Error(got, w.Snapshot().Texts())
	}
	change := w.Update(func(tx *world.Tx) { tx.SetText(key, file("20370701"), nil) })
	found, _ := w.Snapshot().Calendar("a")
	if len(found.Invalid) > 0 || len(found.Ignored) != 1 || !strings.Contains(found.Ignored[0], "line 7") || len(change.Policies) != 1 {
		t.Errorf("%v, ignored %q, %d policies", found.Invalid, found.Ignored, len(change.Policies))
	}
	if change = w.Update(func(tx *world.Tx) { tx.SetText(key, file("20370701"), nil) }); len(change.Policies)+len(change.Calendars) != 0 {
		t.Errorf("the same file again: %+v", change)
	}
	w.Update(func(tx *world.Tx) { tx.SetText(key, "", errors.New("there is no ConfigMap")) })
	if got := validity(w, "a"); got[0] != "a invalid" {
		t.Error(got)
	}
	w.Update(func(tx *world.Tx) {
		tx.RemoveCalendar("a")
		tx.DropTexts()
	})
	if _, known := w.Snapshot().Text(key); known {
		t.Error("a file that no calendar names is kept")
	}
}
