package tune

import (
	"math"
	"time"
)

// Buckets of histograms grow by 12 percent: bucket i holds values from ratio^i to ratio^(i+1), in milli-CPU or MiB.
const (
	buckets = 120
	ratio   = 1.12
)

var logRatio = math.Log(ratio)

// bucket returns the bucket of a value. The first bucket also has all smaller values, and the last bucket has all larger
// values.
func bucket(v float64) int {
	return int(min(math.Log(max(v, 1))/logRatio, buckets-1))
}

// bound returns the lower bound of a bucket.
func bound(i int) float64 { return math.Pow(ratio, float64(i)) }

// Histogram has the weights of all values, with less weight for older values. After each half-life a value weighs half as
// much.
type Histogram struct {
	weights [buckets]float32
	// since is the instant at which an added value has the weight 1, in Unix seconds.
	since int64
}

// Add adds a value with a weight.
func (h *Histogram) Add(v, weight float64, now time.Time, halfLife time.Duration) {
	h.decay(now, halfLife)
	h.weights[bucket(v)] += float32(weight)
}

// decay moves the instant of weight 1 to now, in whole hours. If time runs backwards, nothing decays.
func (h *Histogram) decay(now time.Time, halfLife time.Duration) {
	hours := (now.Unix() - h.since) / 3600
	switch {
	case h.since == 0:
		h.since = now.Unix()
	case hours > 0:
		f := float32(math.Exp2(-float64(hours) / halfLife.Hours()))
		for i := range h.weights {
			h.weights[i] *= f
		}
		h.since += hours * 3600
	}
}

// Quantile returns the value that the share q of the weight does not exceed. It is interpolated within its bucket, and
// zero for an empty histogram.
func (h *Histogram) Quantile(q float64) float64 {
	total := 0.0
	for _, weight := range h.weights {
		total += float64(weight)
	}
	if total <= 0 {
		return 0
	}
	want, sum := q*total, 0.0
	last := 0
	for i, weight := range h.weights {
		w := float64(weight)
		if w <= 0 {
			continue
		}
		if sum+w >= want {
			return bound(i) * math.Pow(ratio, math.Max(want-sum, 0)/w)
		}
		sum, last = sum+w, i
	}
	return bound(last + 1)
}
