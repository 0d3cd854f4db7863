package timeline

import (
	"fmt"
	"strings"
	"time"
)

// localInstants are the accepted forms of a local date and time.
var localInstants = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// ParseUntil parses the end of a period: an RFC 3339 instant, a local date and time in the zone, or a local date. A
// date is included in the period, as in a window. It returns a zero time for an empty text. Any other text is an error.
func ParseUntil(text string, loc *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range localInstants {
		if t, err := time.Parse(layout, text); err == nil {
			return zoneOf(loc).first(t.Unix()), nil
		}
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return zoneOf(loc).first(t.Unix() + daySeconds), nil
	}
	return time.Time{},
		fmt.Errorf("%.64q is no date with a time: give an RFC 3339 instant (2026-03-02T22:00:00+01:00), a date and time in %s "+
			"(2026-03-02T22:00), "+
			"or a date, of which the whole day is meant (2026-03-02)", text, loc)
}

// first returns the first instant when the zone's clock shows the reading or a later one.
func (z *zone) first(reading int64) time.Time {
	at, _ := z.instant(reading)
	return time.Unix(at, 0).UTC()
}
