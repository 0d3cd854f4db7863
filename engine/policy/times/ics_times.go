package times

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline/recur"
)

// moment is a date, or a date with a wall-clock time.
type moment struct {
	// reading is in seconds, as in package timeline.
	reading int64
	// zone is the zone of the time; nil: the calendar's own zone.
	zone   *time.Location
	isDate bool
}

func (m moment) day() int64 { return recur.FloorDiv(m.reading, recur.DaySeconds) }

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
	at := instantOf(m.reading, from)
	return at + offsetAt(at, zone)
}

// instant returns the instant of the moment in Unix seconds. A date is its midnight.
func (m moment) instant(own *time.Location) int64 {
	if m.zone != nil {
		own = m.zone
	}
	return instantOf(m.reading, own)
}

// dayFor returns the number of the day that the moment names for an event with the given start. For an event of whole days,
// midnight in UTC names its date, since many programs write dates so.
func (m moment) dayFor(start moment, own *time.Location) int64 {
	if start.isDate && m.zone == time.UTC && recur.FloorMod(m.reading, recur.DaySeconds) == 0 {
		return m.day()
	}
	return recur.FloorDiv(m.in(start.zone, own), recur.DaySeconds)
}

// names reports whether the moment of an EXDATE or RECURRENCE-ID is an occurrence with the given start. A date names each occurrence
// of the day. A time without a zone may be by the clock of the event, since some programs leave the zone out.
func (m moment) names(start moment, own *time.Location) bool {
	if m.isDate || start.isDate {
		return m.dayFor(start, own) == start.day()
	}
	return m.instant(own) == start.instant(own) || m.zone == nil && m.reading == start.reading
}

// instantOf returns the instant of a reading of a zone's clock, in Unix seconds. A reading that comes twice is the first one, and a
// skipped reading has the offset from before the gap (RFC 5545, section 3.3.5).
func instantOf(reading int64, zone *time.Location) int64 {
	before := offsetAt(reading-recur.DaySeconds, zone)
	for _, offset := range []int64{before, offsetAt(reading+recur.DaySeconds, zone)} {
		if offsetAt(reading-offset, zone) == offset {
			return reading - offset
		}
	}
	return reading - before
}

func offsetAt(at int64, zone *time.Location) int64 {
	_, offset := time.Unix(at, 0).In(zone).Zone()
	return int64(offset)
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
	midnight := strings.HasSuffix(value, "T240000") // the end of the day, in ISO 8601
	if midnight {
		value = strings.TrimSuffix(value, "T240000") + "T000000"
	}
	at, err := time.Parse(form, value)
	if midnight {
		at = at.AddDate(0, 0, 1)
	}
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

// durationOf parses the value of a DURATION.
func durationOf(p property, value string) (l length, err error) {
	parts := durationForm.FindStringSubmatch(value)
	if parts == nil || strings.HasSuffix(value, "P") || strings.HasSuffix(value, "T") { // a part is missing
		return l, fmt.Errorf("line %d: %s is %.40q: write one such as PT4H or P1D", p.line, p.name, value)
	}
	var n [5]int64
	for i := range n {
		n[i], _ = strconv.ParseInt("0"+parts[i+1], 10, 64)
	}
	return length{days: 7*n[0] + n[1], seconds: n[2]*60*recur.MinuteSeconds + n[3]*recur.MinuteSeconds + n[4]}, nil
}
