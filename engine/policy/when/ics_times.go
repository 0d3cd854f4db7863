package when

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline/face"
)

// moment is a date, or a date with a wall-clock time.
type moment struct {
	// reading is in seconds, as in package timeline.
	reading int64
	// zone is the zone of the time; nil: the calendar's own zone.
	zone   *time.Location
	isDate bool
}

func (m moment) day() int64 { return face.FloorDiv(m.reading, face.DaySeconds) }

// in returns the moment as a reading of another zone's clock. A date keeps its reading, and so does a moment in the
// same zone. own is the zone of the calendar.
func (m moment) in(zone, own *time.Location) int64 {
	if zone == nil {
		zone = own
	}
	from := m.zone
	if from == nil {
		from = own
	}
	if m.isDate || from == zone {
		return m.reading
	}
	c := time.Unix(m.reading, 0).UTC()
	at := time.Date(c.Year(), c.Month(), c.Day(), c.Hour(), c.Minute(), c.Second(), 0, from)
	_, offset := at.In(zone).Zone()
	return at.Unix() + int64(offset)
}

const (
	dateForm  = "20060102"
	clockForm = "20060102T150405"
)

// momentOf reads one value of a property such as DTSTART.
func (f *file) momentOf(p property, value string) (moment, error) {
	form, m := clockForm, moment{}
	switch {
	case len(value) == len(dateForm):
		form, m.isDate = dateForm, true
	case strings.HasSuffix(value, "Z"):
		value, m.zone = strings.TrimSuffix(value, "Z"), time.UTC
	case p.params["TZID"] != "":
		zone, err := f.zone(p.params["TZID"])
		if err != nil {
			return m, fmt.Errorf("line %d: %s: %w", p.line, p.name, err)
		}
		m.zone = zone
	}
	at, err := time.Parse(form, value)
	if err != nil || at.Year() < 1600 {
		return m, fmt.Errorf("line %d: %s is %.40q, which is neither a date such as 20371224 nor a date with a time such as 20371224T180000Z",
			p.line, p.name, value)
	}
	m.reading = at.Unix()
	return m, nil
}

// moments reads all values of all properties of a name, such as EXDATE.
func (f *file) moments(c *component, name string) (all []moment, err error) {
	for _, p := range c.props {
		if p.name != name {
			continue
		}
		for value := range strings.SplitSeq(p.value, ",") {
			m, err := f.momentOf(p, value)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

var durationForm = regexp.MustCompile(`^\+?P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$`)

// durationOf parses a DURATION into seconds of the wall clock: a day has 24 hours.
func durationOf(p property) (seconds int64, err error) {
	parts := durationForm.FindStringSubmatch(p.value)
	if parts == nil {
		return 0, fmt.Errorf("line %d: DURATION is %.40q: write one such as PT4H or P1D", p.line, p.value)
	}
	for i, unit := range []int64{7 * face.DaySeconds, face.DaySeconds, 60 * face.MinuteSeconds, face.MinuteSeconds, 1} {
		n, _ := strconv.ParseInt("0"+parts[i+1], 10, 64)
		seconds += n * unit
	}
	return seconds, nil
}
