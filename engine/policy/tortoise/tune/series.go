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

// hour has the demands of an hour, in a byte each: 1 is the smallest of them, 255 the largest, and 0 is unknown. The demands of an hour
// are so close together that the precision is about 1 % where the largest is a dozen times the smallest.
type hour struct {
	low, high packed
	codes     [steps]uint8
}

// steps is the number of steps in an hour. levels is the number of intervals between the smallest and the largest demand of an hour.
const (
	steps  = int64(time.Hour / Step)
	levels = math.MaxUint8 - 1
)

// packHour returns the demands of an hour in a byte each.
func packHour(points *[steps]packed) (h hour) {
	for _, p := range points {
		if p != 0 && (h.low == 0 || p < h.low) {
			h.low = p
		}
		h.high = max(h.high, p)
	}
	span := max(int(h.high)-int(h.low), 1)
	for i, p := range points {
		if p != 0 {
			h.codes[i] = uint8(1 + (int(p-h.low)*levels+span/2)/span)
		}
	}
	return h
}

// at returns the demand of a step of the hour.
func (h *hour) at(step int64) packed {
	code := int(h.codes[step%steps])
	if code == 0 {
		return 0
	}
	return h.low + packed(((code-1)*int(h.high-h.low)+levels/2)/levels)
}

// Series is the mean demand of a target by the minute, of the last ten days.
type Series struct {
	// ring has the hours before the newest, and newest has the steps of the newest hour.
	ring   ring
	newest [steps]packed
	// last is the number of the newest step, in steps of Unix time; zero: no step has begun.
	last int64
	// sum and count are the sum and the number of the demands in the newest step. latest is the last added demand.
	sum, latest float64
	count       int
}

// ringHours is the number of hours in a ring.
const ringHours = int64(Points) / steps

// ring has a place for each hour of ten days. It consists of five blocks, which fill their size class in the allocator. A single block
// would fill 94 % of its size class.
type ring [5]*[ringHours / 5]hour

// of returns the place of the hour that contains a step.
func (r *ring) of(step int64) *hour {
	i := step / steps % ringHours
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
		s.advance(n)
		s.sum, s.count = 0, 0
	}
	s.sum += demand
	s.latest = demand
	s.count++
}

// advance makes a later step the newest. The steps between stay unknown.
func (s *Series) advance(to int64) {
	if s.ring[0] == nil {
		for i := range s.ring {
			s.ring[i] = new([ringHours / 5]hour)
		}
	}
	if first := s.last/steps + 1; first <= to/steps {
		*s.ring.of(s.last) = packHour(&s.newest)
		s.newest = [steps]packed{}
		for skipped := max(first, to/steps-ringHours); skipped < to/steps; skipped++ {
			*s.ring.of(skipped * steps) = hour{}
		}
	}
	s.last = to
}

// rewind drops all steps after the given one.
func (s *Series) rewind(to int64) {
	if to/steps < s.last/steps {
		for i := range s.newest {
			s.newest[i] = s.code(to/steps*steps + int64(i))
		}
		for dropped := max(to/steps, s.last/steps-ringHours); dropped < s.last/steps; dropped++ {
			*s.ring.of(dropped * steps) = hour{}
		}
	}
	clear(s.newest[to%steps+1:])
	s.last, s.sum, s.count = to, 0, 0
}

// flush writes the newest step.
func (s *Series) flush() {
	if s.count > 0 {
		s.newest[s.last%steps] = pack(s.sum / float64(s.count))
	}
}

// code returns the demand of a step; 0: it is unknown.
func (s *Series) code(step int64) packed {
	switch {
	case s.last == 0 || step > s.last || step < oldest(s.last):
		return 0
	case step/steps == s.last/steps:
		return s.newest[step%steps]
	}
	return s.ring.of(step).at(step)
}

// Last returns the number of the newest step, in steps of Unix time; zero: there is none.
func (s *Series) Last() int64 { return s.last }

// At returns the point of a step.
func (s *Series) At(step int64) Point {
	if step == s.last && s.count > 0 {
		return Point{Mean: s.sum / float64(s.count), Known: true}
	}
	code := s.code(step)
	if code == 0 {
		return Point{}
	}
	return Point{Mean: unpack(code), Known: true}
}

// Latest returns the last added demand, in milli-CPU.
func (s *Series) Latest() float64 { return s.latest }
