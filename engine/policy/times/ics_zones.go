package times

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// maxZones bounds the time zones of a file, because package timeline keeps a table of each zone.
const maxZones = 32

// zoneSteps are the steps of a look for a zone in the zone database. A look through the components of the calendar comes on top.
const zoneSteps = 100

// zone returns the time zone of a TZID: the IANA zone of a region, the zone of the file's VTIMEZONE, another IANA zone such as CET, or the
// zone of a name of Windows. A region comes before its VTIMEZONE, because Outlook writes rules that are years old.
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
	loc, err := regionZone(strings.TrimPrefix(id, "/"))
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
		if loc, err := regionZone(c.text("X-LIC-LOCATION")); err == nil {
			return loc, nil
		}
		changes, err := f.clock(c)
		if err != nil {
			return nil, fmt.Errorf("the time zone %.64q of line %d: %w", id, c.line, err)
		}
		return listedZone(id, changes)
	}
	loc, err := timeline.LoadZone(id)
	if err != nil {
		return nil, fmt.Errorf("the time zone %.64q is no IANA name, and the file has no VTIMEZONE of that name", id)
	}
	return loc, nil
}

// clock returns the clock changes of a VTIMEZONE. An unreadable part may be the summer time.
func (f *file) clock(zone *component) ([]change, error) {
	for _, part := range slices.Concat([]*component{zone}, zone.children) {
		if part.broken != nil {
			return nil, part.broken
		}
	}
	return changesOf(zone, f.budget)
}

// regionZone returns the IANA zone of a region or city, such as Europe/Berlin. Names without a region may have another meaning in a file:
// many files give EST summer time in its VTIMEZONE, and the database has none.
func regionZone(name string) (*time.Location, error) {
	if !strings.Contains(name, "/") {
		return nil, fmt.Errorf("the time zone %.64q is no region", name)
	}
	return timeline.LoadZone(name)
}

//go:generate go run ../../../test/zones

var offsetForm = regexp.MustCompile(`^\((?:UTC|GMT)[^)]*\)\s*`)

// windowsZone returns the IANA name of a zone of Windows: of a name such as W. Europe Standard Time, or of a displayed name such
// as (UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna. Empty: there is none.
func windowsZone(id string) string {
	if cities := offsetForm.ReplaceAllString(id, ""); cities != id {
		return displayedZones[cities]
	}
	return windowsZones[id]
}
