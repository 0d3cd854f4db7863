package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// from and to bound the compared times.
var from, to = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	clockForm = "20060102T150405"
	dateForm  = "20060102"
)

// sample is an event of a random file. Times are readings of the clock of its zone, written as times in UTC.
type sample struct {
	zone   string // empty: the event is of whole days
	start  time.Time
	length length
	// hasEnd writes the length as DTEND.
	hasEnd  bool
	rule    string
	left    []time.Time
	again   []time.Time
	moved   map[time.Time]time.Time
	dropped []time.Time
}

// length has days of the clock and elapsed time.
type length struct {
	days    int
	elapsed time.Duration
}

func (l length) String() string {
	text := "P"
	if l.days > 0 {
		text += fmt.Sprintf("%dD", l.days)
	}
	if l.elapsed > 0 {
		text += fmt.Sprintf("T%dM", int(l.elapsed.Minutes()))
	}
	return text
}

// form writes a reading as the value of a property, with the parameters before it.
func (s *sample) form(name string, readings ...time.Time) string {
	var values []string
	before, form := ";VALUE=DATE:", dateForm
	switch s.zone {
	case "":
	case "UTC":
		before, form = ":", clockForm+"Z"
	default:
		before, form = ";TZID="+s.zone+":", clockForm
	}
	for _, r := range readings {
		values = append(values, r.Format(form))
	}
	return name + before + strings.Join(values, ",") + "\r\n"
}

func (s *sample) lengthLine(start time.Time) string {
	if !s.hasEnd {
		return "DURATION:" + s.length.String() + "\r\n"
	}
	if s.zone == "" {
		return s.form("DTEND", start.AddDate(0, 0, s.length.days))
	}
	return s.form("DTEND", readingOf(instantOf(start, s.location()).Add(s.length.elapsed), s.location()))
}

func (s *sample) location() *time.Location {
	loc, err := time.LoadLocation(s.zone)
	if err != nil {
		panic(err) // the zones are constants
	}
	return loc
}

// file returns the calendar file of the sample.
func (s *sample) file() string {
	text := "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//flyball//check-calendars//EN\r\n" + zones[s.zone] +
		"BEGIN:VEVENT\r\nUID:a\r\nDTSTAMP:20260101T000000Z\r\n" + s.form("DTSTART", s.start) + s.lengthLine(s.start)
	if s.rule != "" {
		text += "RRULE:" + s.rule + "\r\n"
	}
	if len(s.left) > 0 {
		text += s.form("EXDATE", s.left...)
	}
	if len(s.again) > 0 {
		text += s.form("RDATE", s.again...)
	}
	text += "END:VEVENT\r\n"
	override := func(id, start time.Time, more string) {
		text += "BEGIN:VEVENT\r\nUID:a\r\nDTSTAMP:20260101T000000Z\r\n" + s.form("RECURRENCE-ID", id) + s.form("DTSTART", start) +
			s.lengthLine(start) + more + "END:VEVENT\r\n"
	}
	for id, start := range s.moved {
		override(id, start, "")
	}
	for _, id := range s.dropped {
		override(id, id, "STATUS:CANCELLED\r\n")
	}
	return text + "END:VCALENDAR\r\n"
}

var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// draw returns a random event; nil: the rule has no day.
func draw(r *rand.Rand) (*sample, error) {
	s := &sample{zone: pick(r, "", "UTC", "Europe/Berlin", "Europe/Berlin", "America/New_York"), moved: map[time.Time]time.Time{}}
	s.start = from.AddDate(0, 0, r.IntN(365))
	if s.zone == "" {
		s.length.days = 1 + r.IntN(3)*r.IntN(3)
		s.hasEnd = r.IntN(2) == 0
	} else {
		s.start = s.start.Add(time.Duration(r.IntN(48)) * 30 * time.Minute)
		if s.hasEnd = r.IntN(2) == 0; !s.hasEnd {
			s.length.days = r.IntN(3)
		}
		s.length.elapsed = time.Duration(1+r.IntN(60)) * 30 * time.Minute
	}
	s.rule = rule(r, s)
	found, err := s.starts()
	if err != nil || s.rule != "" && len(found) == 0 {
		return nil, err
	}
	if s.rule != "" { // DTSTART has to be an occurrence of the rule (RFC 5545, section 3.8.5.3)
		if !found[0].Equal(s.start) {
			s.start = found[0]
			if found, err = s.starts(); err != nil || len(found) == 0 || !found[0].Equal(s.start) {
				return nil, err
			}
		}
		for _, at := range found[1:min(len(found), 40)] {
			switch r.IntN(12) {
			case 0:
				s.left = append(s.left, at)
			case 1:
				s.moved[at] = at.AddDate(0, 0, r.IntN(5)-2)
			case 2:
				s.dropped = append(s.dropped, at)
			}
		}
	}
	for range r.IntN(3) * r.IntN(2) {
		if at := s.start.AddDate(0, 0, 1+r.IntN(300)); !slices.Contains(s.again, at) && !slices.Contains(found, at) {
			s.again = append(s.again, at)
		}
	}
	return s, nil
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// some returns some different elements of a list, joined by commas.
func some(r *rand.Rand, most int, one func() string) string {
	var all []string
	for range 1 + r.IntN(most) {
		if text := one(); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ",")
}

// rule returns a random rule; empty: none.
func rule(r *rand.Rand, s *sample) string {
	if r.IntN(10) == 0 {
		return ""
	}
	frequency := pick(r, "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
	parts := []string{"FREQ=" + frequency}
	if n := 1 + r.IntN(4); n > 1 {
		parts = append(parts, fmt.Sprintf("INTERVAL=%d", n))
	}
	by := len(parts)
	numbered := frequency == "MONTHLY" || frequency == "YEARLY"
	if r.IntN(2) == 0 {
		parts = append(parts, "BYDAY="+some(r, 3, func() string {
			if numbered && r.IntN(2) == 0 {
				return fmt.Sprint(pick(r, 1, 2, 3, 4, 5, -1, -2)) + pick(r, weekdays...)
			}
			return pick(r, weekdays...)
		}))
	}
	if frequency != "WEEKLY" && r.IntN(3) == 0 {
		parts = append(parts, "BYMONTHDAY="+some(r, 4, func() string { return fmt.Sprint(pick(r, 1, 2, 13, 15, 28, 29, 30, 31, -1, -2, -5)) }))
	}
	if r.IntN(4) == 0 {
		parts = append(parts, "BYMONTH="+some(r, 3, func() string { return fmt.Sprint(1 + r.IntN(12)) }))
	}
	if numbered && len(parts) > by && r.IntN(3) == 0 {
		parts = append(parts, "BYSETPOS="+some(r, 2, func() string { return fmt.Sprint(pick(r, 1, 2, 3, -1, -2)) }))
	}
	if r.IntN(3) == 0 {
		parts = append(parts, "WKST="+pick(r, "MO", "SU", "WE"))
	}
	switch r.IntN(3) {
	case 0:
		parts = append(parts, fmt.Sprintf("COUNT=%d", 1+r.IntN(60)))
	case 1:
		until := s.start.AddDate(0, 0, r.IntN(900))
		switch s.zone {
		case "":
			parts = append(parts, "UNTIL="+until.Format(dateForm))
		default:
			parts = append(parts, "UNTIL="+instantOf(until, s.location()).UTC().Format(clockForm)+"Z")
		}
	}
	return strings.Join(parts, ";")
}

// zones are the time zones of the samples, because ical.js takes them from the file.
var zones = map[string]string{
	"Europe/Berlin": "BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:DAYLIGHT\r\nDTSTART:19810329T020000\r\nTZOFFSETFROM:+0100\r\n" +
		"TZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\nBEGIN:STANDARD\r\nDTSTART:19961027T030000\r\n" +
		"TZOFFSETFROM:+0200\r\nTZOFFSETTO:+0100\r\nRRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
	"America/New_York": "BEGIN:VTIMEZONE\r\nTZID:America/New_York\r\nBEGIN:DAYLIGHT\r\nDTSTART:20070311T020000\r\nTZOFFSETFROM:-0500\r\n" +
		"TZOFFSETTO:-0400\r\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\r\nEND:DAYLIGHT\r\nBEGIN:STANDARD\r\nDTSTART:20071104T020000\r\n" +
		"TZOFFSETFROM:-0400\r\nTZOFFSETTO:-0500\r\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1SU\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n",
}
