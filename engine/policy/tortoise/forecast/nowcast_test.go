package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func equal(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want)) }

// TestSumsOfTheRegression: with a lead of two minutes, x is a deviation and y the larger of the next two.
func TestSumsOfTheRegression(t *testing.T) {
	n := &Nowcast{}
	for minute, v := range []float64{0.1, 0.2} {
		n.Observe(int64(10+minute), v, 2)
	}
	if n.W != 0 || !slices.Equal(n.Recent, []float64{0.1, 0.2}) {
		t.Fatalf("after two minutes it is %+v", n)
	}
	n.Observe(11, 9, 2) // once more the same minute
	n.Observe(12, 0.3, 2)
	if n.W != 1 || n.X != 0.1 || n.Y != 0.3 || !equal(n.XX, 0.01) || !equal(n.XY, 0.03) || !slices.Equal(n.Recent, []float64{0.2, 0.3}) {
		t.Fatalf("after three minutes it is %+v", n)
	}
	n.Observe(13, 0.05, 2)
	const d = nowcastDecay
	if !equal(n.W, d+1) || !equal(n.X, 0.1*d+0.2) || !equal(n.Y, 0.3*d+0.3) || !equal(n.XX, 0.01*d+0.04) || !equal(n.XY, 0.03*d+0.06) {
		t.Errorf("after four minutes it is %+v", n)
	}
	before := n.W
	for i, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if n.Observe(int64(14+i), v, 2); n.W != before || n.Last != 13 {
			t.Errorf("%v was learnt", v)
		}
	}
	if n.Observe(15, 5, 2); n.W != before || !slices.Equal(n.Recent, []float64{1}) {
		t.Errorf("after a gap it goes on from %v, with what is beyond 1 cut off", n.Recent)
	}
	if n.Observe(16, -5, 2); !slices.Equal(n.Recent, []float64{1, -1}) {
		t.Errorf("what is below -1 is not cut off: %v", n.Recent)
	}
}

// TestTheLineOfTheRegression: of a weight of 100, with X 20, Y 30 and XX 8 the variance is 8 - 20 * 20 / 100 = 4.
func TestTheLineOfTheRegression(t *testing.T) {
	for _, tc := range []struct {
		reason       string
		n            Nowcast
		slope, at0_4 float64
	}{
		{"(8 - 6) / 4", Nowcast{W: 100, X: 20, Y: 30, XX: 8, XY: 8}, 0.5, 0.4},
		{"no more than 1", Nowcast{W: 100, X: 20, Y: 30, XX: 8, XY: 20}, 1, 0.5},
		{"no less than 0", Nowcast{W: 100, X: 20, Y: 30, XX: 8, XY: 5}, 0, 0.3},
		{"no variance", Nowcast{W: 100, Y: 10, XX: 5e-8, XY: 5e-8}, 0, 0.1},
		{"little variance", Nowcast{W: 100, XX: 2e-7, XY: 1e-7}, 0.5, 0.2},
	} {
		if b, y := tc.n.slope(), tc.n.mean(0.4); !equal(b, tc.slope) || !equal(y, tc.at0_4) {
			t.Errorf("%s: the slope is %v, and 0.4 becomes %v", tc.reason, b, y)
		}
	}
}

// TestWhatWasMissed: a deviation of 0.51 where 0.1 was to come is 0.41 more, in the bin from 0.40 to 0.42. It counts from a weight of 60 on.
func TestWhatWasMissed(t *testing.T) {
	for weight, missed := range map[float64]float64{60: 0, 60.5: 1} {
		n := &Nowcast{Lead: 1, Last: 9, Recent: []float64{0.2}, W: weight, Y: 0.1 * weight}
		if n.Observe(10, 0.51, 1); n.Total != missed || n.Missed[70] != missed {
			t.Errorf("at a weight of %v it is %v, %v of it between 0.40 and 0.42", weight, n.Total, n.Missed[70])
		}
	}
	n := &Nowcast{}
	for _, residual := range []float64{5, -5} {
		n.miss(residual)
	}
	if n.Missed[0] != 1 || n.Missed[missedBins-1] != nowcastDecay || n.Total != nowcastDecay+1 {
		t.Errorf("what is beyond the bins is not in the last ones: %v and %v of %v", n.Missed[0], n.Missed[missedBins-1], n.Total)
	}
}

// missed has half of its residuals between 0.20 and 0.22, and half between 0.40 and 0.42. The newest deviation is 0.3, and as much is
// to come.
func missed(weight float64) *Nowcast {
	n := &Nowcast{Lead: 1, Last: 100, Recent: []float64{0.9, 0.3}, W: 100, XX: 4, XY: 4, Total: weight}
	n.Missed[60], n.Missed[70] = weight/2, weight/2
	return n
}

// TestTheMarginCostsLeast: no margin costs 1 and the price, 0.22 costs 1.246 and half of it, and 0.42 costs 1.522.
func TestTheMarginCostsLeast(t *testing.T) {
	for price, margin := range map[float64]float64{0.1: 0, 0.4: 0, 0.52: 0.22, 0.54: 0.22, 0.56: 0.42, 2: 0.42} {
		if got, ok := missed(nowcastReady).Upper(100, price); !ok || !equal(got, math.Exp(0.3+margin)) {
			t.Errorf("at a price of %v the margin is %v, want %v", price, math.Log(got)-0.3, margin)
		}
	}
}

func TestWhenANowcastIsUsed(t *testing.T) {
	for _, tc := range []struct {
		reason string
		n      *Nowcast
		minute int64
		ok     bool
	}{
		{"just enough was learnt", missed(nowcastReady), 100, true},
		{"a little less", missed(nowcastReady - 0.001), 100, false},
		{"three minutes ago", missed(nowcastReady), 103, true},
		{"four minutes ago", missed(nowcastReady), 104, false},
		{"no deviation is known", &Nowcast{Last: 100, W: 100, Total: nowcastReady}, 100, false},
	} {
		if _, ok := tc.n.Upper(tc.minute, 1); ok != tc.ok {
			t.Errorf("%s: it is used: %t", tc.reason, ok)
		}
	}
}

// TestWhatIsLearntIsSound, whatever the deviations, the gaps and the lead.
func TestWhatIsLearntIsSound(t *testing.T) {
	noisy := rand.New(rand.NewPCG(3, 4))
	n, minute := Nowcast{}, int64(1000)
	for i := range 40_000 {
		minute += 1 + int64(noisy.IntN(1000)/999)
		n.Observe(minute, 4*noisy.NormFloat64(), 4+i/20_000)
		if i%1000 == 0 && !n.IsSound() {
			t.Fatalf("after %d minutes it has %+v", i, n)
		}
	}
	if !n.IsSound() || n.W < 1000 {
		t.Errorf("it has %+v", n)
	}
	n.XY = math.NaN()
	if n.IsSound() {
		t.Error("what is no number is sound")
	}
}

// TestSumsAtTheirLimitsAreSound: those of a Nowcast that has learnt nothing, and those that sums come to as minutes go on for ever.
func TestSumsAtTheirLimitsAreSound(t *testing.T) {
	const forever = 1 / (1 - nowcastDecay)
	full := Nowcast{Lead: 2, Recent: []float64{1, -1}, W: forever, X: forever, Y: -forever, XX: forever, XY: -forever, Total: forever}
	full.Missed[0] = forever
	for what, n := range map[string]Nowcast{"one that has learnt nothing": {}, "one that has learnt for ever": full} {
		if !n.IsSound() {
			t.Errorf("%s is not sound", what)
		}
	}
	for what, edit := range map[string]func(*Nowcast){
		"a lead below zero":                    func(n *Nowcast) { n.Lead, n.Recent = -1, nil },
		"more minutes than its lead":           func(n *Nowcast) { n.Lead = 1 },
		"more weight than for ever":            func(n *Nowcast) { n.W *= 1.001 },
		"a weight below zero":                  func(n *Nowcast) { n.W, n.X, n.Y, n.XX, n.XY = -1e-7, 0, 0, 0, 0 },
		"squares below zero":                   func(n *Nowcast) { n.XX = -1e-7 },
		"a sum above its weight":               func(n *Nowcast) { n.X *= 1.001 },
		"one below minus its weight":           func(n *Nowcast) { n.Y *= 1.001 },
		"a deviation that is not clipped":      func(n *Nowcast) { n.Recent[1] = -1.001 },
		"more was missed than there was":       func(n *Nowcast) { n.Missed[0] *= 1.001 },
		"more in all was missed than for ever": func(n *Nowcast) { n.Total *= 1.001 },
		"less than nothing was missed":         func(n *Nowcast) { n.Missed[0], n.Missed[1] = forever/2, -1 },
	} {
		n := full
		n.Recent = slices.Clone(full.Recent)
		if edit(&n); n.IsSound() {
			t.Errorf("%s is sound", what)
		}
	}
}
