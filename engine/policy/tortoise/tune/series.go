package tune

import (
	"math"
	"time"
)

// Step is the time between two points of a Series. Points is the number of kept points, which cover ten days.
const (
	Step   = time.Minute
	Points = int(10 * 24 * time.Hour / Step)
)

// Point is the mean demand of a whole target in one step, in milli-CPU. It has no meaning unless Known is true.
type Point struct {
	Mean  float64
	Known bool
}

// packed is a demand in two bytes: a logarithm with a precision of 0.05 %. Zero is unknown.
type packed uint16

const precision = 2000

func pack(v float64) packed {
	return packed(min(1+math.Round(math.Log1p(max(v, 0))*precision), math.MaxUint16))
}

func unpack(code packed) float64 { return math.Expm1(float64(code-1) / precision) }

// Series is the mean demand of a target by the minute. It is a ring with the last ten days.
type Series struct {
	ring ring
	// last is the number of the newest step, in steps of Unix time; zero: no step has begun.
	last int64
	// sum and count are the sum and the number of the demands in the newest step. latest is the last added demand.
	sum, latest float64
	count       int
}

// ring has a place for each kept step. It consists of three blocks, which fill 99 % of their size class in the allocator.
// A single block would fill 88 % of its size class.
type ring [3]*[Points / 3]packed

func newRing() (r ring) {
	for i := range r {
		r[i] = new([Points / 3]packed)
	}
	return r
}

// at returns the place of a step.
func (r *ring) at(step int64) *packed {
	i := step % int64(Points)
	block := int64(len(r[0]))
	return &r[i/block][i%block]
}

// oldest returns the first kept step, given the newest step. It is at least 1, because zero means no step.
func oldest(newest int64) int64 { return max(newest-int64(Points)+1, 1) }

// stepOf returns the number of the step that contains an instant.
func stepOf(at time.Time) int64 { return at.Unix() / int64(Step/time.Second) }

// ahead is the number of steps by which the newest step may be ahead of the clock: those of an hour. A newest step further
// ahead was written with a wrong clock.
const ahead = int64(time.Hour / Step)

// Add adds the demand at an instant, in milli-CPU. Skipped steps stay unknown. A demand that is older than the newest step
// is dropped. But if the newest step is too far ahead, the steps after the demand are dropped instead.
func (s *Series) Add(demand float64, at time.Time) {
	n := stepOf(at)
	if n < 1 || math.IsNaN(demand) {
		return
	}
	if s.last-n > ahead {
		s.rewind(n - 1)
	}
	if n < s.last {
		return
	}
	if n != s.last {
		s.flush()
		if s.ring[0] == nil {
			s.ring = newRing()
		}
		for gap := max(s.last+1, oldest(n)); gap <= n; gap++ {
			*s.ring.at(gap) = 0
		}
		s.last, s.sum, s.count = n, 0, 0
	}
	s.sum += demand
	s.latest = demand
	s.count++
}

// rewind drops all steps after the given one.
func (s *Series) rewind(to int64) {
	for n := max(to+1, oldest(s.last)); n <= s.last; n++ {
		*s.ring.at(n) = 0
	}
	s.last, s.sum, s.count = to, 0, 0
}

// flush writes the newest step into the ring.
func (s *Series) flush() {
	if s.count > 0 {
		*s.ring.at(s.last) = pack(s.sum / float64(s.count))
	}
}

// Last returns the number of the newest step, in steps of Unix time; zero: there is none.
func (s *Series) Last() int64 { return s.last }

// At returns the point of a step.
func (s *Series) At(step int64) Point {
	switch {
	case s.last == 0 || step > s.last || step < oldest(s.last):
		return Point{}
	case step == s.last && s.count > 0:
		return Point{Mean: s.sum / float64(s.count), Known: true}
	}
	code := *s.ring.at(step)
	if code == 0 {
		return Point{}
	}
	return Point{Mean: unpack(code), Known: true}
}

// Latest returns the last added demand, in milli-CPU.
func (s *Series) Latest() float64 { return s.latest }
