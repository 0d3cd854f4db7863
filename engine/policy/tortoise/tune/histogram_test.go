package tune

import (
	"math"
	"testing"
	"time"
)

// place returns the value at a place on the scale of buckets. For example, 1.12^40 = 93, 1.12^41 = 104, 1.12^60 = 898 and
// 1.12^61 = 1005.
func place(p float64) float64 { return math.Pow(1.12, p) }

// total returns the sum of all weights.
func (h *Histogram) total() float64 {
	sum := 0.0
	for _, w := range h.weights {
		sum += float64(w)
	}
	return sum
}

func exactly(got, want float64) bool { return near(got, want, 1e-6) }

func TestBucketsOfValues(t *testing.T) {
	for v, want := range map[float64]int{-1: 0, 0: 0, 0.5: 0, 1: 0, 1.11: 0, 1.13: 1, 93: 39, 94: 40, 1000: 60, 1e300: 119, math.Inf(1): 119} {
		if got := bucket(v); got != want {
			t.Errorf("%v is in bucket %d, want %d", v, got, want)
		}
	}
}

// TestQuantilesAtBounds: two samples of 100 and two of 1000, in the buckets 40 and 60.
func TestQuantilesAtBounds(t *testing.T) {
	h := &Histogram{}
	for _, v := range []float64{100, 100, 1000, 1000} {
		h.Add(v, 1, monday, halfLife)
	}
	for q, want := range map[float64]float64{
		0: place(40), 0.25: place(40.5), 0.5: place(41), 0.75: place(60.5), 1: place(61), 1.5: place(61),
	} {
		if got := h.Quantile(q); !exactly(got, want) {
			t.Errorf("the quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestWeightHalvesInHours(t *testing.T) {
	h := &Histogram{}
	h.Add(100, 8, monday, 2*time.Hour)
	for _, step := range []struct {
		after time.Duration
		want  float64
	}{
		{59 * time.Minute, 8},
		{2*time.Hour - time.Second, 8 / math.Sqrt2},
		{2 * time.Hour, 4},
		{4 * time.Hour, 2},
		{3 * time.Hour, 2},
	} {
		h.decay(monday.Add(step.after), 2*time.Hour)
		if got := h.total(); !exactly(got, step.want) {
			t.Errorf("after %s the weight is %v, want %v", step.after, got, step.want)
		}
	}
}
