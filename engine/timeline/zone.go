package timeline

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that zones are known on machines and in images that ship no zone database

	"flyball.dev/flyball/engine/timeline/recur"
)

const (
	minuteSeconds = recur.MinuteSeconds
	daySeconds    = recur.DaySeconds
	weekSeconds   = 7 * daySeconds

	// maxOffset is larger than the distance of any zone from UTC. The largest distance in use is 15 h 13 min.
	maxOffset = 26 * 60 * minuteSeconds
)

// LoadZone returns the IANA time zone of that name; the empty name is UTC. Unknown names are errors, and so are names
// such as "Local" that depend on the machine. A zone is loaded once and shared: windows of the same *time.Location are
// merged on the clock face.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	machineName := name == "Local" || name == "localtime" || name == "posixrules" ||
		strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
	if machineName {
		return nil, fmt.Errorf("time zone %q depends on the machine: use an IANA name such as Europe/Skopje", name)
	}
	if loc, ok := locations.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if path.Clean(name) != name { // one of many spellings that a machine's own database may accept
		return nil, fmt.Errorf("time zone %q is no IANA name, such as Europe/Skopje", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone %q (use an IANA name such as Europe/Skopje): %w", name, err)
	}
	shared, _ := locations.LoadOrStore(name, loc)
	return shared.(*time.Location), nil
}

// locations are the zones loaded so far, by name. Without it, package time would load a zone anew for each call, at
// kilobytes each. The zone database bounds its size.
var locations sync.Map

// zone maps between instants and wall-clock readings. A reading is the number of seconds that UTC would need to show
// the same date and time.
type zone struct {
	loc *time.Location
	// starts are the instants when the offset from UTC changes, ascending; the first one is always. offsets has the
	// offset from each start on.
	starts  []int64
	offsets []int32
	// repeats is true if the clock still changes after steady. Its changes then repeat with the Gregorian cycle for
	// ever.
	repeats bool
}

// zones are the tables of the zones in use, by location. Without a table, package time evaluates the yearly rules of a
// zone for each question, which takes a microsecond. A table takes 13 kB.
var zones sync.Map

func zoneOf(loc *time.Location) *zone {
	if known, ok := zones.Load(loc); ok {
		return known.(*zone)
	}
	shared, _ := zones.LoadOrStore(loc, newZone(loc))
	return shared.(*zone)
}

const (
	// tableFrom is the begin of the tables, 1950-01-01T00:00:00Z. It is before 1970, because a window that is open in
	// 1970 may have opened ten years before.
	tableFrom = int64(-631152000)
	// tableTo is the end of the tables: a Gregorian cycle after steady, and then the time until the first change of the
	// clock.
	tableTo = steady + gregorianSeconds + 2*366*daySeconds
)

func newZone(loc *time.Location) *zone {
	z := &zone{loc: loc}
	for at := tableFrom; at < tableTo; {
		offset, end := periodIn(loc, at)
		if n := len(z.offsets); n == 0 || z.offsets[n-1] != offset {
			z.starts, z.offsets = append(z.starts, at), append(z.offsets, offset)
		}
		at = end
	}
	z.repeats = z.starts[len(z.starts)-1] >= steady+gregorianSeconds
	z.starts[0] = always
	z.starts, z.offsets = slices.Clip(z.starts), slices.Clip(z.offsets)
	return z
}

// periodIn returns the offset from UTC in force at the instant, and the end of the time for which it stays in force.
// The offset may stay the same after end, but does not change before.
func periodIn(loc *time.Location, at int64) (offset int32, end int64) {
	t := time.Unix(at, 0).In(loc)
	_, seconds := t.Zone()
	_, bound := t.ZoneBounds()
	if bound.IsZero() {
		return int32(seconds), forever
	}
	end = bound.Unix()
	if end <= at {
		// In a zone with yearly rules, package time ends the last period of a year after 365 days. In a leap year that
		// is too early by one day.
		end += daySeconds
	}
	return int32(seconds), end
}

// period returns the offset from UTC in force at the instant. start is the instant from which it is in force, and end
// the instant until which it is.
func (z *zone) period(at int64) (offset, start, end int64) {
	shift := int64(0)
	if z.repeats && at >= steady+gregorianSeconds {
		shift = recur.FloorDiv(at-steady, gregorianSeconds) * gregorianSeconds
	}
	i, found := slices.BinarySearch(z.starts, at-shift)
	if !found {
		i--
	}
	end = forever
	if i+1 < len(z.starts) {
		end = z.starts[i+1] + shift
	}
	return int64(z.offsets[i]), z.starts[i] + shift, end
}

// Midnight returns the instant at which a day begins in a time zone. The day is the given number of days after the day
// of an instant. If the clock skips 00:00 of the day, the day begins later; if the clock shows 00:00 twice, it begins at
// the first.
func Midnight(at time.Time, days int, loc *time.Location) time.Time {
	year, month, day := at.In(loc).Date()
	first, _ := zoneOf(loc).instant(time.Date(year, month, day+days, 0, 0, 0, 0, time.UTC).Unix())
	return time.Unix(first, 0).In(loc)
}
