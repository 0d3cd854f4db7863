package timeline_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// worldKey identifies the world of a zone in a year.
type worldKey struct {
	zone string
	year int
}

// worldCache holds the worlds that exist already (worldKey -> func() *world), because making a world takes longer than
// most comparisons.
var worldCache sync.Map

// worldOf returns the year with two months before and after it.
func worldOf(t fataler, zone string, year int) *world {
	t.Helper()
	loc := mustZone(t, zone)
	build, _ := worldCache.LoadOrStore(worldKey{zone, year}, sync.OnceValue(func() *world {
		return newWorld(loc,
			time.Date(year-1, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(year+1, 3, 1, 0, 0, 0, 0, time.UTC))
	}))
	return build.(func() *world)()
}

// compare checks a timeline against its track: every interval of the world, and the answers of the timeline at the
// given minutes.
func compare(t fataler, w *world, line timeline.Timeline, want track, minutes []int) {
	t.Helper()
	if want.valid >= len(want.on) {
		return
	}
	changes := want.changes()
	var got []int
	last := w.at(len(want.on))
	for at, ok := line.Next(w.at(want.valid)); ok && at.Before(last); at, ok = line.Next(at) {
		got = append(got, int(at.Sub(w.start)/time.Minute))
		if len(got) > len(changes)+1 {
			break
		}
	}
	if !slices.Equal(got, changes) {
		i := 0
		for i < len(got) && i < len(changes) && got[i] == changes[i] {
			i++
		}
		t.Fatalf("%s: changes differ from number %d on: got %s, want %s",
			line, i, firstInstants(w, got[i:]), firstInstants(w, changes[i:]))
	}
	for _, m := range minutes {
		if m > want.valid && m < len(want.on) {
			compareAt(t, w, line, want, changes, m)
		}
	}
}

func compareAt(t fataler, w *world, line timeline.Timeline, want track, changes []int, minute int) {
	t.Helper()
	at := w.at(minute).Add(17 * time.Second) // seconds within the minute make no difference
	state := line.At(at)
	if state.Active != want.on[minute] {
		t.Fatalf("%s at %s: active is %v, want %v", line, at, state.Active, want.on[minute])
	}
	following, _ := slices.BinarySearch(changes, minute+1)
	next, ok := line.Next(at)
	switch {
	case following < len(changes) && !next.Equal(w.at(changes[following])):
		t.Fatalf("%s at %s: next is %s, want %s", line, at, next, w.at(changes[following]))
	case following == len(changes) && ok && next.Before(w.at(len(want.on))):
		t.Fatalf("%s at %s: next is %s, want none in this world", line, at, next)
	}
	previous, ok := state.Since, !state.Since.IsZero()
	switch {
	case following > 0 && !previous.Equal(w.at(changes[following-1])):
		t.Fatalf("%s at %s: previous is %s, want %s", line, at, previous, w.at(changes[following-1]))
	case following == 0 && ok && previous.After(w.at(want.valid)):
		t.Fatalf("%s at %s: previous is %s, want none in this world", line, at, previous)
	}
	if !state.Until.Equal(next) {
		t.Fatalf("%s at %s: state %+v differs from next %s", line, at, state, next)
	}
}

func firstInstants(w *world, minutes []int) string {
	if len(minutes) == 0 {
		return "none"
	}
	text := ""
	for _, m := range minutes[:min(3, len(minutes))] {
		text += w.at(m).In(w.loc).Format(" 2006-01-02T15:04Z07:00")
	}
	return fmt.Sprintf("%d:%s", len(minutes), text)
}

// everyNth returns every n-th minute of the world, and the minutes around each change.
func everyNth(n int, want track) []int {
	var minutes []int
	for m := 0; m < len(want.on); m += n {
		minutes = append(minutes, m)
	}
	for _, c := range want.changes() {
		minutes = append(minutes, c-1, c, c+1)
	}
	return minutes
}

func weekdays(days ...time.Weekday) func(time.Time) bool {
	return func(date time.Time) bool { return slices.Contains(days, date.Weekday()) }
}

// subject is a timeline with a function that finds its true states.
type subject struct {
	name  string
	build func(fataler, string) timeline.Timeline
	truth func(*world) track
}

func cronSubject(expr string, length time.Duration) subject {
	return subject{
		name: fmt.Sprintf("cron %s for %s", expr, length),
		build: func(t fataler, zone string) timeline.Timeline {
			return mustWindow(t, v1alpha1.Window{Cron: expr, Duration: lasting(length)}, zone)
		},
		truth: func(w *world) track { return w.cron(expr, int(length/time.Minute)) },
	}
}

func pairSubject(up, down string) subject {
	return subject{
		name:  fmt.Sprintf("pair %s and %s", up, down),
		build: func(t fataler, zone string) timeline.Timeline { return mustPair(t, up, down, zone) },
		truth: func(w *world) track { return w.pair(up, down) },
	}
}

func windowSubject(spec v1alpha1.Window, truth func(*world) track) subject {
	return subject{
		name:  fmt.Sprintf("window %v %s-%s %s-%s", spec.Days, spec.From, spec.To, spec.Start, spec.End),
		build: func(t fataler, zone string) timeline.Timeline { return mustWindow(t, spec, zone) },
		truth: truth,
	}
}

func yearSubjects() []subject {
	workweek := weekdays(time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday)
	workdays := []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}
	return []subject{
		cronSubject("0 2 * * 6", 4*time.Hour),
		cronSubject("30 2 * * *", time.Hour),
		cronSubject("*/30 8 * * 1", 30*time.Minute),
		cronSubject("* * * * *", time.Minute),
		cronSubject("*/15 * * * *", 10*time.Minute),
		cronSubject("0 0 * * *", 24*time.Hour),
		cronSubject("0 0 1 * *", 30*24*time.Hour),
		cronSubject("*/5 8-11,13-17 * * 1-5", 5*time.Minute),
		cronSubject("* 0-3 13 * 5", time.Minute),
		cronSubject("*/5 8-12 * * *", 5*time.Minute),
		pairSubject("0 8 * * 1-5", "0 20 * * 1-5"),
		pairSubject("0 0 1 1 *", "0 0 1 7 *"),
		pairSubject("*/10 6-9 * * *", "*/15 * * * 0"),
		pairSubject("45 2 * * *", "15 2 * * *"),
		pairSubject("0 22 * * *", "30 1 * * *"),
		windowSubject(v1alpha1.Window{Days: workdays, From: "20:00", To: "08:00"},
			func(w *world) track { return w.days(workweek, 20*60, 8*60) }),
		windowSubject(v1alpha1.Window{Days: []v1alpha1.Day{"Fri"}, From: "20:00", To: "08:00"},
			func(w *world) track { return w.days(weekdays(time.Friday), 20*60, 8*60) }),
		windowSubject(v1alpha1.Window{From: "02:10", To: "02:40"},
			func(w *world) track { return w.days(func(time.Time) bool { return true }, 130, 160) }),
		windowSubject(v1alpha1.Window{Days: []v1alpha1.Day{"Sat", "Sun"}, From: "00:00", To: "24:00"},
			func(w *world) track { return w.days(weekdays(time.Saturday, time.Sunday), 0, 24*60) }),
		windowSubject(v1alpha1.Window{Start: "2026-03-20", End: "2026-04-10"}, func(w *world) track {
			return w.days(func(date time.Time) bool { return betweenDates(date, "2026-03-20", "2026-04-10") }, 0, 24*60)
		}),
		{
			name: "holidays over a pair",
			build: func(t fataler, zone string) timeline.Timeline {
				holidays := mustCalendar(t, "holidays", holidaySpec(zone))
				return timeline.Override(mustPair(t, "0 8 * * 1-5", "0 20 * * 1-5", zone), timeline.Effect{During: holidays})
			},
			truth: func(w *world) track {
				return invert(union(w.days(isHoliday, 0, 24*60), invert(w.pair("0 8 * * 1-5", "0 20 * * 1-5"))))
			},
		},
	}
}

func holidaySpec(zone string) timeline.CalendarSpec {
	return timeline.CalendarSpec{
		TimeZone: zone,
		Dates:    []v1alpha1.CalendarDate{{Date: "2026-04-03"}, {Start: "2026-12-24", End: "2026-12-31"}},
		Yearly:   []v1alpha1.CalendarYearly{{Month: 1, Day: 1}, {Month: 2, Day: 29}, {Month: 5, Day: 1}, {Month: 12, Day: 26}},
	}
}

func isHoliday(date time.Time) bool {
	switch date.Format("01-02") {
	case "01-01", "02-29", "05-01", "12-26":
		return true
	}
	return date.Format(time.DateOnly) == "2026-04-03" || betweenDates(date, "2026-12-24", "2026-12-31")
}

func betweenDates(date time.Time, first, last string) bool {
	text := date.Format(time.DateOnly)
	return text >= first && text <= last
}

// yearZones have different rules: a European zone, an American zone, a clock change of half an hour, a gap at midnight,
// and no clock change.
func yearZones() []string {
	return []string{"Europe/Skopje", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"}
}

// chosen reports whether a subject is checked in a world: always, or with -short (make mutate) in one of five worlds.
func chosen(world, subject int) bool { return !testing.Short() || (world+subject)%5 == 0 }

func TestWholeYearsAgainstAWalkOverEveryMinute(t *testing.T) {
	for i, zone := range yearZones() {
		for j, s := range yearSubjects() {
			if !chosen(i, j) {
				continue
			}
			t.Run(zone+"/"+s.name, func(t *testing.T) {
				w := worldOf(t, zone, 2026)
				want := s.truth(w)
				compare(t, w, s.build(t, zone), want, everyNth(211, want))
			})
		}
	}
}

func TestWorldsWithOddGaps(t *testing.T) {
	for i, place := range []worldKey{
		{"Pacific/Apia", 2011},      // 30 December 2011 did not exist there
		{"Africa/Cairo", 2026},      // the gap is at midnight, of a Friday
		{"Asia/Beirut", 2026},       // the gap is at midnight
		{"Africa/Casablanca", 2026}, // a fold and a gap around Ramadan
		{"Antarctica/Troll", 2026},  // two hours
		{"America/Caracas", 2016},   // half an hour forward for good
		{"Europe/Skopje", 2104},     // beyond the tables, in a leap year
	} {
		for j, s := range yearSubjects() {
			if !chosen(i, j) {
				continue
			}
			t.Run(fmt.Sprintf("%s-%d/%s", place.zone, place.year, s.name), func(t *testing.T) {
				w := worldOf(t, place.zone, place.year)
				want := s.truth(w)
				compare(t, w, s.build(t, place.zone), want, everyNth(1009, want))
			})
		}
	}
}

func TestARestartAtAnyMinuteFindsTheStateOfRunningThrough(t *testing.T) {
	const zone = "Europe/Skopje"
	w := worldOf(t, zone, 2026)
	want := w.pair("0 8 * * 1-5", "0 20 * * 1-5")
	line := mustPair(t, "0 8 * * 1-5", "0 20 * * 1-5", zone)
	state, next := line.At(w.at(want.valid)).Active, time.Time{}
	for m := want.valid; m < len(want.on); m++ {
		at := w.at(m)
		if next.IsZero() || !at.Before(next) { // without a restart, the state turns at each change
			if !next.IsZero() {
				state = !state
			}
			next, _ = line.Next(at)
		}
		if got := line.At(at).Active; got != state || got != want.on[m] {
			t.Fatalf("at %s: active is %v after a restart, %v running through, %v in truth", at, got, state, want.on[m])
		}
	}
}

// randomCron draws a cron whose firings often fall into gaps and folds, touch and overlap.
func randomCron(t *rapid.T, label string) string {
	minute := rapid.SampledFrom([]string{"0", "30", "*/15", "*/7", "5,35", "*", "0-20", "59"})
	hour := rapid.SampledFrom([]string{"*", "2", "0-5", "8-17", "*/3", "23", "0", "1,3", "1-2"})
	dom := rapid.SampledFrom([]string{"*", "*", "*", "1", "28-31", "*/2", "8-14"})
	mon := rapid.SampledFrom([]string{"*", "*", "*", "3,4,9-11", "1-6"})
	dow := rapid.SampledFrom([]string{"*", "*", "1-5", "0", "6", "*/2"})
	return fmt.Sprintf("%s %s %s %s %s", minute.Draw(t, label+" minute"), hour.Draw(t, label+" hour"),
		dom.Draw(t, label+" dom"), mon.Draw(t, label+" month"), dow.Draw(t, label+" dow"))
}

func randomWorld(t *rapid.T) (string, *world) {
	place := rapid.SampledFrom([]worldKey{
		{"Europe/Skopje", 2026}, {"America/New_York", 2026}, {"Australia/Lord_Howe", 2026}, {"America/Santiago", 2026},
		{"Asia/Kolkata", 2026}, {"Africa/Cairo", 2026}, {"Pacific/Apia", 2011},
	}).Draw(t, "world")
	return place.zone, worldOf(t, place.zone, place.year)
}

func randomMinutes(t *rapid.T, want track) []int {
	return rapid.SliceOfN(rapid.IntRange(0, len(want.on)-1), 20, 20).Draw(t, "minutes")
}

func randomSubject(t *rapid.T) subject {
	if rapid.Bool().Draw(t, "pair") {
		return pairSubject(randomCron(t, "up"), randomCron(t, "down"))
	}
	length := rapid.SampledFrom([]int{1, 5, 7, 15, 16, 30, 60, 120, 600, 1439, 1440, 1441, 1500, 2880, 8000, 30 * 1440})
	return cronSubject(randomCron(t, "window"), time.Duration(length.Draw(t, "length"))*time.Minute)
}

func TestRandomCronsAgainstAWalkOverEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, w := randomWorld(t)
		s := randomSubject(t)
		want := s.truth(w)
		compare(t, w, s.build(t, zone), want, randomMinutes(t, want))
	})
}

func TestRandomUnionsAgainstAWalkOverEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, w := randomWorld(t)
		a, b := randomSubject(t), randomSubject(t)
		from := rapid.IntRange(0, 1439).Draw(t, "from")
		to := rapid.IntRange(0, 1439).Filter(func(m int) bool { return m != from }).Draw(t, "to")
		spec := v1alpha1.Window{Days: []v1alpha1.Day{"Mon", "Sun"}, From: clockText(from), To: clockText(to)}
		line := timeline.Not(timeline.Union(
			a.build(t, zone), timeline.Not(b.build(t, zone)), mustWindow(t, spec, zone)))
		want := w.days(weekdays(time.Monday, time.Sunday), from, to)
		want = invert(union(union(a.truth(w), invert(b.truth(w))), want))
		compare(t, w, line, want, randomMinutes(t, want))
	})
}

func clockText(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }
