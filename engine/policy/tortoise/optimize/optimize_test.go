package optimize

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func input(peak float64) Input {
	in := Input{
		Profile: Profiles["Balanced"], Request: 1000, Utilisation: 70, Tolerance: 0.1, Beside: 0.05, PerPod: 20,
		Bounds: Bounds{Min: 3, Max: 100, PreferredMax: 30, MinRequest: 50, MaxRequest: 10_000, MinUtilisation: 65, MaxUtilisation: 90},
	}
	for i := range 24 {
		e := peak * (0.55 - 0.45*math.Cos(2*math.Pi*float64(i)/24))
		in.Expected, in.Upper = append(in.Expected, e), append(in.Upper, 1.2*e)
	}
	return in
}

// TestADemandThatIsNoNumber takes no replica away.
func TestADemandThatIsNoNumber(t *testing.T) {
	if got := Replicas(math.NaN(), 100, Profiles["Balanced"], Bounds{Min: 3, Max: 20}); got != 20 {
		t.Errorf("%d replicas", got)
	}
}

func TestTheRequestShrinksForAMinimumThatBinds(t *testing.T) {
	c := Choose(input(2000))
	if c.Request >= 500 || c.Cost >= 0.8*c.Now {
		t.Errorf("for 2 cores at most it is %+v: three pods of a core at night are too much", c)
	}
	if len(c.Reasons) != 2 || !strings.Contains(c.Reasons[0].String(), "request: ") || !strings.Contains(c.Reasons[1].Text, "77 %") {
		t.Errorf("the reasons are %v", c.Reasons)
	}
}

// TestTheRequestGrowsForTooManyReplicas: one pod more than preferred costs as much again.
func TestTheRequestGrowsForTooManyReplicas(t *testing.T) {
	in := input(60_000)
	in.Bounds.Max = 1000
	c := Choose(in)
	if c.Request <= 2000 {
		t.Errorf("for 60 cores it is %dm, with 30 replicas preferred", c.Request)
	}
}

func TestTheAutoscalerActsWithinTheHeadroom(t *testing.T) {
	for name, want := range map[string]int{"Lean": 81, "Balanced": 77, "Safe": 68} {
		in := input(1000)
		in.Profile = Profiles[name]
		u := Utilisation(in)
		if u != want || float64(u)/100*(1+in.Tolerance) > in.Profile.Headroom {
			t.Errorf("%s has %d %%, want %d", name, u, want)
		}
	}
	in := input(1000)
	in.Bounds.MinUtilisation, in.Bounds.MaxUtilisation = 80, 80
	if u := Utilisation(in); u != 80 {
		t.Errorf("the bounds of utilisation are not kept: %d", u)
	}
}

// TestReplicasAreMonotone: more demand never means fewer, at every count, and bounds are never crossed (fault 2).
func TestReplicasAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{Min: rapid.IntRange(0, 10).Draw(t, "min")}
		b.Max = b.Min + rapid.IntRange(0, 100).Draw(t, "more")
		p := Profiles[rapid.SampledFrom([]string{"Lean", "Balanced", "Safe"}).Draw(t, "profile")]
		request := int64(rapid.IntRange(1, 10_000).Draw(t, "request"))
		demand := rapid.Float64Range(0, 1e7).Draw(t, "demand")
		less, more := Replicas(demand, request, p, b), Replicas(demand*rapid.Float64Range(1, 4).Draw(t, "factor"), request, p, b)
		if less > more || less < b.Min || more > b.Max {
			t.Fatalf("%d, and %d for more demand, within %+v", less, more, b)
		}
	})
}

func TestSteps(t *testing.T) {
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

// TestStepsArriveAndDoNotSaw: step by step a request comes within what is worth a step, without turning round.
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

func TestMemory(t *testing.T) {
	got, why := Memory(100<<20, Profiles["Balanced"], 50<<20, 10<<30)
	if got != 120<<20 || !strings.Contains(why.Text, "120 MiB") {
		t.Errorf("%d, %s", got, why)
	}
	for used, want := range map[float64]int64{1: 50 << 20, 1e12: 10 << 30} {
		got, why := Memory(used, Profiles["Balanced"], 50<<20, 10<<30)
		if got != want {
			t.Errorf("%g bytes make %d, want %d", used, got, want)
		}
		if by := map[int64]string{50 << 20: "; no less than 50 MiB by min of spec.resources or its default", 10 << 30: "; no more than 10240 MiB by max of spec.resources"}[want]; !strings.HasSuffix(why.Text, by) {
			t.Errorf("%g bytes: %s", used, why)
		}
	}
}
