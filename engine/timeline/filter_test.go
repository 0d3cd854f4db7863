package timeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// holds reports whether a date passes a filter, which it reads field by field.
func holds(f v1alpha1.Window, date time.Time) bool {
	weekday := v1alpha1.Day(date.Weekday().String()[:3])
	if len(f.Days) > 0 && !slices.Contains(f.Days, weekday) {
		return false
	}
	if len(f.Months) > 0 && !slices.Contains(f.Months, int32(date.Month())) {
		return false
	}
	day := v1alpha1.DayOfMonth(date.Day())
	fromEnd := day - v1alpha1.DayOfMonth(lastOfMonth(date).Day()) - 1
	if len(f.DayOfMonth) > 0 && !slices.Contains(f.DayOfMonth, day) && !slices.Contains(f.DayOfMonth, fromEnd) {
		return false
	}
	if len(f.Nth) > 0 && !slices.Contains(f.Nth, v1alpha1.NthDay{Week: int32(placeInMonth(date)), Day: weekday}) &&
		!slices.Contains(f.Nth, v1alpha1.NthDay{Week: -int32(placeFromEnd(date)), Day: weekday}) {
		return false
	}
	if f.Weeks == nil {
		return true
	}
	starting, _ := time.Parse(time.DateOnly, f.Weeks.Starting)
	weeks := int(monday(date).Sub(monday(starting)) / (7 * 24 * time.Hour))
	return weeks%int(f.Weeks.Every) == 0
}

func monday(date time.Time) time.Time {
	for date.Weekday() != time.Monday {
		date = date.AddDate(0, 0, -1)
	}
	return date
}

func filterSubject(f v1alpha1.Window, from, to int) subject {
	spec := f
	if from != 0 || to != 24*60 {
		spec.From, spec.To = clockText(from), clockText(to)
	}
	return subject{
		name:  fmt.Sprintf("filter %+v %d-%d", f, from, to),
		build: func(t fataler, zone string) timeline.Timeline { return mustWindow(t, spec, zone) },
		truth: func(w *world) track {
			t := w.days(func(date time.Time) bool { return holds(f, date) }, from, to)
			return t
		},
	}
}

// filterSubjects are windows that users often ask for.
func filterSubjects() []subject {
	const day = 24 * 60
	return []subject{
		filterSubject(v1alpha1.Window{Days: []v1alpha1.Day{"Sat", "Sun"}}, 0, day),
		filterSubject(v1alpha1.Window{Days: []v1alpha1.Day{"Fri"}, Weeks: &v1alpha1.Weeks{Every: 2, Starting: "2026-01-07"}}, 15*60, day-1),
		filterSubject(v1alpha1.Window{Weeks: &v1alpha1.Weeks{Every: 3, Starting: "2031-05-04"}}, 0, day),
		filterSubject(v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{1, -1}}, 0, day),
		filterSubject(v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{-1, -2, -31}, Months: []int32{2, 3, 12}}, 22*60, 2*60+30),
		filterSubject(v1alpha1.Window{Nth: []v1alpha1.NthDay{{Week: -1, Day: "Fri"}}}, 2*60+15, 2*60+45),
		filterSubject(v1alpha1.Window{Nth: []v1alpha1.NthDay{{Week: 2, Day: "Sun"}, {Week: 5, Day: "Sat"}}, Months: []int32{3, 10, 11}}, 0, day),
		filterSubject(v1alpha1.Window{Months: []int32{12, 1, 3}}, 0, day),
		filterSubject(v1alpha1.Window{Days: []v1alpha1.Day{"Fri"}, DayOfMonth: []v1alpha1.DayOfMonth{13}}, 0, day),
		filterSubject(v1alpha1.Window{Days: []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}, Months: []int32{3, 4, 10}}, 20*60, 8*60),
		cronSubject("0 2 L * *", 4*time.Hour),
		cronSubject("30 2 L-2,15W * *", time.Hour),
		cronSubject("0 20 * * 5L", 60*time.Hour),
		cronSubject("0 22 * 3,10 0#5,6#1", 6*time.Hour),
		cronSubject("0 0 LW,1W * 3", 24*time.Hour),
		cronSubject("*/20 * 31W,L * 0L,1", 20*time.Minute),
		pairSubject("0 8 1W * *", "0 20 L * *"),
		untilSubject("0 22 * * 5", "0 6 * * 1"),
		untilSubject("0 2 L * *", "30 2 1W * *"),
		untilSubject("*/15 * * * *", "0 3 * * *"),
	}
}

func untilSubject(opens, closes string) subject {
	return subject{
		name: fmt.Sprintf("cron %s until %s", opens, closes),
		build: func(t fataler, zone string) timeline.Timeline {
			return mustWindow(t, v1alpha1.Window{Cron: opens, Until: closes}, zone)
		},
		truth: func(w *world) track { return w.pair(opens, closes) },
	}
}

func TestFiltersAgainstAWalkOverEveryMinute(t *testing.T) {
	places := []worldKey{{"Europe/Skopje", 2026}, {"America/Santiago", 2026}, {"Africa/Cairo", 2026}, {"Pacific/Apia", 2011},
		{"Europe/Skopje", 2104}}
	for i, place := range places {
		for j, s := range filterSubjects() {
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

func randomFilter(t *rapid.T) v1alpha1.Window {
	days := rapid.SampledFrom([][]v1alpha1.Day{nil, nil, {"Sat", "Sun"}, {"Fri"}, {"Mon", "Tue", "Wed", "Thu", "Fri"}}).Draw(t, "days")
	f := v1alpha1.Window{Days: days, Months: rapid.SampledFrom([][]int32{nil, nil, {12, 1}, {2, 3, 10}}).Draw(t, "months")}
	if rapid.Bool().Draw(t, "weeks") {
		f.Weeks = &v1alpha1.Weeks{Every: rapid.Int32Range(2, 9).Draw(t, "every"),
			Starting: time.Unix(rapid.Int64Range(18000, 23000).Draw(t, "starting")*86400, 0).UTC().Format(time.DateOnly)}
		return f
	}
	f.DayOfMonth = rapid.SampledFrom([][]v1alpha1.DayOfMonth{nil, {1, -1}, {-3, -2, 15}, {28, 29, 30, 31, -31, -28}}).Draw(t, "dayOfMonth")
	if rapid.Bool().Draw(t, "nth") {
		week := rapid.Int32Range(1, 4).Draw(t, "week") * rapid.SampledFrom([]int32{1, -1}).Draw(t, "sign")
		f.Nth = []v1alpha1.NthDay{{Week: week, Day: "Sun"}, {Week: -1, Day: "Fri"}, {Week: 1, Day: "Sat"}}
	}
	return f
}

// TestRandomFiltersAgainstAWalkOverEveryMinute bounds a random window by a validity, and joins it with a second window.
func TestRandomFiltersAgainstAWalkOverEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone, w := randomWorld(t)
		filter := randomFilter(t)
		from := rapid.SampledFrom([]int{0, 0, 1, 120, 150, 180, 1200, 1439}).Draw(t, "from")
		to := rapid.SampledFrom([]int{24 * 60, 24 * 60, 130, 150, 180, 480}).Filter(func(m int) bool { return m != from }).Draw(t, "to")
		spec := filter
		spec.From, spec.To = clockText(from), clockText(to)
		if rapid.Bool().Draw(t, "validFrom") {
			spec.ValidFrom = w.at(rapid.IntRange(0, len(w.clock)-1).Draw(t, "first")).Format(time.DateOnly)
		}
		if rapid.Bool().Draw(t, "validUntil") {
			spec.ValidUntil = w.at(rapid.IntRange(0, len(w.clock)-1).Draw(t, "end")).Format(time.RFC3339)
		}
		window, errs := timeline.ParseWindow(spec, w.loc, field.NewPath("w"))
		if len(errs) > 0 {
			if text := errs.ToAggregate().Error(); !strings.Contains(text, "no day is like that") &&
				!strings.Contains(text, "must be after validFrom") {
				t.Fatalf("%+v: %v", spec, errs.ToAggregate())
			}
			t.Skip("no such window")
		}
		want := w.days(func(date time.Time) bool { return holds(filter, date) }, from, to)
		want = w.valid(want, spec)
		other := randomSubject(t)
		compare(t, w, window, want, randomMinutes(t, want))
		compare(t, w, timeline.Union(window, other.build(t, zone)), union(want, other.truth(w)), randomMinutes(t, want))
	})
}

// valid keeps the part of a track between the bounds of a window: from a date on, and until an instant.
func (w *world) valid(t track, spec v1alpha1.Window) track {
	from, to := 0, len(t.on)
	if date, err := time.Parse(time.DateOnly, spec.ValidFrom); err == nil {
		from = w.when(date.Unix() / 60)
	}
	if end, err := time.Parse(time.RFC3339, spec.ValidUntil); err == nil {
		to = int(end.Sub(w.start) / time.Minute)
	}
	out := track{on: make([]bool, len(t.on)), valid: t.valid}
	for i := range out.on {
		out.on[i] = t.on[i] && i >= from && i < to
	}
	return out
}

func TestParseFilterRefuses(t *testing.T) {
	weeks := func(every int32, starting string) v1alpha1.Window {
		return v1alpha1.Window{Weeks: &v1alpha1.Weeks{Every: every, Starting: starting}}
	}
	nth := func(week int32, day v1alpha1.Day) v1alpha1.Window {
		return v1alpha1.Window{Nth: []v1alpha1.NthDay{{Week: week, Day: day}}}
	}
	tests := []struct {
		reason string
		spec   v1alpha1.Window
		want   string
	}{
		{"a thirteenth month", v1alpha1.Window{Months: []int32{13}}, "w.months[0]: Invalid value: 13: must be 1 to 12"},
		{"a month twice", v1alpha1.Window{Months: []int32{1, 1}}, "w.months[1]: Duplicate value: 1"},
		{"the day 0", v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{0}},
			"w.dayOfMonth[0]: Invalid value: 0: must be 1 to 31, or -1 to -31"},
		{"the day 32", v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{-32}},
			"w.dayOfMonth[0]: Invalid value: -32: must be 1 to 31, or -1 to -31"},
		{"a sixth Friday", nth(6, "Fri"), "w.nth[0].week: Invalid value: 6: must be 1 to 5, or -1 to -5"},
		{"a day that is none", nth(1, "Freitag"), `w.nth[0].day: Unsupported value: "Freitag"`},
		{"every week", weeks(1, "2026-01-05"), "w.weeks.every: Invalid value: 1: must be 2 to 12"},
		{"weeks from nowhere", weeks(2, ""), "w.weeks.starting: Required value: a date such as"},
		{"weeks of a month", v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{1}, Weeks: &v1alpha1.Weeks{Every: 2, Starting: "2026-01-05"}},
			"w.weeks: Forbidden: counts weeks, where dayOfMonth and nth count within a month"},
		{"30 February", v1alpha1.Window{Months: []int32{2}, DayOfMonth: []v1alpha1.DayOfMonth{30}},
			`w: Invalid value: "day 30 in Feb": no day is like that, so the window never opens`},
		{"a first Friday on a Monday", v1alpha1.Window{Days: []v1alpha1.Day{"Mon"}, Nth: nth(1, "Fri").Nth},
			`w: Invalid value: "Mon 1st Fri": no day is like that`},
		{"from alone", v1alpha1.Window{Days: []v1alpha1.Day{"Mon"}, From: "08:00"}, "w.to: Required value: a time such as 08:00"},
		{"months with a cron", v1alpha1.Window{Cron: "0 8 * * *", Duration: lasting(time.Hour), Months: []int32{2}},
			"w: Invalid value: \"\": has more than one form, use one of: days, from, to, months; cron, duration"},
		{"duration and until", v1alpha1.Window{Cron: "0 8 * * *", Duration: lasting(time.Hour), Until: "0 9 * * *"},
			"w.until: Forbidden: a window with a cron has a duration or an until"},
		{"until alone", v1alpha1.Window{Until: "0 9 * * *"}, "w.cron: Invalid value: \"\": must be a cron expression of five fields"},
		{"an until that is none", v1alpha1.Window{Cron: "0 8 * * *", Until: "9:00"},
			"w.until: Invalid value: \"9:00\": expected exactly 5 fields"},
		{"an until that is always there", v1alpha1.Window{Cron: "0 8 * * 1", Until: "0 8 * * *"},
			"w.until: Invalid value: \"0 8 * * *\": fires whenever cron does, so the window never opens"},
		{"validity the wrong way round", v1alpha1.Window{Days: []v1alpha1.Day{"Mon"}, ValidFrom: "2026-02-02", ValidUntil: "2026-02-01"},
			"w.validUntil: Invalid value: \"2026-02-01\": must be after validFrom"},
		{"a validity that is none", v1alpha1.Window{Days: []v1alpha1.Day{"Mon"}, ValidFrom: "tomorrow"},
			"w.validFrom: Invalid value: \"tomorrow\": must be a date such as 2026-12-24 or an instant"},
		{"validity of nothing", v1alpha1.Window{ValidFrom: "2026-02-02"}, "w: Required value: set from and to, days"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			_, errs := timeline.ParseWindow(tt.spec, time.UTC, field.NewPath("w"))
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want) {
				t.Errorf("errors are %v, want one: %s", errs.ToAggregate(), tt.want)
			}
		})
	}
}

func TestCronPlacesRefused(t *testing.T) {
	for expr, detail := range map[string]string{
		"0 8 32W * *": "write 1W to 31W", "0 8 L-31 * *": "write L-1 to L-30", "0 8 * * L": "such as 5L for the last Friday",
		"0 8 * * 8L": "write 0L to 7L or SUNL to SATL", "0 8 * * 5#6": "a number from 1 to 5", "0 8 * * #2": "a number from 1 to 5",
		"0 8 1-15W * *": "write 1W to 31W", "0 8 * L *": "failed to parse", "0 8 31W 2 *": "never comes",
	} {
		_, errs := timeline.ParseWindow(v1alpha1.Window{Cron: expr, Duration: lasting(time.Hour)}, time.UTC, field.NewPath("w"))
		if len(errs) != 1 || errs[0].Field != "w.cron" || !strings.Contains(errs[0].Detail, detail) {
			t.Errorf("%q: errors are %v, want one at w.cron with %q", expr, errs, detail)
		}
	}
}

func TestWordsOfWindows(t *testing.T) {
	tests := []struct {
		spec v1alpha1.Window
		want string
	}{
		{v1alpha1.Window{Days: []v1alpha1.Day{"Sat", "Sun"}}, "window Sat,Sun UTC"},
		{v1alpha1.Window{Months: []int32{12, 1}}, "window daily in Dec,Jan UTC"},
		{v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{1, -1}, From: "22:00", To: "02:00"}, "window day 1,-1 22:00-02:00 UTC"},
		{v1alpha1.Window{Days: []v1alpha1.Day{"Fri"}, Weeks: &v1alpha1.Weeks{Every: 2, Starting: "2026-01-05"}},
			"window Fri every 2 weeks from 2026-01-05 UTC"},
		{v1alpha1.Window{Nth: []v1alpha1.NthDay{{Week: -1, Day: "Fri"}, {Week: 2, Day: "Tue"}, {Week: -2, Day: "Mon"}}},
			"window last Fri,2nd Tue,2nd last Mon UTC"},
		{v1alpha1.Window{Cron: "0 22 * * 5", Until: "0 6 * * 1"}, "window 0 22 * * 5 until 0 6 * * 1 UTC"},
		{v1alpha1.Window{Days: []v1alpha1.Day{"Mon"}, ValidFrom: "2026-02-02", ValidUntil: "2026-03-02", Name: "w"},
			"window w: Mon from 2026-02-02 until 2026-03-02 UTC"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, mustWindow(t, tt.spec, "UTC").String()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.spec, diff)
		}
	}
}
