// Package usage learns what the containers of a target use from samples: decaying histograms over everything and for each hour of the
// week, and a series of the demand of the whole target. What is kept is small, survives restarts and can be merged. It never keeps a
// sample, calls no clock, and learns demand, not what bounds allowed: usage is corrected for throttling and multiplied by the
// replicas that served it.
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

// Total is the weight of all values.
func (h *Histogram) Total() float64 {
	sum := 0.0
	for _, w := range h.weights {
		sum += float64(w)
	}
	return sum
}

// Quantile gives the value that a share q of the weight is not above; zero where nothing was seen.
func (h *Histogram) Quantile(q float64) float64 {
	return quantile(q, func(i int) float64 { return float64(h.weights[i]) })
}

// quantile walks buckets, and interpolates within the one in which the share is reached.
func quantile(q float64, weight func(int) float64) float64 {
	total := 0.0
	for i := range buckets {
		total += weight(i)
	}
	if total <= 0 {
		return 0
	}
	want, sum := q*total, 0.0
	last := 0
	for i := range buckets {
		w := weight(i)
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

// merge adds another histogram that halves by halfLife, brought to the later of both instants.
func (h *Histogram) merge(o *Histogram) {
	if o.since == 0 {
		return
	}
	other := *o
	if h.since == 0 {
		*h = other
		return
	}
	later := time.Unix(max(h.since, other.since), 0)
	h.decay(later, halfLife)
	other.decay(later, halfLife)
	for i, w := range other.weights {
		h.weights[i] += w
	}
}

// hoursOfWeek is the number of slots: one an hour of the week, from Monday 00:00 on.
const hoursOfWeek = 7 * 24

// maxCells bounds the buckets kept for an hour of the week.
const maxCells = 12

// unit is the weight 1 in cells.
const unit = 128

// slot is the histogram of one hour of the week, in 40 bytes: so many buckets in ascending order, with their weights. week is when it
// was last added to, in weeks of Unix time: older weight halves every halfWeeks.
type slot struct {
	weights [maxCells]uint16
	week    uint16
	buckets [maxCells]uint8
	n       uint8
}

const (
	weekSeconds = 7 * 24 * 3600
	halfWeeks   = 2
)

func (s *slot) add(v float64, now time.Time) {
	s.decay(uint16(now.Unix() / weekSeconds))
	s.put(uint8(bucket(v)), unit)
}

func (s *slot) decay(week uint16) {
	if week > s.week {
		f := math.Exp2(-float64(week-s.week) / halfWeeks)
		kept := uint8(0)
		for i := range s.n {
			if w := uint16(float64(s.weights[i]) * f); w > 0 {
				s.buckets[kept], s.weights[kept] = s.buckets[i], w
				kept++
			}
		}
		s.n = kept
	}
	s.week = max(s.week, week)
}

// put adds weight to a bucket. Where there are too many, the lightest goes into the next one above, so that no quantile falls.
func (s *slot) put(b uint8, weight uint16) {
	i := uint8(0)
	for i < s.n && s.buckets[i] < b {
		i++
	}
	if i < s.n && s.buckets[i] == b {
		s.weights[i] = saturated(s.weights[i], weight)
		return
	}
	if s.n == maxCells {
		if i = s.lift(i, b, weight); i == maxCells {
			return
		}
	}
	copy(s.buckets[i+1:], s.buckets[i:s.n])
	copy(s.weights[i+1:], s.weights[i:s.n])
	s.buckets[i], s.weights[i] = b, weight
	s.n++
}

// lift makes room for a bucket that is to be at i: the lightest but the highest goes into the one above it. It gives the place for the
// new one, and maxCells where the new one is the lightest and went up itself.
func (s *slot) lift(i, b uint8, weight uint16) uint8 {
	lightest := uint8(0)
	for j := range uint8(maxCells - 1) {
		if s.weights[j] < s.weights[lightest] {
			lightest = j
		}
	}
	if weight <= s.weights[lightest] && i < maxCells {
		s.weights[i] = saturated(s.weights[i], weight)
		return maxCells
	}
	if above := lightest + 1; i == above {
		// The new one comes between: it takes the weight itself.
		s.buckets[lightest], s.weights[lightest] = b, saturated(s.weights[lightest], weight)
		return maxCells
	}
	s.weights[lightest+1] = saturated(s.weights[lightest+1], s.weights[lightest])
	copy(s.buckets[lightest:], s.buckets[lightest+1:])
	copy(s.weights[lightest:], s.weights[lightest+1:])
	s.n--
	if i > lightest {
		i--
	}
	return i
}

func saturated(a, b uint16) uint16 { return uint16(min(uint32(a)+uint32(b), math.MaxUint16)) }

func (s *slot) merge(o *slot) {
	week := max(s.week, o.week)
	other := *o
	s.decay(week)
	other.decay(week)
	for i := range other.n {
		s.put(other.buckets[i], other.weights[i])
	}
}

// addTo adds the weights of the slot to those of buckets, and gives their sum.
func (s *slot) addTo(all *[buckets]float64) float64 {
	sum := 0.0
	for i := range s.n {
		all[s.buckets[i]] += float64(s.weights[i])
		sum += float64(s.weights[i])
	}
	return sum
}
