package timeline_test

import (
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// fataler is the common part of testing.TB and *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustZone(t fataler, name string) *time.Location {
	t.Helper()
	loc, err := timeline.LoadZone(name)
	if err != nil {
		t.Fatalf("load zone: %v", err)
	}
	return loc
}

// lasting returns a duration in the form of the API.
func lasting(d time.Duration) v1alpha1.Duration { return v1alpha1.Duration(d.String()) }

func mustWindow(t fataler, spec v1alpha1.Window, zone string) timeline.Timeline {
	t.Helper()
	w, errs := timeline.ParseWindow(spec, mustZone(t, zone), nil)
	if len(errs) > 0 {
		t.Fatalf("parse window %+v: %v", spec, errs.ToAggregate())
	}
	return w
}

func mustWindows(t fataler, zone string, specs ...v1alpha1.Window) timeline.Timeline {
	t.Helper()
	loc := mustZone(t, zone)
	var ws []timeline.Timeline
	for _, spec := range specs {
		w, errs := timeline.ParseWindow(spec, loc, nil)
		if len(errs) > 0 {
			t.Fatalf("parse window %+v: %v", spec, errs.ToAggregate())
		}
		ws = append(ws, w)
	}
	return timeline.Union(ws...)
}

func mustPair(t fataler, up, down, zone string) timeline.Timeline {
	t.Helper()
	p, errs := timeline.Pair(up, down, mustZone(t, zone), nil)
	if len(errs) > 0 {
		t.Fatalf("pair %q %q: %v", up, down, errs.ToAggregate())
	}
	return p
}

func mustCalendar(t fataler, name string, spec timeline.CalendarSpec) timeline.Timeline {
	t.Helper()
	c, errs := timeline.ParseCalendar(name, spec, nil)
	if len(errs) > 0 {
		t.Fatalf("parse calendar %+v: %v", spec, errs.ToAggregate())
	}
	return c
}

// utc parses an RFC 3339 instant; an empty text gives the zero time.
func utc(t fataler, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatalf("parse instant: %v", err)
	}
	return at.UTC()
}
