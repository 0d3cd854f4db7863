package recur

import (
	"strings"
	"testing"
	"time"
)

var (
	workdays = []Place{{Weekday: 1}, {Weekday: 2}, {Weekday: 3}, {Weekday: 4}, {Weekday: 5}}
	everyDay = append([]Place{{Weekday: 0}, {Weekday: 6}}, workdays...)
)

func dayOf(t *testing.T, date string) int64 {
	t.Helper()
	at, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	return at.Unix() / DaySeconds
}

// daysFrom returns the first n days of a set from a day on, separated by spaces.
func daysFrom(s Set, day int64, n int) string {
	var dates []string
	for range n {
		next, ok := From(s, day)
		if !ok {
			break
		}
		dates = append(dates, time.Unix(next*DaySeconds, 0).UTC().Format(time.DateOnly))
		day = next + 1
	}
	return strings.Join(dates, " ")
}

// TestRecurrencesHaveTheDaysOfTheRFC compares rules with the days of the examples in RFC 5545, section 3.8.5.3. Other rules cover
// short months and years.
func TestRecurrencesHaveTheDaysOfTheRFC(t *testing.T) {
	for _, tc := range []struct {
		reason, start string
		rule          Recurrence
		want          string
	}{
		{"every day", "1997-09-29", Recurrence{}, "1997-09-29 1997-09-30 1997-10-01"},
		{"every other day", "1997-09-28", Recurrence{Interval: 2}, "1997-09-28 1997-09-30 1997-10-02"},
		{"every ten days", "1997-09-02", Recurrence{Interval: 10}, "1997-09-02 1997-09-12 1997-09-22 1997-10-02 1997-10-12"},
		{"every day in January", "1998-01-30", Recurrence{Months: []int{1}}, "1998-01-30 1998-01-31 1999-01-01"},
		{"every week on the weekday of the start", "1997-09-23", Recurrence{Frequency: Weekly}, "1997-09-23 1997-09-30 1997-10-07"},
		{"every other week on some weekdays", "1997-09-01",
			Recurrence{Frequency: Weekly, Interval: 2, WeekStart: 0, Weekdays: []Place{{Weekday: 1}, {Weekday: 3}, {Weekday: 5}}},
			"1997-09-01 1997-09-03 1997-09-05 1997-09-15 1997-09-17"},
		{"every other week, weeks from Monday", "1997-08-05",
			Recurrence{Frequency: Weekly, Interval: 2, WeekStart: 1, Weekdays: []Place{{Weekday: 2}, {Weekday: 0}}},
			"1997-08-05 1997-08-10 1997-08-19 1997-08-24"},
		{"every other week, weeks from Sunday", "1997-08-05",
			Recurrence{Frequency: Weekly, Interval: 2, WeekStart: 0, Weekdays: []Place{{Weekday: 2}, {Weekday: 0}}},
			"1997-08-05 1997-08-17 1997-08-19 1997-08-31"},
		{"a day that short months lack", "2026-01-31", Recurrence{Frequency: Monthly}, "2026-01-31 2026-03-31 2026-05-31"},
		{"the first Friday", "1997-09-05", Recurrence{Frequency: Monthly, Weekdays: []Place{{5, 1}}},
			"1997-09-05 1997-10-03 1997-11-07 1997-12-05"},
		{"the first and the last Sunday of every other month", "1997-09-07",
			Recurrence{Frequency: Monthly, Interval: 2, Weekdays: []Place{{0, 1}, {0, -1}}},
			"1997-09-07 1997-09-28 1997-11-02 1997-11-30 1998-01-04"},
		{"the second last Monday", "1997-09-22", Recurrence{Frequency: Monthly, Weekdays: []Place{{1, -2}}},
			"1997-09-22 1997-10-20 1997-11-17"},
		{"the third last day", "1997-09-28", Recurrence{Frequency: Monthly, MonthDays: []int{-3}},
			"1997-09-28 1997-10-29 1997-11-28 1997-12-29"},
		{"the first and the last day", "1997-09-30", Recurrence{Frequency: Monthly, MonthDays: []int{1, -1}},
			"1997-09-30 1997-10-01 1997-10-31 1997-11-01 1997-11-30"},
		{"each Friday the 13th", "1997-09-02", Recurrence{Frequency: Monthly, Weekdays: []Place{{Weekday: 5}}, MonthDays: []int{13}},
			"1998-02-13 1998-03-13 1998-11-13 1999-08-13 2000-10-13"},
		{"the third of some weekdays", "1997-09-04",
			Recurrence{Frequency: Monthly, Weekdays: []Place{{Weekday: 2}, {Weekday: 3}, {Weekday: 4}}, Positions: []int{3}},
			"1997-09-04 1997-10-07 1997-11-06"},
		{"the second last workday", "1997-09-29", Recurrence{Frequency: Monthly, Weekdays: workdays, Positions: []int{-2}},
			"1997-09-29 1997-10-30 1997-11-27 1997-12-30"},
		{"a birthday on a leap day", "2024-02-29", Recurrence{Frequency: Annual}, "2024-02-29 2028-02-29 2032-02-29"},
		{"a day of some months", "1997-06-10", Recurrence{Frequency: Annual, Months: []int{6, 7}},
			"1997-06-10 1997-07-10 1998-06-10 1998-07-10"},
		{"the twentieth Monday of the year", "1997-05-19", Recurrence{Frequency: Annual, Weekdays: []Place{{1, 20}}},
			"1997-05-19 1998-05-18 1999-05-17"},
		{"the last Friday of the year", "1999-12-31", Recurrence{Frequency: Annual, Weekdays: []Place{{5, -1}}},
			"1999-12-31 2000-12-29 2001-12-28"},
		{"each Thursday in March", "1997-03-13", Recurrence{Frequency: Annual, Months: []int{3}, Weekdays: []Place{{Weekday: 4}}},
			"1997-03-13 1997-03-20 1997-03-27 1998-03-05"},
		{"the election day of the United States", "1996-11-05", Recurrence{Frequency: Annual, Interval: 4, Months: []int{11},
			Weekdays: []Place{{Weekday: 2}}, MonthDays: []int{2, 3, 4, 5, 6, 7, 8}}, "1996-11-05 2000-11-07 2004-11-02"},
		{"the last workday of the year", "1997-12-31", Recurrence{Frequency: Annual, Weekdays: workdays, Positions: []int{-1}},
			"1997-12-31 1998-12-31 1999-12-31 2000-12-29"},
		{"the hundredth and the second last day of the year", "1999-01-01",
			Recurrence{Frequency: Annual, Weekdays: everyDay, Positions: []int{100, -2}}, "1999-04-10 1999-12-30 2000-04-09 2000-12-30"},
	} {
		tc.rule.Start = dayOf(t, tc.start)
		days, err := tc.rule.Parse(nil)
		if err != nil {
			t.Errorf("%s: %v", tc.reason, err)
			continue
		}
		if got := daysFrom(days, tc.rule.Start, strings.Count(tc.want, " ")+1); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
		}
	}
}

// TestRulesWithoutAMeaningAreRefused: the error names the part of the rule.
func TestRulesWithoutAMeaningAreRefused(t *testing.T) {
	for _, tc := range []struct {
		reason string
		rule   Recurrence
		want   string
	}{
		{"an interval of years of days", Recurrence{Interval: 1000}, "INTERVAL"},
		{"a long interval in one month of the year", Recurrence{Interval: 300, Months: []int{2}}, "INTERVAL"},
		{"the second Monday of a week", Recurrence{Frequency: Weekly, Weekdays: []Place{{1, 2}}}, "BYDAY"},
		{"the second Monday of a day", Recurrence{Weekdays: []Place{{1, 2}}}, "BYDAY"},
		{"the first day of a week", Recurrence{Frequency: Weekly, Positions: []int{1}}, "BYSETPOS"},
		{"the 30th of February", Recurrence{Frequency: Annual, Months: []int{2}, MonthDays: []int{30}}, "no day"},
	} {
		if days, err := tc.rule.Parse(nil); days != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: the error is %v", tc.reason, err)
		}
	}
}

// TestRareDaysEndTheBudget: a rule with its next day far away is no error, but the budget is over.
func TestRareDaysEndTheBudget(t *testing.T) {
	rare := Recurrence{Frequency: Annual, Start: dayOf(t, "2025-01-01"), Months: []int{2}, MonthDays: []int{29}}
	short := NewBudget(12)
	if _, err := rare.Parse(short); err != nil || !short.IsOver() {
		t.Errorf("the budget is over: %t, %v", short.IsOver(), err)
	}
	long := NewBudget(1000)
	if _, err := rare.Parse(long); err != nil || long.IsOver() {
		t.Errorf("the budget is over: %t, %v", long.IsOver(), err)
	}
	positions := Recurrence{Frequency: Monthly, Weekdays: workdays, Positions: []int{1}}
	if _, err := positions.Parse(NewBudget(1)); err != nil {
		t.Error(err)
	}
	if days, _ := positions.Parse(nil); stepsOf(days) <= stepsOf(NewListed(1)) {
		t.Errorf("a rule with positions takes %d steps a month", stepsOf(days))
	}
}

// TestTheLastOfSomeDaysIsCounted counts days as COUNT of RFC 5545 does.
func TestTheLastOfSomeDaysIsCounted(t *testing.T) {
	start := dayOf(t, "2026-01-30")
	daily, err := Recurrence{Start: start}.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	leapDays, err := Recurrence{Frequency: Annual, Start: dayOf(t, "2024-02-29")}.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		reason string
		days   Set
		count  int
		want   string // empty: the day is too far away
	}{
		{"the first day", daily, 1, "2026-01-30"},
		{"the next month", daily, 3, "2026-02-01"},
		{"some months later", daily, 63, "2026-04-02"},
		{"leap days", leapDays, 3, "2036-02-29"},
		{"after the year 2200", leapDays, 50, ""},
		{"days that end", NewListed(start, start+1), 3, ""},
	} {
		last, ok := (*Budget)(nil).Count(tc.days, start, tc.count)
		if ok != (tc.want != "") || ok && last != dayOf(t, tc.want) {
			t.Errorf("%s: got day %d, %t", tc.reason, last, ok)
		}
	}
	if _, ok := NewBudget(5).Count(daily, start, 1000); ok {
		t.Error("a day is counted after the end of the budget")
	}
}

// TestDaysAreLeftOutAndMoved: moved days cross the ends of months of every length.
func TestDaysAreLeftOutAndMoved(t *testing.T) {
	listed := NewListed(dayOf(t, "2026-02-27"), dayOf(t, "2026-01-31"), dayOf(t, "2026-01-10"), dayOf(t, "2026-01-31"))
	for _, tc := range []struct {
		reason string
		days   Set
		want   string
	}{
		{"as listed", listed, "2026-01-10 2026-01-31 2026-02-27"},
		{"without none", Without(listed, nil), "2026-01-10 2026-01-31 2026-02-27"},
		{"without one day, and a day that is not there", Without(listed, NewListed(dayOf(t, "2026-01-31"), dayOf(t, "2026-02-01"))),
			"2026-01-10 2026-02-27"},
		{"moved by none", Later(listed, 0), "2026-01-10 2026-01-31 2026-02-27"},
		{"moved by one day", Later(listed, 1), "2026-01-11 2026-02-01 2026-02-28"},
		{"moved as far as possible", Later(listed, MaxShift), "2026-02-06 2026-02-27 2026-03-26"},
	} {
		if got := daysFrom(tc.days, dayOf(t, "2026-01-01"), 9); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
		}
	}
}
