package timeline_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

func TestParseUntil(t *testing.T) {
	berlin, err := timeline.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ reason, text, want string }{
		{reason: "nothing", text: "  "},
		{reason: "an RFC 3339 instant", text: "2026-11-27T23:00:00Z", want: "2026-11-27T23:00:00Z"},
		{reason: "with an offset, the zone does not matter", text: "2026-11-27T23:00:00-05:00", want: "2026-11-28T04:00:00Z"},
		{reason: "a local date and time", text: "2026-11-27T23:00", want: "2026-11-27T22:00:00Z"},
		{reason: "in summer", text: "2026-07-27T23:00", want: "2026-07-27T21:00:00Z"},
		{reason: "with seconds", text: "2026-11-27T23:00:30", want: "2026-11-27T22:00:30Z"},
		{reason: "with a blank", text: "2026-11-27 23:00", want: "2026-11-27T22:00:00Z"},
		{reason: "with a blank and seconds, and blanks around", text: " 2026-11-27 23:00:30 ", want: "2026-11-27T22:00:30Z"},
		{reason: "a date is included", text: "2026-11-27", want: "2026-11-27T23:00:00Z"},
		{reason: "the last of a year", text: "2026-12-31", want: "2026-12-31T23:00:00Z"},
		{reason: "a reading that the clock skips: when the gap ends", text: "2026-03-29 02:30", want: "2026-03-29T01:00:00Z"},
		{reason: "a reading that the clock shows twice: the first time", text: "2026-10-25 02:30", want: "2026-10-25T00:30:00Z"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			got, err := timeline.ParseUntil(tc.text, berlin)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if !got.IsZero() {
				text = got.UTC().Format(time.RFC3339)
			}
			if text != tc.want {
				t.Errorf("%q is %s, want %s", tc.text, text, tc.want)
			}
		})
	}
	for _, text := range []string{"tomorrow", "18:00", "2026-02-30", "2026-11-27T25:00", "27.11.2026", "2026-11-27 23:00 CET", "1764284400",
		"2026-11"} {
		_, err := timeline.ParseUntil(text, berlin)
		if err == nil {
			t.Errorf("%q is read", text)
			continue
		}
		for _, want := range []string{text, "Europe/Berlin", "2026-03-02T22:00:00+01:00", "2026-03-02T22:00)", "(2026-03-02)"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error on %q does not say %q: %v", text, want, err)
			}
		}
	}
	if _, err := timeline.ParseUntil(strings.Repeat("\x00", 200_000), berlin); err == nil || len(err.Error()) > 500 {
		t.Error("a long text is read, or all of it is in the error")
	}
}
