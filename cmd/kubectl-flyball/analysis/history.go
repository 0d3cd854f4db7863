package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// Refusal is the reason why a history proposes nothing, with the remedy.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// Reading is the mean demand of all pods of a target, in cores, from an instant until the next reading.
type Reading struct {
	At    time.Time
	Cores float64
}

// History is the demand of a target by the minute.
type History struct {
	// First is the minute of Unix time of the first value. Negative Cores are unknown.
	First int64
	Cores []float32
}

const (
	minutesOfHour = 60
	minutesOfDay  = 24 * minutesOfHour
	daysOfWeek    = 7
	hoursOfWeek   = 24 * daysOfWeek
	minutesOfWeek = daysOfWeek * minutesOfDay

	// held is the longest time in minutes for which a reading holds. If the usual distance of readings is longer, that
	// distance is used.
	held = 10
	// longest is the largest span of a history in minutes: three years.
	longest = 3 * 366 * minutesOfDay
)

// NewHistory returns the history of readings in any order. Readings of one minute are averaged. A reading holds until
// the next reading, but not for longer than ten minutes or the usual distance of readings, whichever is longer. Later
// minutes are unknown.
func NewHistory(readings []Reading) (History, error) {
	if len(readings) == 0 {
		return History{}, refuse("the history is empty")
	}
	readings = slices.Clone(readings)
	slices.SortStableFunc(readings, func(a, b Reading) int { return a.At.Compare(b.At) })
	minute := func(r Reading) int64 { return r.At.Unix() / minutesOfHour }
	first, last := minute(readings[0]), minute(readings[len(readings)-1])
	if last-first > longest {
		return History{}, refuse("the history spans from %s to %s, more than three years: some of its instants are wrong", day(readings[0].At),
			day(readings[len(readings)-1].At))
	}
	usual := usualGap(readings)
	h := History{First: first, Cores: make([]float32, last-first+usual)}
	for i := range h.Cores {
		h.Cores[i] = -1
	}
	for i := 0; i < len(readings); {
		from, n, sum := minute(readings[i])-first, 0, 0.0
		for ; i < len(readings) && minute(readings[i])-first == from; i++ {
			sum += readings[i].Cores
			n++
		}
		to := int64(len(h.Cores))
		if i < len(readings) {
			to = minute(readings[i]) - first
		}
		for at := from; at < min(to, from+max(usual, held)); at++ {
			h.Cores[at] = float32(sum / float64(n))
		}
	}
	return h, nil
}

// usualGap returns the usual distance of readings in minutes, at least one.
func usualGap(readings []Reading) int64 {
	var gaps []int64
	for i := range readings[1:] {
		gaps = append(gaps, int64(readings[i+1].At.Sub(readings[i].At)/time.Minute))
	}
	if len(gaps) == 0 {
		return 1
	}
	slices.Sort(gaps)
	return max(gaps[len(gaps)/2], 1)
}

// at returns the demand in the minute of an instant; negative: unknown.
func (h History) at(minute int64) float32 {
	if i := minute - h.First; i >= 0 && i < int64(len(h.Cores)) {
		return h.Cores[i]
	}
	return -1
}

// Part is a range of whole local days. To is the midnight at its end.
type Part struct{ From, To time.Time }

// Days returns the number of days.
func (p Part) Days() int {
	n := 0
	for dayAfter(p.From, n).Before(p.To) {
		n++
	}
	return n
}

// Weeks returns the number of weeks.
func (p Part) Weeks() float64 { return float64(p.Days()) / daysOfWeek }

// String returns the first and the last day.
func (p Part) String() string {
	return fmt.Sprintf("%s to %s", day(p.From), day(dayAfter(p.To, -1)))
}

// dayAfter returns the begin of the day that is a number of days after the day of an instant.
func dayAfter(t time.Time, days int) time.Time { return timeline.Midnight(t, days, t.Location()) }

func day(t time.Time) string { return t.Format(time.DateOnly) }

// minutes yields the minutes of Unix time of a part, with the local time of each.
func (p Part) minutes(yield func(minute int64, local time.Time) bool) {
	zone := p.From.Location()
	for at := p.From.Unix() / minutesOfHour; at < p.To.Unix()/minutesOfHour; at++ {
		if !yield(at, time.Unix(at*minutesOfHour, 0).In(zone)) {
			return
		}
	}
}

// leastTeach is the smallest number of days to learn from. leastJudge is the smallest number of days to try the result
// on. askedJudge replaces leastJudge if the caller sets the number of teaching days.
const leastTeach, leastJudge, askedJudge = 14, 7, 2

// Split returns the whole local days to learn from, and the remaining days. learn is the number of teaching days; 0:
// two thirds of all days, but at least two weeks. It returns an error if the history is too short, or if more than a
// tenth of it is unknown.
func (h History) Split(zone *time.Location, learn int) (teach, judge Part, err error) {
	first := time.Unix(h.First*minutesOfHour, 0).In(zone)
	from, to := dayAfter(first, 0), dayAfter(time.Unix((h.First+int64(len(h.Cores)))*minutesOfHour, 0).In(zone), 0)
	if from.Before(first) {
		from = dayAfter(first, 1)
	}
	n := Part{from, to}.Days()
	need, rest, otherwise := learn, askedJudge, ""
	if learn == 0 {
		need, rest, otherwise = leastTeach, leastJudge, "; with --learn 7d a single week teaches"
		learn = max(n*2/3, leastTeach)
	}
	if n < need+rest {
		return teach, judge, refuse("the history has %d whole days, and %d are needed: %d to learn from and %d to try the result on%s", n,
			need+rest, need, rest, otherwise)
	}
	learn = min(learn, n-rest)
	border := dayAfter(from, learn)
	teach, judge = Part{from, border}, Part{border, to}
	return teach, judge, errorOf(h.gaps(teach), h.gaps(judge))
}

// errorOf returns the first error.
func errorOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	// mostUnknown is the largest unknown share of a part.
	mostUnknown = 0.1
	// namedGaps is the number of gaps in a message.
	namedGaps = 3
)

// gaps returns an error for a part with too much unknown demand.
func (h History) gaps(p Part) error {
	type gap struct{ from, to time.Time }
	var all []gap
	unknown, total := 0, 0
	for minute, local := range p.minutes {
		total++
		if h.at(minute) >= 0 {
			continue
		}
		unknown++
		if n := len(all); n > 0 && all[n-1].to.Equal(local) {
			all[n-1].to = local.Add(time.Minute)
		} else {
			all = append(all, gap{local, local.Add(time.Minute)})
		}
	}
	if float64(unknown) <= mostUnknown*float64(total) {
		return nil
	}
	slices.SortStableFunc(all, func(a, b gap) int { return cmp.Compare(b.to.Sub(b.from), a.to.Sub(a.from)) })
	var named []string
	for _, g := range all[:min(len(all), namedGaps)] {
		named = append(named, fmt.Sprintf("%s to %s", g.from.Format("2006-01-02 15:04"), g.to.Format("2006-01-02 15:04")))
	}
	return refuse("of the days %s, %.0f %% are not known, and nobody can say whether the target was used then; the longest of %d gaps: "+
		"%s. A target that already sleeps has no usage while it does",
		p, 100*float64(unknown)/float64(total), len(all), strings.Join(named, ", "))
}
