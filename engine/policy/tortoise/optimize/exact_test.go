package optimize

import (
	"math"
	"testing"
)

func TestWhatIsWorthAStep(t *testing.T) {
	g := DefaultGuard()
	for _, tc := range []struct {
		reason                string
		current, wanted, next int64
		ok                    bool
	}{
		{"exactly worth a step down", 1000, 970, 970, true},
		{"exactly worth a step up", 1000, 1030, 1030, true},
		{"as it is", 1000, 1000, 1000, false},
		{"a fifth of it is no whole number down", 4, 1, 4, false},
		{"nothing cannot grow by a share", 0, 10, 0, false},
		{"one too little up", 1000, 1029, 1000, false},
		{"exactly the largest step down", 1000, 800, 800, true},
		{"one more than that", 1000, 799, 800, true},
		{"a step down is rounded up", 999, 100, 800, true},
		{"exactly the largest step up", 1000, 2000, 2000, true},
		{"one more up than that", 1000, 2001, 2000, true},
	} {
		if next, ok := g.Step(tc.current, tc.wanted, false); next != tc.next || ok != tc.ok {
			t.Errorf("%s: %d, %t", tc.reason, next, ok)
		}
	}
}

func TestReplicasAreRoundedUp(t *testing.T) {
	b := Bounds{Min: 2, Max: 5}
	for demand, want := range map[float64]int{0: 2, 100: 2, 100.05: 2, 101: 3, 150: 3, 250: 5, 251: 5, math.Inf(1): 5} {
		if got := Replicas(demand, 100, Profile{Headroom: 0.5}, b); got != want {
			t.Errorf("%vm take %d pods, want %d", demand, got, want)
		}
	}
}

// TestTheReasonOfMemory checks that the reason rounds the request up to whole MiB: 1.2 * 100.25 = 120.3.
func TestTheReasonOfMemory(t *testing.T) {
	_, why := Memory(100.25*(1<<20), Profiles["Balanced"], 50<<20, 10<<30)
	if want := "memory: 121 MiB: 100 MiB were used (quantile 0.99, kills included), times 1.2"; why.String() != want {
		t.Errorf("it is %q, want %q", why, want)
	}
}
