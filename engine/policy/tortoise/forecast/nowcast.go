package forecast

import "math"

// Nowcast learns how the next minutes follow from this one: by how much demand is off the pattern now (x), and by how much it is off at
// most until a pod that is started now serves (y), both as logarithms. It is a regression y = a + b x with sums that decay, and a histogram of
// what it missed. All of it is exported, so that it survives a restart.
type Nowcast struct {
	// Lead is how many minutes ahead y looks. Another lead begins anew.
	Lead int
	// Recent are the deviations of the last minutes, the newest last, as of the minute Last of Unix time. NaN is not kept: a gap clears them.
	Recent []float64
	Last   int64
	// W, X, Y, XX and XY are the sums of the regression.
	W, X, Y, XX, XY float64
	// Missed is the weight of residuals by bin; Total their sum.
	Missed [missedBins]float64
	Total  float64
}

// The bins of residuals: from -1 to 2, each of 0.02.
const (
	missedBins = 150
	missedLow  = -1.0
	missedBin  = 0.02
	// nowcastDecay is what a minute leaves of the sums: half in four days.
	nowcastDecay = 0.99988
	// nowcastReady is the weight from which a nowcast is used: twelve hours.
	nowcastReady = 600
	// clip bounds deviations: what is beyond says nothing of the usual noise.
	clip = 1.0
)

// IsSound says whether the sums are such as minutes make: each adds a deviation that is clipped, and weighs a little less in the next one.
func (n *Nowcast) IsSound() bool {
	const most, slack = 1 / (1 - nowcastDecay) * (1 + 1e-6), 1e-6
	within := func(v, of float64) bool { return math.Abs(v) <= of*(1+slack)+slack } // false of what is no number
	sound := n.Lead >= 0 && len(n.Recent) <= n.Lead && n.W >= 0 && n.W <= most && n.XX >= 0 && n.Total >= 0 && n.Total <= most
	for _, v := range []float64{n.X, n.Y, n.XX, n.XY} {
		sound = sound && within(v, n.W)
	}
	for _, v := range n.Recent {
		sound = sound && within(v, clip)
	}
	missed := 0.0
	for _, v := range n.Missed {
		sound = sound && v >= 0
		missed += v
	}
	return sound && within(missed, n.Total)
}

// Observe learns from the deviation in a minute of Unix time.
func (n *Nowcast) Observe(minute int64, deviation float64, lead int) {
	if n.Lead != lead {
		*n = Nowcast{Lead: lead}
	}
	if minute <= n.Last || math.IsNaN(deviation) || math.IsInf(deviation, 0) {
		return
	}
	if minute != n.Last+1 {
		n.Recent = n.Recent[:0]
	}
	n.Last = minute
	n.Recent = append(n.Recent, min(max(deviation, -clip), clip))
	if len(n.Recent) <= lead {
		return
	}
	x, y := n.Recent[0], math.Inf(-1)
	for _, v := range n.Recent[1:] {
		y = max(y, v)
	}
	copy(n.Recent, n.Recent[1:])
	n.Recent = n.Recent[:lead]
	if n.W > 60 {
		n.miss(y - n.mean(x))
	}
	for _, s := range []struct {
		sum *float64
		v   float64
	}{{&n.W, 1}, {&n.X, x}, {&n.Y, y}, {&n.XX, x * x}, {&n.XY, x * y}} {
		*s.sum = *s.sum*nowcastDecay + s.v
	}
}

func (n *Nowcast) miss(residual float64) {
	for i := range n.Missed {
		n.Missed[i] *= nowcastDecay
	}
	bin := int((residual - missedLow) / missedBin)
	n.Missed[min(max(bin, 0), missedBins-1)]++
	n.Total = n.Total*nowcastDecay + 1
}

// slope is b, between 0 and 1.
func (n *Nowcast) slope() float64 {
	variance := n.XX - n.X*n.X/n.W
	if variance <= 1e-9*n.W {
		return 0
	}
	return min(max((n.XY-n.X*n.Y/n.W)/variance, 0), 1)
}

func (n *Nowcast) mean(x float64) float64 {
	b := n.slope()
	return (n.Y-b*n.X)/n.W + b*x
}

// Upper gives how far above the pattern demand may be until a pod that is started now serves, as a factor, with the margin that costs
// least at a price of violations; false where too little was learnt, or the last minute is not known.
func (n *Nowcast) Upper(minute int64, price float64) (factor float64, ok bool) {
	if n.Total < nowcastReady || minute-n.Last > 3 || len(n.Recent) == 0 {
		return 0, false
	}
	best, margin, sum := math.Inf(1), 0.0, 0.0
	for i, w := range n.Missed {
		sum += w
		edge := missedLow + float64(i+1)*missedBin
		if edge < 0 {
			continue
		}
		if cost := math.Exp(edge) + price*(1-sum/n.Total); cost < best {
			best, margin = cost, edge
		}
	}
	newest := n.Recent[len(n.Recent)-1]
	return math.Exp(n.mean(newest) + margin), true
}
