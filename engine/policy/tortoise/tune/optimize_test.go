package tune

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// input returns an input with a noisy demand of some days, which varies between a tenth of the peak and the peak. The
// owner has pods of 1000m, a minimum of three, and a target of 70 %.
func input(peak float64, days int) Input {
	r := rand.New(rand.NewPCG(1, 2))
	in := Input{
		Profile: Profiles["Balanced"], System: Default(), Tolerance: 0.1, Beside: 0.05, PerPod: 60, PerCPU: 0.02, Known: 1000,
		Resizing: 0.05,
		Bounds:   Bounds{Min: 3, Max: 100, MinRequest: 50, MaxRequest: 10_000, MinUtilisation: 50, MaxUtilisation: 90},
		Owner:    Aim{Request: 1000, Target: 70, Floor: 3000},
	}
	in.Now = in.Owner
	for i := range days * 24 * 60 {
		d := peak * (0.55 - 0.45*math.Cos(2*math.Pi*float64(i)/1440)) * math.Exp(0.05*r.NormFloat64())
		in.Load.Demand = append(in.Load.Demand, float32(d))
	}
	in.Peaks = make([]float64, days*24)
	return in
}

// TestADemandThatIsNoNumber checks that such a demand needs the maximum, so no replica is taken away.
func TestADemandThatIsNoNumber(t *testing.T) {
	if got := Replicas(math.NaN(), 100, Profiles["Balanced"], Bounds{Min: 3, Max: 20}); got != 20 {
		t.Errorf("%d replicas", got)
	}
}

func TestTheRequestShrinksForAMinimumThatBinds(t *testing.T) {
	c := Choose(input(2000, 3))
	if c.Aim.Request > 500 || c.After.Cost >= 0.8*c.Before.Cost || c.After.Minutes > c.Owner.Minutes+2 {
		t.Errorf("for 2 cores at most it is %+v: three pods of a core at night are too much", c)
	}
	in := input(2000, 3)
	if in.Resizing = 0; Choose(in).Aim.Request != 1000 {
		t.Error("the request changes although it must not")
	}
}

// TestTheRequestGrowsForTooManyReplicas checks that the request grows if more replicas than preferred are needed:
// each of
// them costs twice as much.
func TestTheRequestGrowsForTooManyReplicas(t *testing.T) {
	in := input(60_000, 2)
	in.Bounds.Max, in.Bounds.PreferredMax = 1000, 30
	if c := Choose(in); c.Aim.Request < 1900 {
		t.Errorf("for 60 cores it is %dm, with 30 replicas preferred", c.Aim.Request)
	}
}

// TestTheRequestStaysWithinItsBounds checks that the chosen request is not below the minimum.
func TestTheRequestStaysWithinItsBounds(t *testing.T) {
	in := input(2000, 2)
	in.Bounds.MinRequest = 700
	if c := Choose(in); c.Aim.Request < 700 {
		t.Errorf("it is %dm", c.Aim.Request)
	}
}

// TestSecondChoiceFromEqualDemandKeepsTheAim checks that a second choice from the same demand keeps the aim of the
// first.
func TestSecondChoiceFromEqualDemandKeepsTheAim(t *testing.T) {
	in := input(4000, 3)
	c := Choose(in)
	if c.Aim == in.Now {
		t.Fatal("nothing is better than what the owner has")
	}
	in.Now, in.Resizing = c.Aim, 0.1
	if again := Choose(in); again.Aim != c.Aim || again.After != again.Before {
		t.Errorf("from %+v it goes on to %+v", c.Aim, again.Aim)
	}
}

// TestAMinimumByHourWhereItPays uses a demand that jumps to ten times as much each day at noon, faster than pods
// start.
func TestAMinimumByHourWhereItPays(t *testing.T) {
	in := input(10_000, 4)
	in.System.Start = 3 * time.Minute
	for i := range in.Load.Demand {
		in.Load.Demand[i] = 1000
		if hour := i / 60 % 24; hour == 12 || hour == 13 {
			in.Load.Demand[i] = 10_000
		}
	}
	for i := range in.Peaks {
		if in.Peaks[i] = 1000; i >= 24 && (i%24 == 12 || i%24 == 13) {
			in.Peaks[i] = 10_000
		}
	}
	c := Choose(in)
	if c.Aim.Share < 0.7 || c.After.Minutes > 0.5*c.Owner.Minutes || c.After.Cost > c.Owner.Cost {
		t.Errorf("it is %+v", c)
	}
	clear(in.Peaks)
	if c := Choose(in); c.Aim.Share != 0 && c.After.Minutes < c.Before.Minutes {
		t.Errorf("where nothing is known of days before it is %+v", c)
	}
}

// TestNoMoreViolationsThanTheOwner checks that a choice has at most a minute of violations more in a week than the
// owner's
// setting, even if violations have no price.
func TestNoMoreViolationsThanTheOwner(t *testing.T) {
	in := input(8000, 7)
	in.Profile.Violation = 0
	for i := 500; i < len(in.Load.Demand); i += 700 { // bursts of demand
		for k := range 5 {
			in.Load.Demand[i+k] *= 2
		}
	}
	c := Choose(in)
	if c.Owner.Minutes < 20 || c.After.Minutes > c.Owner.Minutes+spare {
		t.Errorf("it is %+v", c)
	}
	s := search{in: in}
	if cheap := s.play(Aim{Request: 1000, Target: 77}); cheap.Cost > c.After.Cost || cheap.Minutes < c.Owner.Minutes+spare {
		t.Errorf("nothing is cheaper for more violations: %+v", cheap)
	}
}

// TestRequestFollowsDemandWithoutAnAutoscaler checks that the request follows the demand if there is no autoscaler.
func TestRequestFollowsDemandWithoutAnAutoscaler(t *testing.T) {
	in := input(900, 2)
	in.Bounds.Min, in.Bounds.Max, in.Owner.Target, in.Now.Target = 3, 3, 0, 0
	c := Choose(in)
	if c.Aim.Target != 0 || c.Aim.Request >= 600 || c.Aim.Request < 300 {
		t.Errorf("it is %+v", c)
	}
}

func TestTheMinimumOfAnAim(t *testing.T) {
	b := Bounds{Min: 2, Max: 9}
	for _, tc := range []struct {
		aim  Aim
		peak float64
		want int
	}{
		{Aim{}, 5000, 2}, {Aim{Floor: 450}, 5000, 5}, {Aim{Share: 0.5}, 1500, 8}, {Aim{Share: 0.5}, 5000, 9},
		{Aim{Floor: 450, Share: 0.5}, 500, 5},
	} {
		if got := tc.aim.Minimum(tc.peak, 100, b); got != tc.want {
			t.Errorf("%+v with a peak of %g: %d, want %d", tc.aim, tc.peak, got, tc.want)
		}
	}
	if got := (Aim{Floor: 500}).Minimum(0, 0, b); got != 9 {
		t.Errorf("for pods that request nothing it is %d", got)
	}
}

func TestTheTextOfAChoice(t *testing.T) {
	b := Bounds{Min: 2, Max: 9}
	c := Choice{
		Aim: Aim{Request: 500, Target: 65, Floor: 1500}, Owner: Result{Cost: 12_345, Minutes: 31.4, Known: 7 * 1440},
		Before: Result{Cost: 10_000, Minutes: 8}, After: Result{Cost: 9111, Minutes: 4, Known: 7 * 1440},
	}
	if got, want := c.Text(b),
		"9.11 cores instead of 12.35 cores as its owner has it, and 4 slow minutes instead of 31, in a replay of 7 days with 3 to 9 pods of "+
			"500m at 65 %; before this choice 10.00 cores and 8"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	c.Aim.Target, c.After.Known = 0, 23*60
	if got, want := c.Text(b), "in a replay of 23 hours with 3 to 9 pods of 500m; before"; !strings.Contains(got, want) {
		t.Errorf("it is %q, want %q", got, want)
	}
}

func TestTheAutoscalerActsWithinTheHeadroom(t *testing.T) {
	for name, want := range map[string]int{"Lean": 81, "Balanced": 77, "Safe": 68} {
		in := input(1000, 1)
		in.Profile = Profiles[name]
		u := Utilisation(in)
		if u != want || float64(u)/100*(1+in.Tolerance) > in.Profile.Headroom {
			t.Errorf("%s has %d %%, want %d", name, u, want)
		}
	}
	in := input(1000, 1)
	in.Bounds.MinUtilisation, in.Bounds.MaxUtilisation = 80, 80
	if u := Utilisation(in); u != 80 {
		t.Errorf("the bounds of utilisation are not kept: %d", u)
	}
}

// TestReplicasAreMonotone checks that more demand never needs fewer replicas, and that the replicas stay within the
// bounds
// (fault 2).
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

func TestReplicasAreRoundedUp(t *testing.T) {
	b := Bounds{Min: 2, Max: 5}
	for demand, want := range map[float64]int{0: 2, 100: 2, 100.05: 2, 101: 3, 150: 3, 250: 5, 251: 5, math.Inf(1): 5} {
		if got := Replicas(demand, 100, Profile{Headroom: 0.5}, b); got != want {
			t.Errorf("%vm take %d pods, want %d", demand, got, want)
		}
	}
}

// BenchmarkChoose is the daily choice of a target.
func BenchmarkChoose(b *testing.B) {
	in := input(8000, 7)
	for b.Loop() {
		Choose(in)
	}
}
