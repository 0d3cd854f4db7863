package page

import (
	"fmt"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// mark sets the days and the clock changes of the week.
func (w *Week) mark() {
	for i := 0; ; i++ {
		day := timeline.Midnight(w.From, i, w.zone)
		if !day.Before(w.To) {
			break
		}
		if !day.Before(w.From) {
			w.Days = append(w.Days, day)
		}
	}
	for at := w.From.In(w.zone); ; {
		_, next := at.ZoneBounds()
		if next.IsZero() || !next.Before(w.To) {
			return
		}
		_, before := next.Add(-time.Second).Zone()
		_, after := next.Zone()
		if before != after {
			w.Clocks = append(w.Clocks, clock(next, time.Duration(after-before)*time.Second))
		}
		at = next
	}
}

// clock returns a change of the clocks at an instant, by the given difference.
func clock(at time.Time, by time.Duration) Clock {
	c := Clock{At: at, From: at, To: at}
	zone := at.Location()
	_, before := at.Add(-time.Second).Zone()
	old := at.In(time.FixedZone("", before))
	if by > 0 {
		c.Text = fmt.Sprintf("the clock goes from %s to %s: the time between is skipped", old.Format("15:04"), at.Format("15:04"))
		return c
	}
	c.From, c.To = at.Add(by), at.Add(-by)
	c.Text = fmt.Sprintf("the clock goes back from %s to %s: the time from %s to %s comes twice", old.Format("15:04"),
		at.In(zone).Format("15:04"),
		at.In(zone).Format("15:04"), old.Format("15:04"))
	return c
}
