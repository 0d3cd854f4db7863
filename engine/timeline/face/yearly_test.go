package face

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestAnyJoinsSetsOfOneForm: a calendar may have entries of every form for each day of the year. Their joined set has
// the days of all entries.
func TestAnyJoinsSetsOfOneForm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var sets []Set
	for range 366 {
		y := v1alpha1.CalendarYearly{Month: 1 + random.Int32N(12)}
		switch random.IntN(4) {
		case 0:
			y.Day = 1 + random.Int32N(28)
		case 1:
			y.Day, y.InLieu = 1+random.Int32N(28), v1alpha1.InLieuMonday
		case 2:
			y.Nth = &v1alpha1.NthDay{Week: []int32{-5, -1, 1, 5}[random.IntN(4)], Day: v1alpha1.Day(weekdayNames()[random.IntN(7)])}
		case 3:
			y = v1alpha1.CalendarYearly{Easter: new(random.Int32N(121) - 60), InLieu: []v1alpha1.InLieu{"", v1alpha1.InLieuMonday}[random.IntN(2)]}
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
	if count(Any(sets...)); forms > 5 {
		t.Errorf("%d sets are looked at for each month, want those of five forms", forms)
	}
}
