package tune

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestStepsAreBoundedByTheGuard(t *testing.T) {
	g := DefaultGuard()
	for _, tc := range []struct {
		reason                string
		current, wanted, next int64
		needed, ok            bool
	}{
		{"nothing to do", 1000, 1000, 1000, true, false},
		{"down, to a fifth less", 1000, 100, 800, false, true},
		{"down within a step", 1000, 900, 900, false, true},
		{"down by too little", 1000, 971, 1000, false, false},
		{"up, to twice", 1000, 5000, 2000, true, true},
		{"up by little, needed", 1000, 1010, 1010, true, true},
		{"up by little, not needed", 1000, 1010, 1000, false, false},
	} {
		if next, ok := g.Step(tc.current, tc.wanted, tc.needed); next != tc.next || ok != tc.ok {
			t.Errorf("%s: %d, %t", tc.reason, next, ok)
		}
	}
}

// TestStepsArriveAndDoNotSaw checks that a request comes as close to the wanted one as the smallest useful step,
// step by
// step, without a change of direction.
func TestStepsArriveAndDoNotSaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := DefaultGuard()
		current, wanted := int64(rapid.IntRange(20, 1e6).Draw(t, "current")), int64(rapid.IntRange(20, 1e6).Draw(t, "wanted"))
		for range 100 {
			next, ok := g.Step(current, wanted, false)
			if !ok {
				break
			}
			if (next > current) != (wanted > current) || (next > wanted) != (current > wanted) && next != wanted {
				t.Fatalf("from %d to %d on the way to %d", current, next, wanted)
			}
			current = next
		}
		if math.Abs(float64(current-wanted)) > g.Worth*float64(current)+1 {
			t.Fatalf("it stays at %d, wanted %d", current, wanted)
		}
	})
}

func TestMemoryRequestHasItsReason(t *testing.T) {
	got, why := Memory(100<<20, Profiles["Balanced"], 50<<20, 10<<30)
	if got != 120<<20 || !strings.Contains(why.Text, "120 MiB") {
		t.Errorf("%d, %s", got, why)
	}
	for used, want := range map[float64]int64{1: 50 << 20, 1e12: 10 << 30} {
		got, why := Memory(used, Profiles["Balanced"], 50<<20, 10<<30)
		if got != want {
			t.Errorf("%g bytes make %d, want %d", used, got, want)
		}
		if by := map[int64]string{50 << 20: "; no less than 50 MiB by min of spec.resources or its default",
			10 << 30: "; no more than 10240 MiB by max of spec.resources"}[want]; !strings.HasSuffix(why.Text, by) {
			t.Errorf("%g bytes: %s", used, why)
		}
	}
}

func TestGuardStepsOnlyForWorthwhileChanges(t *testing.T) {
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

// TestTheReasonOfMemory checks that the reason rounds the request up to whole MiB: 1.2 * 100.25 = 120.3.
func TestTheReasonOfMemory(t *testing.T) {
	_, why := Memory(100.25*(1<<20), Profiles["Balanced"], 50<<20, 10<<30)
	if want := "memory: 121 MiB: 100 MiB were used (quantile 0.99, kills included), times 1.2"; why.String() != want {
		t.Errorf("it is %q, want %q", why, want)
	}
}
