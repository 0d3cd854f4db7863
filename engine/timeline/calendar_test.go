package timeline_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// TestRandomCalendarsAgainstAWalkOverEveryDay draws dates, ranges and yearly days that touch, overlap and contain each
// other, in any order. It compares each of 800 days with the drawn list.
func TestRandomCalendarsAgainstAWalkOverEveryDay(t *testing.T) {
	first := time.Date(2027, 12, 20, 0, 0, 0, 0, time.UTC)
	date := func(day int) string { return first.AddDate(0, 0, day).Format(time.DateOnly) }
	const days = 800 // a leap day and three turns of the year
	rapid.Check(t, func(t *rapid.T) {
		var spec timeline.CalendarSpec
		listed := make([]bool, days)
		for range rapid.IntRange(0, 6).Draw(t, "dates") {
			from := rapid.IntRange(10, 40).Draw(t, "from")
			to := from + rapid.IntRange(0, 8).Draw(t, "length")
			spec.Dates = append(spec.Dates, v1alpha1.CalendarDate{Start: date(from), End: date(to)})
			for day := from; day <= to; day++ {
				listed[day] = true
			}
		}
		for range rapid.IntRange(0, 4).Draw(t, "yearly") {
			of := first.AddDate(0, 0, rapid.IntRange(0, 80).Draw(t, "day"))
			spec.Yearly = append(spec.Yearly, v1alpha1.CalendarYearly{Month: int32(of.Month()), Day: int32(of.Day())})
			for day := range days {
				d := first.AddDate(0, 0, day)
				listed[day] = listed[day] || d.Month() == of.Month() && d.Day() == of.Day()
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "holidays") {
			var numbers []int64
			for _, day := range rapid.SliceOfN(rapid.IntRange(0, days-1), 1, 5).Draw(t, "days of one") {
				numbers = append(numbers, first.AddDate(0, 0, day).Unix()/recur.DaySeconds)
				listed[day] = true
			}
			spec.Days = append(spec.Days, timeline.NamedDays{Days: recur.NewListed(numbers...), Name: "holiday"})
		}
		line := mustCalendar(t, "c", spec)
		for day := range days - 1 {
			at := first.AddDate(0, 0, day).Add(time.Hour)
			state := line.At(at)
			if state.Active != listed[day] {
				t.Fatalf("%+v on %s: active is %v", spec, date(day), state.Active)
			}
			if turn := slices.Index(listed[day:], !listed[day]); turn > 0 && !state.Until.Equal(first.AddDate(0, 0, day+turn)) {
				t.Fatalf("%+v on %s: until %s, want %s", spec, date(day), state.Until, date(day+turn))
			}
			if turns := listed[day] != listed[day+1]; turns && !line.At(at.AddDate(0, 0, 1)).Since.Equal(first.AddDate(0, 0, day+1)) {
				t.Fatalf("%+v on %s: since %s", spec, date(day+1), line.At(at.AddDate(0, 0, 1)).Since)
			}
		}
	})
}
