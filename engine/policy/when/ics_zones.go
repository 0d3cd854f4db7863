package when

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/teambition/rrule-go"

	"flyball.dev/flyball/engine/timeline"
)

// maxZones bounds the time zones of a file, because package timeline keeps a table of each zone.
const maxZones = 32

// zoneSteps are the steps of a look for a zone in the zone database. A look through the components of the calendar comes on top.
const zoneSteps = 100

// zone returns the time zone of a TZID: the IANA zone of the same name, the zone of the file's VTIMEZONE, or the zone of a name of
// Windows.
func (f *file) zone(id string) (*time.Location, error) {
	if known, ok := f.zones[id]; ok {
		return known.loc, known.err
	}
	if len(f.zones) == maxZones {
		return nil, fmt.Errorf("the file uses more than %d time zones", maxZones)
	}
	if !f.budget.Spend(zoneSteps + len(f.calendar.children)) {
		return nil, tooLong(f.line)
	}
	loc, err := timeline.LoadZone(strings.TrimPrefix(id, "/"))
	if err != nil {
		loc, err = f.described(id)
	}
	if err != nil {
		if name := windowsZone(unescape.Replace(id)); name != "" {
			loc, err = timeline.LoadZone(name)
		}
	}
	f.zones[id] = loaded{loc, err}
	return loc, err
}

type loaded struct {
	loc *time.Location
	err error
}

func (f *file) described(id string) (*time.Location, error) {
	for _, c := range f.calendar.children {
		if c.name != "VTIMEZONE" || unescape.Replace(c.text("TZID")) != unescape.Replace(id) {
			continue
		}
		if name := c.text("X-LIC-LOCATION"); name != "" {
			if loc, err := timeline.LoadZone(name); err == nil {
				return loc, nil
			}
		}
		rules, changes, err := f.clock(c)
		switch {
		case err != nil:
			return nil, fmt.Errorf("the time zone %.64q of line %d: %w", id, c.line, err)
		case rules == "":
			return listedZone(id, changes)
		}
		return locationOf(id, rules)
	}
	return nil, fmt.Errorf("the time zone %.64q is no IANA name, and the file has no VTIMEZONE of that name", id)
}

// clock returns the rules of a VTIMEZONE in the form of the variable TZ, or its listed clock changes. An unreadable part may be the
// summer time.
func (f *file) clock(zone *component) (rules string, changes []change, err error) {
	for _, part := range slices.Concat([]*component{zone}, zone.children) {
		if part.broken != nil {
			return "", nil, part.broken
		}
	}
	changes, err = changesOf(zone, f.budget)
	if err == nil && len(changes) > 0 {
		return "", changes, nil
	}
	if err != nil && len(zone.children) > 1 {
		return "", nil, err
	}
	rules, err = posix(zone)
	return rules, nil, err
}

//go:generate go run ./generate

var offsetForm = regexp.MustCompile(`^\((?:UTC|GMT)[^)]*\)\s*`)

// windowsZone returns the IANA name of a zone of Windows: of a name such as W. Europe Standard Time, or of a displayed name such
// as (UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna. Empty: there is none.
func windowsZone(id string) string {
	if cities := offsetForm.ReplaceAllString(id, ""); cities != id {
		return displayedZones[cities]
	}
	return windowsZones[id]
}

// posix returns the newest rules of a VTIMEZONE in the form of the variable TZ (POSIX, section 8.3).
func posix(c *component) (string, error) {
	var standard, daylight *component
	for _, rule := range c.children {
		switch {
		case rule.name == "STANDARD" && (standard == nil || rule.text("DTSTART") > standard.text("DTSTART")):
			standard = rule
		case rule.name == "DAYLIGHT" && (daylight == nil || rule.text("DTSTART") > daylight.text("DTSTART")):
			daylight = rule
		}
	}
	if standard == nil {
		return "", fmt.Errorf("it has no STANDARD")
	}
	text, err := offsetOf("S", standard)
	if err == nil && daylight != nil && standard.text("RRULE") != "" && daylight.text("RDATE") != "" {
		return "", fmt.Errorf("it has a rule for STANDARD and a list for DAYLIGHT")
	}
	if err != nil || daylight == nil || daylight.text("RRULE") == "" || strings.Contains(daylight.text("RRULE"), "UNTIL") {
		return text, err
	}
	summer, err := offsetOf("D", daylight)
	if err != nil {
		return "", err
	}
	begins, err := changeOf(daylight)
	if err != nil {
		return "", err
	}
	ends, err := changeOf(standard)
	return text + summer + "," + begins + "," + ends, err
}

// offsetOf returns a zone name with its offset. As in POSIX, offsets west of UTC are positive.
func offsetOf(name string, rule *component) (string, error) {
	text := rule.text("TZOFFSETTO")
	hours, err := strconv.Atoi(text[min(1, len(text)):min(3, len(text))])
	minutes, err2 := strconv.Atoi(text[min(3, len(text)):min(5, len(text))])
	if err != nil || err2 != nil || hours > 24 || minutes > 59 || text[0] != '+' && text[0] != '-' {
		return "", fmt.Errorf("TZOFFSETTO is %.16q: write one such as +0100", text)
	}
	sign := "-"
	if text[0] == '-' {
		sign = "+"
	}
	return fmt.Sprintf("<%s%s>%s%d:%02d", name, "TZ", sign, hours, minutes), nil
}

// changeOf returns the time of a clock change in POSIX form, such as M3.5.0/2:00:00 for the last Sunday of March.
func changeOf(rule *component) (string, error) {
	const last = 5
	opt, err := rrule.StrToROption(rule.text("RRULE"))
	at, timeErr := time.Parse(clockForm, rule.text("DTSTART"))
	if err != nil || timeErr != nil || opt.Freq != rrule.YEARLY || len(opt.Bymonth) != 1 || len(opt.Byweekday) != 1 ||
		len(opt.Bymonthday) > 0 {
		return "", fmt.Errorf("its rule %.64q is not of the form FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", rule.text("RRULE"))
	}
	week := opt.Byweekday[0].N()
	if week == -1 {
		week = last
	}
	if week < 1 || week > last {
		return "", fmt.Errorf("its rule %.64q has a week other than 1 to 5 and -1", rule.text("RRULE"))
	}
	return fmt.Sprintf("M%d.%d.%d/%d:%02d:%02d", opt.Bymonth[0], week, (opt.Byweekday[0].Day()+1)%7, at.Hour(), at.Minute(), at.Second()), nil
}

// made has the locations that exist already, by their rules. They are shared, because package timeline keeps a table of
// each location.
var made sync.Map

// locationOf returns a location that follows some rules. It is made from a zone file (RFC 8536) that lists no changes.
func locationOf(id, rules string) (*time.Location, error) {
	if known, ok := made.Load(rules); ok {
		return known.(*time.Location), nil
	}
	seconds, err := secondsEast(rules)
	if err != nil {
		return nil, err
	}
	block := []byte("TZif2" + strings.Repeat("\x00", 15))
	for _, count := range []uint32{0, 0, 0, 0, 1, 1} { // one type of local time, and one byte of zone names
		block = binary.BigEndian.AppendUint32(block, count)
	}
	block = binary.BigEndian.AppendUint32(block, uint32(seconds))
	block = append(block, 0, 0, 0)
	data := append(append(block[:len(block):len(block)], block...), "\n"+rules+"\n"...)
	loc, err := time.LoadLocationFromTZData(id, data)
	if err != nil {
		return nil, fmt.Errorf("the time zone %.64q cannot be made: %w", id, err)
	}
	shared, _ := made.LoadOrStore(rules, loc)
	return shared.(*time.Location), nil
}

// secondsEast returns the offset of standard time in seconds east of UTC.
func secondsEast(rules string) (int32, error) {
	var sign byte
	var hours, minutes int32
	if _, err := fmt.Sscanf(rules, "<STZ>%c%d:%d", &sign, &hours, &minutes); err != nil {
		return 0, fmt.Errorf("read the offset of %q: %w", rules, err)
	}
	seconds := (hours*60 + minutes) * 60
	if sign == '+' {
		return -seconds, nil
	}
	return seconds, nil
}
