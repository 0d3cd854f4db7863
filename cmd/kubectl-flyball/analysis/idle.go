package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
)

// IdleRules are the rules for idle hours and useful windows.
type IdleRules struct {
	// Below is the demand in cores up to which a target counts as unused.
	Below float64
	// Tolerate is the time of use per week that the windows may contain on the teaching days.
	Tolerate time.Duration
	// Lead is the time by which a window ends before the first use. Shortest is the length of the shortest window.
	Lead, Shortest time.Duration
}

const (
	// busy is the quantile of the demand that counts as full use. faint is the share of full use up to which the target is
	// unused.
	busy, faint = 0.99, 0.05
)

// IdleBelow returns the demand up to which a target is unused. It is a twentieth of most, the demand in the busiest
// minutes of a part.
func (h History) IdleBelow(p Part) (below, most float64) {
	var known []float32
	for minute := range p.minutes {
		if c := h.at(minute); c >= 0 {
			known = append(known, c)
		}
	}
	if len(known) == 0 {
		return 0, 0
	}
	slices.Sort(known)
	most = float64(known[int(busy*float64(len(known)-1))])
	return faint * most, most
}

// hour has the data of an hour of the week.
type hour struct {
	// seen is the number of occurrences of the hour with enough data. used is the number of used minutes in all occurrences.
	// peaks has the largest demand of each occurrence in seen.
	seen, used int
	peaks      []float64
}

// slack is the largest number of unknown minutes in an hour that counts as seen.
const slack = 10

// week adds up a part by the local hours of a week, from Monday. An hour that a clock change repeats has 120 minutes.
func (h History) week(p Part, below float64) (week [hoursOfWeek]hour) {
	at, unknown, peak := -1, 0, -1.0
	end := func() {
		if at >= 0 && unknown <= slack {
			week[at].seen++
			week[at].peaks = append(week[at].peaks, peak)
		}
	}
	for minute, local := range p.minutes {
		if now := (int(local.Weekday())+daysOfWeek-1)%daysOfWeek*24 + local.Hour(); now != at {
			end()
			at, unknown, peak = now, 0, -1
		}
		c := float64(h.at(minute))
		switch {
		case c < 0:
			unknown++
		case c > below:
			week[at].used++
		}
		peak = max(peak, c)
	}
	end()
	return week
}

// evidence returns how often an hour of the week must be seen in a part to be used.
func (p Part) evidence() int { return max(min(p.Days()/daysOfWeek, 2), 1) }

// IdleWindows returns the windows without use on the teaching days.
func (h History) IdleWindows(teach Part, r IdleRules) ([]v1alpha1.Window, error) {
	week := h.week(teach, r.Below)
	var order []int
	for i := range week {
		if week[i].seen >= teach.evidence() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(week[a].used, week[b].used) })
	var idle [hoursOfWeek]bool
	used := 0
	for _, i := range order {
		if used += week[i].used; float64(used) > r.Tolerate.Minutes()*teach.Weeks() {
			break
		}
		idle[i] = true
	}
	windows := spell(runs(idle, int(r.Lead/time.Minute), int(r.Shortest/time.Minute)))
	if len(windows) == 0 {
		low := lowest(week)
		return nil,
			refuse("there is no window of %s in which nobody used the target (above %s) on the days %s. The quietest hour of the week is %s, "+
				"with %d minutes of use in %d weeks. "+
				"See which demand the target has while nobody uses it, and give that as --idle-below", spanText(r.Shortest), Cores(r.Below), teach,
				hourText(low), week[low].used, int(teach.Weeks()))
	}
	return windows, nil
}

// lowest returns the seen hour of the week with the fewest used minutes.
func lowest(week [hoursOfWeek]hour) int {
	best := -1
	for i := range week {
		if week[i].seen > 0 && (best < 0 || week[i].used < week[best].used) {
			best = i
		}
	}
	return max(best, 0)
}

// dayNames are the weekdays in the spelling of windows.
var dayNames = []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

func hourText(i int) string { return fmt.Sprintf("%s %02d:00", dayNames[i/24], i%24) }

func spanText(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// Cores formats a demand.
func Cores(c float64) string {
	if c >= 10 {
		return strconv.FormatFloat(math.Round(c*10)/10, 'f', -1, 64)
	}
	return fmt.Sprintf("%.0fm", c*1000)
}

// run is a range of minutes of the week. It begins within the week, and may end in the next week.
type run struct{ from, to int }

// runs returns the ranges of idle hours. Each range ends earlier by lead, and ranges that are too short are left out.
// If the whole week is idle, the range has no end to shorten.
func runs(idle [hoursOfWeek]bool, lead, shortest int) []run {
	first := slices.Index(idle[:], false)
	if first < 0 {
		return []run{{0, minutesOfWeek}}
	}
	var all []run
	for i := first; i < first+hoursOfWeek; {
		if !idle[i%hoursOfWeek] {
			i++
			continue
		}
		from := i
		for idle[i%hoursOfWeek] {
			i++
		}
		if from, to := from*minutesOfHour, i*minutesOfHour-lead; to-from >= max(shortest, 1) {
			all = append(all, run{from % minutesOfWeek, from%minutesOfWeek + to - from})
		}
	}
	return all
}

// piece is a window of one day: it begins at a minute of the day, and ends on that day or on the next.
type piece struct{ from, to int }

// spell returns runs as windows. A run of more than a day is cut at midnights; equal pieces become one window of
// several days.
func spell(all []run) []v1alpha1.Window {
	days := map[piece][]int{}
	for _, r := range all {
		for at := r.from; at < r.to; {
			midnight := (at/minutesOfDay + 1) * minutesOfDay
			end := min(r.to, midnight)
			if at%minutesOfDay != 0 && r.to-at < minutesOfDay {
				end = r.to
			}
			start := at / minutesOfDay * minutesOfDay
			p := piece{at - start, end - start}
			days[p] = append(days[p], at/minutesOfDay%daysOfWeek)
			at = end
		}
	}
	var pieces []piece
	for p := range days {
		slices.Sort(days[p])
		pieces = append(pieces, p)
	}
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(days[a][0], days[b][0]), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var windows []v1alpha1.Window
	for _, p := range pieces {
		w := v1alpha1.Window{From: clockText(p.from), To: clockText(p.to)}
		if len(days[p]) < daysOfWeek {
			for _, d := range days[p] {
				w.Days = append(w.Days, dayNames[d])
			}
		}
		windows = append(windows, w)
	}
	return windows
}

// clockText formats a minute of a day, or of the next day.
func clockText(minute int) string {
	if minute > minutesOfDay {
		minute -= minutesOfDay
	}
	return fmt.Sprintf("%02d:%02d", minute/minutesOfHour, minute%minutesOfHour)
}
