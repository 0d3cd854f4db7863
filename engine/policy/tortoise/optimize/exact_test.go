package optimize

import (
	"math"
	"slices"
	"testing"
)

// half keeps demand within half of what is ready: a pod of 100m serves 50m, by the headroom as by a utilisation of 50 %. It costs
// 100m * 1.25 + 30m = 155m.
func half(most int) Input {
	return Input{
		Profile: Profile{Name: "half", Headroom: 0.5}, Bounds: Bounds{Min: 1, Max: most, MinRequest: 100, MaxRequest: 100},
		Request: 100, Beside: 0.25, PerPod: 30,
	}
}

func TestWhatARequestCosts(t *testing.T) {
	for _, tc := range []struct {
		reason          string
		most, preferred int
		upper, expected []float64
		want            float64
	}{
		{"six pods for what is expected", 10, 0, []float64{250}, []float64{300}, 930},
		{"five pods for the upper bound", 10, 0, []float64{250}, []float64{200}, 775},
		{"the mean of both", 10, 0, []float64{250, 250}, []float64{300, 200}, 852.5},
		{"the fewest pods", 10, 0, []float64{0}, []float64{0}, 155},
		{"as many as preferred", 10, 5, []float64{250}, []float64{200}, 775},
		{"one more than preferred costs twice", 10, 5, []float64{250}, []float64{300}, 1085},
		{"three more than preferred", 10, 3, []float64{250}, []float64{300}, 1395},
		{"more than there may be for what is expected", 3, 0, []float64{150}, []float64{300}, 465},
		{"short by a hundred", 3, 0, []float64{250}, []float64{0}, 1465},
		{"short by one is nothing", 3, 0, []float64{151}, []float64{0}, 465},
		{"short by two", 3, 0, []float64{152}, []float64{0}, 485},
		{"no step", 10, 0, nil, nil, 0},
	} {
		in := half(tc.most)
		in.Bounds.PreferredMax, in.Upper, in.Expected = tc.preferred, tc.upper, tc.expected
		if got := cost(in, 100, 50); got != tc.want {
			t.Errorf("%s: it is %v, want %v", tc.reason, got, tc.want)
		}
	}
}

func TestRequestsThatAreLookedAt(t *testing.T) {
	for _, tc := range []struct {
		least, most int64
		enough      float64
		want        []int64
	}{
		{100, 100, 1000, []int64{100}},
		{100, 101, 1000, []int64{100, 101}},
		{100, 120, 1000, []int64{100, 110, 120}},
		{100, 130, 1000, []int64{100, 110, 121, 130}},
		{100, 130, math.NaN(), []int64{100, 110, 121, 130}},
		{100, 1 << 50, 100, []int64{100}},
		{100, 1 << 50, 110.5, []int64{100, 110, 121}},
	} {
		if got := candidates(Bounds{MinRequest: tc.least, MaxRequest: tc.most}, tc.enough); !slices.Equal(got, tc.want) {
			t.Errorf("between %d and %d: %v, want %v", tc.least, tc.most, got, tc.want)
		}
	}
}

// TestARequestThatCostsAsMuchIsKept: a demand of 400m takes one pod of 1000m or two of 500m.
func TestARequestThatCostsAsMuchIsKept(t *testing.T) {
	in := half(10)
	in.Beside, in.PerPod, in.Request, in.Bounds.MinRequest, in.Bounds.MaxRequest = 0, 0, 1000, 500, 500
	in.Upper, in.Expected = []float64{400}, []float64{0}
	if c := Choose(in); c.Request != 1000 || c.Cost != 1000 || c.Now != 1000 {
		t.Errorf("it is %+v", c)
	}
	in.Upper[0] = 200
	if c := Choose(in); c.Request != 500 || c.Cost != 500 || c.Now != 1000 {
		t.Errorf("for half of that it is %+v", c)
	}
}

func TestReasonsOfAChoice(t *testing.T) {
	in := half(10)
	in.Profile.Headroom, in.Tolerance, in.Bounds.MaxUtilisation = 0.85, 0.1, 90
	in.Upper, in.Expected = []float64{250, 80, 120}, []float64{0, 0, 0}
	for i, want := range []string{
		"request: 100m costs least for a demand of 80m to 250m with 1 to 10 replicas: 310m on average, 310m with the current 100m",
		"utilisation: 77 %: with a tolerance of 10 % the autoscaler acts before 85 % are used (profile half)",
	} {
		// Three, one and two pods of 155m each, two on average.
		if got := Choose(in).Reasons[i].String(); got != want {
			t.Errorf("a reason is %q, want %q", got, want)
		}
	}
	in.Upper, in.Expected = nil, nil
	want := "request: 100m costs least for a demand of 0m to 0m with 1 to 10 replicas: 0m on average, 0m with the current 100m"
	if got := Choose(in).Reasons[0].String(); got != want {
		t.Errorf("where nothing is known it is %q", got)
	}
}

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
	for demand, want := range map[float64]int{0: 2, 100: 2, 101: 3, 150: 3, 250: 5, 251: 5, math.Inf(1): 5} {
		if got := Replicas(demand, 100, Profile{Headroom: 0.5}, b); got != want {
			t.Errorf("%vm take %d pods, want %d", demand, got, want)
		}
	}
}

// TestTheReasonOfMemory is rounded up to MiB, as 1.2 * 100.25 = 120.3.
func TestTheReasonOfMemory(t *testing.T) {
	_, why := Memory(100.25*(1<<20), Profiles["Balanced"], 50<<20, 10<<30)
	if want := "memory: 121 MiB: 100 MiB were used (quantile 0.99, kills included), times 1.2"; why.String() != want {
		t.Errorf("it is %q, want %q", why, want)
	}
}
