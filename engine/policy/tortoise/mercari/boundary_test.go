package mercari

import "testing"

// TestAMaximumThatIsNotBelowTheLeastMinimumStays uses a factor of 1.5. Two replicas give 3, which is not below the least
// minimum of 3. One replica gives 2, which becomes 3 * 1.5 / 0.5 = 9.
func TestAMaximumThatIsNotBelowTheLeastMinimumStays(t *testing.T) {
	odd := Default()
	odd.MaxFactor = 1.5
	for replicas, want := range map[int32]int32{1: 9, 2: 3, 3: 5} {
		if got := odd.Maximum(Slot{}, replicas, now).Value; got != want {
			t.Errorf("%d replicas make a maximum of %d, want %d", replicas, got, want)
		}
	}
}

// TestARequestIsHeldAtExactlyTheStepDown uses a buffer of a quarter. At a request of 25 both sides are equal: 25 / 1.25 *
// 0.75 = 15 = 12 * 1.25.
func TestARequestIsHeldAtExactlyTheStepDown(t *testing.T) {
	quarter := Default()
	quarter.Buffer = 0.25
	for request, want := range map[int64]int64{24: 24, 25: 25, 26: 20} {
		if got := quarter.Vertical(request, 12, Limits{GlobalMax: 1000}).Size; got != want {
			t.Errorf("a request of %d becomes %d, want %d", request, got, want)
		}
	}
}
