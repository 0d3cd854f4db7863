// Package instant reads the instants and spans that people give on a command line, and writes instants for people. An instant
// that could mean two things is refused with both of them; nothing is guessed.
package instant

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// Layout is how instants are written for people, in the zone asked for.
const Layout = "Mon 2006-01-02 15:04 MST"

var (
	local = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}
	date  = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	clock = regexp.MustCompile(`^\d{1,2}:\d{2}(:\d{2})?$`)
)

// Parse reads an instant: now, +2h or -30m from now, an RFC 3339 instant, or a local date and time in a zone such as
// 2037-05-11T18:00. A local time that the zone's clock shows twice, or never, is refused.
func Parse(text string, now time.Time, zone *time.Location) (time.Time, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return time.Time{}, fmt.Errorf("read the time %q: it is empty", text)
	case trimmed == "now":
		return now, nil
	case trimmed[0] == '+' || trimmed[0] == '-':
		span, err := Span(trimmed[1:])
		if err != nil {
			return time.Time{}, err
		}
		if trimmed[0] == '-' {
			span = -span
		}
		return now.Add(span), nil
	case date.MatchString(trimmed):
		return time.Time{}, fmt.Errorf("read the time %q: a date alone is ambiguous; add the time of day, as in %sT18:00", text, trimmed)
	case clock.MatchString(trimmed):
		return time.Time{}, fmt.Errorf("read the time %q: a time of day alone is ambiguous; add the date, as in %sT%s", text, now.In(zone).Format(time.DateOnly), trimmed)
	}
	if t, err := time.Parse(time.RFC3339, trimmed); err == nil {
		return t, nil
	}
	for _, layout := range local {
		if t, err := time.ParseInLocation(layout, trimmed, zone); err == nil {
			return unambiguous(text, trimmed, layout, t, zone)
		}
	}
	return time.Time{}, fmt.Errorf("read the time %q: give an RFC 3339 instant (2037-05-11T18:00:00+02:00), a local time (2037-05-11T18:00), or a distance from now (+2h)", text)
}

// unambiguous refuses a reading that the zone's clock shows twice or never. t is one instant at or near it.
func unambiguous(text, reading, layout string, t time.Time, zone *time.Location) (time.Time, error) {
	if t.Format(layout) != reading {
		return time.Time{}, fmt.Errorf("read the time %q: the clock of %s skips it; give an RFC 3339 instant, such as %s", text, zone, t.Format(time.RFC3339))
	}
	for _, shift := range []time.Duration{-2 * time.Hour, -time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour} {
		other := t.Add(shift)
		if other.Format(layout) == reading {
			first, second := t, other
			if other.Before(t) {
				first, second = other, t
			}
			return time.Time{}, fmt.Errorf("read the time %q: it is ambiguous, because the clock of %s shows it twice; give %s or %s",
				text, zone, first.Format(time.RFC3339), second.Format(time.RFC3339))
		}
	}
	return t, nil
}

// Span reads a positive span such as 90m, 2h30m or 7d.
func Span(text string) (time.Duration, error) {
	d, err := timeline.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("read the span %q: give one such as 90m, 2h30m or 7d: %w", text, err)
	}
	return d, nil
}

// Zone finds a time zone by its IANA name; empty and Local are the machine's own.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("read the time zone %q: give an IANA name such as Europe/Berlin: %w", name, err)
	}
	return zone, nil
}

// Text writes an instant for people; the zero instant is never.
func Text(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "never"
	}
	layout := Layout
	if t.Second() != 0 {
		layout = "Mon 2006-01-02 15:04:05 MST"
	}
	return t.In(zone).Format(layout)
}
