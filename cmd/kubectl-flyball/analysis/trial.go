package analysis

import (
	"fmt"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// Trial is the result of windows of sleep on some days.
type Trial struct {
	// Asleep is the number of minutes in which the target would have slept. Met is the number of these minutes in which the
	// target was used. Unknown is the number of these minutes without data.
	Asleep, Met, Unknown int
	// Used is the number of all minutes in which the target was used. Most is the largest demand, in cores, while it would
	// have slept.
	Used int
	Most float64
	// Days has the days on which a user would have met a sleeping target.
	Days []MetDay
}

// MetDay is a day on which a user would have met a sleeping target.
type MetDay struct {
	Date    string `json:"date"`
	Minutes int    `json:"minutes"`
}

// Try tries windows of sleep on the days of a part.
func (h History) Try(windows []v1alpha1.Window, p Part, below float64) (Trial, error) {
	asleep, err := compiled(windows, p.From.Location())
	if err != nil {
		return Trial{}, err
	}
	var t Trial
	on, until := false, p.From
	for minute, local := range p.minutes {
		if !until.IsZero() && !local.Before(until) {
			state := asleep.At(local)
			on, until = state.Active, state.Until
		}
		demand := float64(h.at(minute))
		if demand > below {
			t.Used++
		}
		if !on {
			continue
		}
		t.Asleep++
		t.Most = max(t.Most, demand)
		switch {
		case demand < 0:
			t.Unknown++
		case demand > below:
			t.meet(day(local))
		}
	}
	return t, nil
}

// meet counts a minute in which a user would have met a sleeping target.
func (t *Trial) meet(date string) {
	t.Met++
	if n := len(t.Days); n > 0 && t.Days[n-1].Date == date {
		t.Days[n-1].Minutes++
		return
	}
	t.Days = append(t.Days, MetDay{date, 1})
}

// compiled returns the timeline of windows.
func compiled(windows []v1alpha1.Window, zone *time.Location) (timeline.Timeline, error) {
	var all []timeline.Timeline
	for _, w := range windows {
		one, errs := timeline.ParseWindow(w, zone, nil)
		if len(errs) > 0 {
			return timeline.Timeline{}, fmt.Errorf("read the window %s to %s: %w", w.From, w.To, errs.ToAggregate())
		}
		all = append(all, one)
	}
	return timeline.Union(all...), nil
}

// HoursAWeek returns the hours a week in which the target would have slept on the days of a part.
func (t Trial) HoursAWeek(p Part) float64 { return float64(t.Asleep) / minutesOfHour / p.Weeks() }
