package timeline

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that zones are known on machines and in images that ship no zone database
)

const (
	minuteSeconds = 60
	daySeconds    = 24 * 60 * minuteSeconds
	weekSeconds   = 7 * daySeconds

	// maxOffset bounds a zone's distance from UTC. The widest in use is 15 h 13 min.
	maxOffset = 26 * 60 * minuteSeconds
)

// LoadZone returns the IANA time zone of that name; the empty name is UTC. Names that mean something else on every
// machine ("Local" and its like) and unknown names are errors. A zone is loaded once and shared: windows of the same
// *time.Location are merged on the clock face.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	machineName := name == "Local" || name == "localtime" || name == "posixrules" ||
		strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
	if machineName {
		return nil, fmt.Errorf("time zone %q depends on the machine: use an IANA name such as Europe/Skopje", name)
	}
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("load time zone %q (use an IANA name such as Europe/Skopje): %w", name, err)
	}
	if path.Clean(name) != name {
		return loc, nil // one of endless other spellings, which a machine's own database may accept
	}
	shared, _ := zones.LoadOrStore(name, loc)
	return shared.(*time.Location), nil
}

// zones are the zones loaded so far, by name. Package time loads a zone again each time, and one takes kilobytes. There are no more
// than the database has.
var zones sync.Map

// zone maps between instants and wall-clock readings. A reading is the number of seconds that UTC would need to show
// the same date and time.
type zone struct{ loc *time.Location }

// period returns the offset from UTC in force at the instant, and an instant after it until which it stays in force.
// The offset may go on after end, but not change before.
func (z zone) period(at int64) (offset, end int64) {
	if z.loc == time.UTC {
		return 0, forever
	}
	t := time.Unix(at, 0).In(z.loc)
	_, seconds := t.Zone()
	_, bound := t.ZoneBounds()
	if bound.IsZero() {
		return int64(seconds), forever
	}
	end = bound.Unix()
	if end <= at {
		// Where a zone follows yearly rules, package time ends the last period of a year after 365 days, and so too
		// early for the last day of a leap year.
		end += daySeconds
	}
	return int64(seconds), end
}

// begin returns the start of a stretch that holds the instant and has one offset. The stretch may have begun earlier,
// with the same offset.
func (z zone) begin(at int64) int64 {
	if z.loc == time.UTC {
		return always
	}
	bound, _ := time.Unix(at, 0).In(z.loc).ZoneBounds()
	if bound.IsZero() {
		return always
	}
	// In the year in which a zone's yearly rules come into force, package time may name a start from before that.
	start := bound.Unix()
	for {
		_, end := z.period(start)
		if end > at {
			return start
		}
		start = end
	}
}

// high returns the highest reading that the zone's clock has shown up to and including the instant. It is the wall
// clock itself, except that it stands still while a fall-back repeats readings; so it never runs backwards, and an edge
// at reading w has happened exactly if high >= w.
func (z zone) high(at int64) int64 {
	from := at - 2*maxOffset // a reading from before cannot exceed today's
	reading := always
	for {
		offset, end := z.period(from)
		reading = max(reading, min(end-1, at)+offset)
		if end > at {
			return reading
		}
		from = end
	}
}

// instant returns the first instant at which the zone's clock shows the reading or a later one. It is the inverse of
// high. exact is false if the clock never shows the reading because a gap skips it.
func (z zone) instant(reading int64) (at int64, exact bool) {
	from := reading - maxOffset // too early to show the reading in any zone
	for {
		offset, end := z.period(from)
		at = max(reading-offset, from)
		if at < end {
			return at, at == reading-offset
		}
		from = end
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
