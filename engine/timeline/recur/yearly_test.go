package recur

import (
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
)

var inLieus = []v1alpha1.InLieu{"", v1alpha1.InLieuMonday, v1alpha1.InLieuFridayOrMonday, v1alpha1.InLieuMondayOrTuesday}

// TestAnyJoinsSetsOfOneForm: a calendar may have entries of every form for each day of the year. Their joined set has
// the days of all entries.
func TestAnyJoinsSetsOfOneForm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var sets []Set
	for range 366 {
		y := v1alpha1.CalendarYearly{Month: 1 + random.Int32N(12)}
		switch random.IntN(5) {
		case 0:
			y.Day = 1 + random.Int32N(28)
		case 1:
			y.Day, y.InLieu = 1+random.Int32N(28), inLieus[1+random.IntN(3)]
		case 2:
			y.Nth = &v1alpha1.NthDay{Week: []int32{-5, -1, 1, 5}[random.IntN(4)], Day: v1alpha1.Day(weekdayNames()[random.IntN(7)])}
		case 3:
			y = v1alpha1.CalendarYearly{Easter: new(random.Int32N(121) - 60), InLieu: inLieus[random.IntN(4)]}
		case 4:
			y = v1alpha1.CalendarYearly{OrthodoxEaster: new(random.Int32N(121) - 60), InLieu: inLieus[random.IntN(4)]}
		}
		days, errs := ParseYearly(y, field.NewPath("yearly"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		sets = append(sets, days)
	}
	for _, n := range []int{1, 2, 5, 30, len(sets)} {
		joined := Any(sets[:n]...)
		for m, _ := monthOf(0); m.year < 2000; m = m.next() {
			if got, want := joined.mask(m), anyDays(sets[:n]).mask(m); got != want {
				t.Fatalf("%d sets in %d-%02d: %032b, want %032b", n, m.year, m.number, got, want)
			}
		}
	}
	forms := 0
	var count func(Set)
	count = func(s Set) {
		switch s := s.(type) {
		case anyDays:
			for _, inner := range s {
				count(inner)
			}
		case movedDays:
			count(s.set)
		default:
			forms++
		}
	}
	if count(Any(sets...)); forms > 4+3*3 { // each kind of day in lieu has dates and both Easters
		t.Errorf("%d sets are looked at for each month, want those of thirteen forms", forms)
	}
}

// The dates are those of the Orthodox churches, from tables of Easter.
func TestOrthodoxEasterIsThatOfTheTables(t *testing.T) {
	for _, want := range []string{"1900-04-22", "2000-04-30", "2021-05-02", "2024-05-05", "2025-04-20", "2026-04-12", "2027-05-02",
		"2028-04-16", "2099-04-12", "2100-05-02"} {
		day, err := time.Parse(time.DateOnly, want)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Unix(orthodoxEaster(day.Year())*DaySeconds, 0).UTC().Format(time.DateOnly); got != want {
			t.Errorf("Easter is on %s, want %s", got, want)
		}
	}
}
