package tune

import (
	"testing"
	"time"
)

// TestASeasonThatIsOverReservesNothing uses a demand that falls to a fiftieth for good after three weeks. From the second day
// after that, at most a tenth of the capacity of the last day is reserved.
func TestASeasonThatIsOverReservesNothing(t *testing.T) {
	s := newScene()
	usual, end := s.demand, monday.Add(22*24*time.Hour+7*time.Hour)
	s.spec.Bounds.Min, s.setting.Min = 1, 1
	s.demand = func(at time.Time) float64 {
		d := 4 * usual(at)
		if at.After(end) {
			return d / 50
		}
		return d
	}
	reserved := func() int64 { return int64(s.setting.Min) * s.setting.Requests["app"].CPU }
	most := func(d time.Duration) (most int64) {
		for until := s.now.Add(d); s.now.Before(until); {
			s.minute()
			most = max(most, reserved())
		}
		return most
	}
	s.run(end.Sub(monday) - 24*time.Hour)
	before := most(24 * time.Hour)
	for day := range 16 {
		got := most(24 * time.Hour)
		t.Logf("day %d: %dm, and %dm before", day, got, before)
		if day >= 2 && got > before/10 {
			t.Errorf("on day %d after it is over %dm are reserved, and %dm were before", day, got, before)
		}
	}
}
