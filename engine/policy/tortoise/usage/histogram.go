// Package usage learns what the containers of a target use from samples: a decaying histogram of memory, and a series of the demand
// of the whole target. What is kept is small and survives restarts. It never keeps a sample, calls no clock, and learns demand, not
// what bounds allowed: usage is corrected for throttling and multiplied by the replicas that served it.
package usage

import (
	"math"
	"time"
)

// Buckets of histograms grow by a tenth or so: bucket i holds values from ratio^i to ratio^(i+1), of milli-CPU or MiB.
const (
	buckets = 120
	ratio   = 1.12
)

var logRatio = math.Log(ratio)

// bucket gives the bucket of a value; what is below 1 is in the first and what is beyond the last in that.
func bucket(v float64) int {
	return int(min(math.Log(max(v, 1))/logRatio, buckets-1))
}

// edge gives the lower edge of a bucket.
func edge(i int) float64 { return math.Pow(ratio, float64(i)) }

// Histogram is over everything that was seen, with older samples at less weight: a sample weighs half as much as one that is a
// half-life younger.
type Histogram struct {
	weights [buckets]float32
	// since is the instant whose samples weigh 1, in Unix seconds.
	since int64
}

// Add adds a value with a weight.
func (h *Histogram) Add(v, weight float64, now time.Time, halfLife time.Duration) {
	h.decay(now, halfLife)
	h.weights[bucket(v)] += float32(weight)
}

// decay moves the instant of weight 1 to now, an hour at a time. Time that runs backwards decays nothing.
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

// Quantile gives the value that a share q of the weight is not above, interpolated within the bucket in which the share is reached;
// zero where nothing was seen.
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
			return edge(i) * math.Pow(ratio, math.Max(want-sum, 0)/w)
		}
		sum, last = sum+w, i
	}
	return edge(last + 1)
}
