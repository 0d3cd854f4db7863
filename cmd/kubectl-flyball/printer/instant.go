package printer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// InstantLayout is the format of instants in output, in the requested zone.
const InstantLayout = "Mon 2006-01-02 15:04 MST"

// local are the layouts of local times. Fractions of seconds are accepted.
var local = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// clocks are the layouts of times of day.
var clocks = []string{"15:04:05", "15:04"}

// ParseNext parses a future instant. It accepts the formats of ParseInstant. A time of day alone, such as 22:00, means its next
// occurrence in the zone.
func ParseNext(text string, now time.Time, zone *time.Location) (time.Time, error) {
	clock := strings.TrimSpace(text)
	if !isTimeOfDay(clock) {
		return ParseInstant(text, now, zone)
	}
	t, err := ParseInstant("today "+clock, now, zone)
	if err == nil && !t.After(now) {
		return ParseInstant("tomorrow "+clock, now, zone)
	}
	return t, err
}

func isTimeOfDay(text string) bool {
	for _, layout := range clocks {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

// dated replaces the word today or tomorrow before a time of day with the date.
func dated(text string, now time.Time, zone *time.Location) string {
	day, clock, _ := strings.Cut(text, " ")
	after, named := map[string]int{"today": 0, "tomorrow": 1}[strings.ToLower(day)]
	if !named || !isTimeOfDay(strings.TrimSpace(clock)) {
		return text
	}
	return now.In(zone).AddDate(0, 0, after).Format(time.DateOnly) + "T" + strings.TrimSpace(clock)
}

// ParseInstant parses an instant: now, +2h or -30m from now, an RFC 3339 instant, or a local date and time such as
// 2037-05-11T18:00, with today and tomorrow as dates. It refuses a local time that the clock of the zone shows twice or
// never.
func ParseInstant(text string, now time.Time, zone *time.Location) (time.Time, error) {
	trimmed := dated(strings.TrimSpace(text), now, zone)
	switch {
	case trimmed == "":
		return time.Time{}, fmt.Errorf("read the time %q: it is empty", text)
	case trimmed == "now":
		return now, nil
	case trimmed[0] == '+' || trimmed[0] == '-':
		span, err := ParseSpan(trimmed[1:])
		if err != nil {
			return time.Time{}, err
		}
		if trimmed[0] == '-' {
			span = -span
		}
		return now.Add(span), nil
	}
	var wrong string // wrong is the reason why a text in the format of a time is invalid
	reads := func(layout string) (time.Time, bool) {
		t, err := time.Parse(layout, trimmed)
		if at := (*time.ParseError)(nil); errors.As(err, &at) && strings.HasSuffix(at.Message, "out of range") {
			wrong = "there is no such time of day"
			if strings.Contains(at.Message, "day") || strings.Contains(at.Message, "month") {
				wrong = "there is no such day"
			}
		}
		return t, err == nil
	}
	if t, ok := reads(time.RFC3339); ok {
		return t, nil
	}
	for _, layout := range local {
		if clock, ok := reads(layout); ok {
			return onlyReading(text, clock, zone)
		}
	}
	if _, ok := reads(time.DateOnly); ok {
		return time.Time{}, fmt.Errorf("read the time %q: a date alone is ambiguous; add the time of day, as in %sT18:00", text, trimmed)
	}
	for _, layout := range clocks {
		if _, ok := reads(layout); ok {
			return time.Time{}, fmt.Errorf("read the time %q: a time of day alone is ambiguous; add the date, as in %sT%s", text,
				now.In(zone).Format(time.DateOnly), trimmed)
		}
	}
	if wrong != "" {
		return time.Time{}, fmt.Errorf("read the time %q: %s", text, wrong)
	}
	return time.Time{},
		fmt.Errorf("read the time %q: give an RFC 3339 instant (2037-05-11T18:00:00+02:00), a local time (2037-05-11T18:00, tomorrow "+
			"18:00), or a distance from now (+2h)", text)
}

// onlyReading returns the instant at which the clock of a zone shows a date and time. The parameter shown has this date
// and time, in UTC. It is an error if the clock shows them twice or never.
func onlyReading(text string, shown time.Time, zone *time.Location) (time.Time, error) {
	all := readings(shown, zone)
	switch len(all) {
	case 0:
		near := time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(), 0, zone)
		return time.Time{}, fmt.Errorf("read the time %q: the clock of %s skips it; give an RFC 3339 instant, such as %s", text, zone,
			near.Format(time.RFC3339))
	case 1:
		return all[0], nil
	}
	return time.Time{}, fmt.Errorf("read the time %q: it is ambiguous, because the clock of %s shows it twice; give %s or %s",
		text, zone, all[0].Format(time.RFC3339), all[1].Format(time.RFC3339))
}

// readings returns, in order, the instants at which the clock of a zone shows a date and time. The parameter shown has
// this date and time, in UTC.
func readings(shown time.Time, zone *time.Location) (all []time.Time) {
	const day = 24 * time.Hour // no offset from UTC is larger
	for at := shown.Add(-day).In(zone); ; {
		_, offset := at.Zone()
		start, end := at.ZoneBounds()
		if t := shown.Add(-time.Duration(offset) * time.Second).In(zone); !t.Before(start) && (end.IsZero() || t.Before(end)) {
			all = append(all, t)
		}
		if end.IsZero() || end.After(shown.Add(day)) {
			return all
		}
		at = end
	}
}

// ParseSpan parses a positive span such as 90m, 2h30m or 7d.
func ParseSpan(text string) (time.Duration, error) {
	d, err := timeline.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("read the span %q: give one such as 90m, 2h30m or 7d: %w", text, err)
	}
	return d, nil
}

// ParseZone returns a time zone by its IANA name. Empty and Local mean the machine's zone.
func ParseZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("read the time zone %q: give an IANA name such as Europe/Berlin: %w", name, err)
	}
	return zone, nil
}

// InstantText formats an instant for people. The zero time is "never".
func InstantText(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "never"
	}
	layout := InstantLayout
	if t.Second() != 0 {
		layout = "Mon 2006-01-02 15:04:05 MST"
	}
	return t.In(zone).Format(layout)
}
