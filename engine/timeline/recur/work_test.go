package recur

import "testing"

// TestWidestGap compares the gaps found month by month with the gaps found day by day.
func TestWidestGap(t *testing.T) {
	for _, expr := range []string{"0 0 * * *", "0 0 1 1 *", "0 0 29 2 *", "0 0 1-30 * 1", "0 0 31 * *", "0 0 * 2 3", "0 0 29 2 1",
		"0 0 1-7 1,7 *", "0 0 * * 6,0"} {
		c, err := ParseCron(expr)
		if err != nil {
			t.Fatal(err)
		}
		want, cycle := int64(0), int64(gregorianDays)
		first, _ := From(c.days, 0)
		for day := first; day < first+cycle; {
			next, _ := From(c.days, day+1)
			want, day = max(want, next-day), next
		}
		if got := widestGap(c.days); got != want {
			t.Errorf("%s: the widest gap is %d days, want %d", expr, got, want)
		}
	}
}

// TestWeeksComeInEachMonth: the search for a selected week in a given month of the year is short, for every month.
func TestWeeksComeInEachMonth(t *testing.T) {
	for every := int64(2); every <= maxWeeks; every++ {
		for number := 1; number <= 12; number++ {
			m, _ := monthOf(0)
			days := bothDays{&cronDays{dom: allDates, dow: 1, months: 1 << number}, weeksDays{every: every}}
			gap := 0
			for range 2 * gregorianMonths { // the selected weeks take every possible position in the month
				if gap++; days.mask(m) != 0 {
					gap = 0
				}
				if m = m.next(); gap >= 6*12 {
					t.Fatalf("every %d weeks, on a Sunday in month %d: none for six years", every, number)
				}
			}
		}
	}
}
