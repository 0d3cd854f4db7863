package tune

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// at returns the instant at which a step begins, counted from Monday.
func at(step int) time.Time { return monday.Add(time.Duration(step) * Step) }

func TestTheNewestStepIsAMeanSoFar(t *testing.T) {
	s := &Series{}
	for _, v := range []float64{100, 400, 100} {
		s.Add(v, monday)
	}
	if got := s.At(stepOf(monday)); got != (Point{Mean: 200, Known: true}) || s.Latest() != 100 {
		t.Errorf("the newest step is %+v, the latest demand %v", got, s.Latest())
	}
	s.Add(math.NaN(), monday)
	if s.Latest() != 100 || s.At(stepOf(monday)).Mean != 200 {
		t.Error("what is no number was learnt")
	}
}

// TestTheRingKeepsTenDays checks that exactly the newest Points steps are known.
func TestTheRingKeepsTenDays(t *testing.T) {
	s := &Series{}
	for step := range Points + 3 {
		s.Add(float64(100+step), at(step))
	}
	first, newest := stepOf(monday), stepOf(at(Points+2))
	for step, known := range map[int64]bool{newest + 1: false, newest: true, newest - 1: true, first + 3: true, first + 2: false, first: false,
		-1: false, 0: false} {
		if got := s.At(step); got.Known != known {
			t.Errorf("step %d is known: %t", step-first, got.Known)
		}
	}
	if got := s.At(first + 3); !near(got.Mean, 103, 1e-3) {
		t.Errorf("the oldest step is %+v", got)
	}
}

// TestGapClearsOldPointsOfTheRing uses gaps that are shorter and gaps that are longer than the ring.
func TestGapClearsOldPointsOfTheRing(t *testing.T) {
	for _, jump := range []int{2, Points - 1, Points, Points + 1, Points + 5, 2*Points + 7} {
		s := &Series{}
		for step := range Points {
			s.Add(100, at(step))
		}
		to := Points - 1 + jump
		s.Add(7, at(to))
		s.Add(9, at(to+1))
		for back := range Points {
			step := to + 1 - back
			if got := s.At(stepOf(at(step))).Known; got != (step < Points || step >= to) {
				t.Fatalf("after a gap of %d steps, step %d is known: %t", jump, step, got)
			}
		}
	}
}

func TestExpiredPointsAreNotMarshalled(t *testing.T) {
	a, b := &Usage{}, &Usage{}
	a.named("app", true).demand.Add(100, monday)
	for _, target := range []*Usage{a, b} {
		target.named("app", true).demand.Add(9, at(Points))
	}
	if !bytes.Equal(a.Marshal(), b.Marshal()) {
		t.Error("a point of ten days ago is written still")
	}
}

// TestInstantsBefore1970TeachNothing checks that samples with such an instant are ignored, for example a sample with
// a
// zero instant.
func TestInstantsBefore1970TeachNothing(t *testing.T) {
	s := &Series{}
	for _, when := range []time.Time{{}, time.Unix(-1, 0), time.Unix(0, 0), time.Unix(59, 0)} {
		if s.Add(100, when); s.Last() != 0 || s.At(0).Known {
			t.Fatalf("%s was learnt from", when)
		}
	}
	s.Add(100, time.Unix(60, 0))
	s.Add(100, time.Unix(120, 0))
	if s.Last() != 2 || !s.At(1).Known || !s.At(2).Known || s.At(0).Known {
		t.Error("the first two steps were not learnt")
	}
}

// TestADemandIsKeptToOnePercent compares a series with a list of all demands, with gaps and with clocks that were wrong before.
func TestADemandIsKeptToOnePercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, kept, n := &Series{}, map[int64]float64{}, stepOf(monday)
		lost := int64(0) // the steps before it may be lost: they were too old while the clock was ahead
		for range 300 {
			n += rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(-2*int64(Points), 2*int64(Points))).Draw(t, "steps")
			v := rapid.Float64Range(100, 1000).Draw(t, "demand")
			if s.last-n > ahead {
				lost = max(lost, oldest(s.last))
				for step := range kept {
					if step >= n {
						delete(kept, step)
					}
				}
			} else if n <= s.last {
				n = s.last + 1
			}
			s.Add(v, time.Unix(n*60, 0))
			kept[n] = v
		}
		for step := oldest(s.last) - 2; step <= s.last+2; step++ {
			want, known := kept[step]
			known = known && step >= oldest(s.last)
			got := s.At(step)
			if step < lost && !got.Known {
				continue
			}
			if got.Known != known || known && math.Abs(got.Mean/want-1) > 0.01 {
				t.Fatalf("step %d is %+v, want %v, known %t", step-s.last, got, want, known)
			}
		}
	})
}

// TestALargerDemandIsNotKeptSmaller packs hours of two series, one of them never smaller, with demands from 0 to a million cores: a demand
// is at most half a level of its hour away, also after a restart, which changes nothing more.
func TestALargerDemandIsNotKeptSmaller(t *testing.T) {
	demand := rapid.OneOf(rapid.SampledFrom([]float64{0, 100, most}), rapid.Float64Range(0, 1), rapid.Float64Range(1, 1e5),
		rapid.Float64Range(1e5, most))
	rapid.Check(t, func(t *rapid.T) {
		less, more := &Usage{}, &Usage{}
		const hours = 3
		var wanted [2][hours * steps]packed
		for i := range wanted[0] {
			a, b := demand.Draw(t, "demand"), demand.Draw(t, "demand")
			for k, v := range []float64{min(a, b), max(a, b)} {
				[]*Usage{less, more}[k].named("app", true).demand.Add(v, at(i))
				wanted[k][i] = pack(v)
			}
		}
		var got [2][hours * steps]packed
		for k, usage := range []*Usage{less, more} {
			read, err := Unmarshal(usage.Marshal())
			if err != nil {
				t.Fatal(err)
			}
			for i := range got[k] {
				got[k][i] = usage.Demand("app").code(stepOf(at(i)))
				if again := read.Demand("app").code(stepOf(at(i))); i < len(got[k])-1 && again != got[k][i] {
					t.Fatalf("step %d is %d after a restart, and was %d", i, again, got[k][i])
				}
			}
		}
		for h := range hours {
			var level [2]int
			for k := range wanted {
				of := wanted[k][h*int(steps) : (h+1)*int(steps)]
				level[k] = int(slices.Max(of)-slices.Min(of))/(2*levels) + 1
			}
			for i := h * int(steps); i < (h+1)*int(steps)-1; i++ {
				for k := range wanted {
					if off := int(got[k][i]) - int(wanted[k][i]); max(off, -off) > level[k] {
						t.Fatalf("step %d is %d, want %d within %d", i, got[k][i], wanted[k][i], level[k])
					}
				}
				if int(got[0][i])-int(got[1][i]) > level[0]+level[1] {
					t.Fatalf("step %d: the smaller demand is kept as %d, the larger one as %d", i, got[0][i], got[1][i])
				}
			}
		}
	})
}
