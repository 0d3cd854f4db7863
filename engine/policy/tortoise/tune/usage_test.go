package tune

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/workload"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) }

func TestQuantilesOfAHistogram(t *testing.T) {
	h := &Histogram{}
	if got := h.Quantile(0.9); got != 0 {
		t.Errorf("an empty histogram has the quantile %v", got)
	}
	for i := range 1000 {
		h.Add(float64(i+1), 1, monday, halfLife)
	}
	for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
		if got := h.Quantile(q); !near(got, q*1000, 0.12) {
			t.Errorf("the quantile %v of 1 to 1000 is %v", q, got)
		}
	}
	h.Add(1e12, 1, monday, halfLife)
	if got := h.Quantile(1); math.IsInf(got, 0) || got < bound(buckets-1) {
		t.Errorf("the largest of what is beyond all buckets is %v", got)
	}
}

func TestOldSamplesWeighLess(t *testing.T) {
	h := &Histogram{}
	for range 100 {
		h.Add(1000, 1, monday, halfLife)
	}
	for range 60 {
		h.Add(100, 1, monday.Add(halfLife), halfLife)
	}
	if got := h.Quantile(0.5); !near(got, 100, 0.12) {
		t.Errorf("the median is %v: 100 samples that are a half-life old outweigh 60 new ones", got)
	}
	if got := h.total(); !near(got, 110, 1e-3) {
		t.Errorf("the weight is %v, want 110", got)
	}
	h.Add(100, 1, monday, halfLife)
	if got := h.total(); !near(got, 111, 1e-3) {
		t.Errorf("time that ran backwards changed the weight to %v", got)
	}
}

func sample(at time.Time, cpu float64, replicas int) workload.Sample {
	return workload.Sample{At: at, Container: "app", CPU: cpu, Memory: 100 * mebi, Replicas: replicas}
}

// TestNothingIsLearntFromBounds checks that the same demand is learnt from three pods and from thirty, and with and
// without throttling by limits.
func TestNothingIsLearntFromBounds(t *testing.T) {
	const demand = 6000.0
	for what, s := range map[string]workload.Sample{
		"three pods":                  sample(monday, demand/3, 3),
		"thirty pods":                 sample(monday, demand/30, 30),
		"three pods, half throttled":  {At: monday, Container: "app", CPU: demand / 6, Memory: 1, Replicas: 3, Throttled: 0.5},
		"more than a quarter is rest": {At: monday, Container: "app", CPU: demand / 12, Memory: 1, Replicas: 3, Throttled: 0.75},
	} {
		target := &Usage{}
		target.Add(s)
		if got := target.Demand("app").At(stepOf(monday)); !near(got.Mean, demand, 1e-3) {
			t.Errorf("%s: the demand is %+v", what, got)
		}
	}
}

func TestSamplesOfStartingAbsentOrInvalidPodsAreIgnored(t *testing.T) {
	target := &Usage{}
	target.Add(workload.Sample{At: monday, Container: "app", CPU: 100, Memory: 100, Replicas: 0})
	target.Add(workload.Sample{At: monday, Container: "app", CPU: 5000, Memory: 100 * mebi, Replicas: 3, Starting: true})
	target.Add(workload.Sample{At: monday, Container: "app", CPU: math.NaN(), Memory: -1, Replicas: 3})
	if got := target.Demand("app").Last(); got != 0 {
		t.Errorf("pods that start, or are not there, taught the demand of step %d", got)
	}
	if got := target.Memory("app", 1); got != 0 {
		t.Errorf("memory that is not known taught %v", got)
	}
	if target.Demand("other") != nil || target.Memory("other", 1) != 0 {
		t.Error("something is known of a container that was never seen")
	}
}

func TestAKillRaisesMemory(t *testing.T) {
	target := &Usage{}
	for i := range 1000 {
		target.Add(sample(monday.Add(time.Duration(i)*time.Minute), 100, 3))
	}
	before := target.Memory("app", 0.95)
	at := monday.Add(1000 * time.Minute)
	target.Add(workload.Sample{At: at, Container: "app", CPU: -1, Memory: -1, OOMKills: 1, MemoryLimit: 500 * mebi})
	if got := target.Memory("app", 0.5); got != 600*mebi {
		t.Errorf("after a kill at 500 MiB it is %v MiB, want 600; before it was %v", got/mebi, before/mebi)
	}
	for i := range 2000 {
		target.Add(sample(at.Add(2*halfLife+time.Duration(i)*time.Minute), 100, 3))
	}
	if got := target.Memory("app", 0.5); !near(got, 100*mebi, 0.12) {
		t.Errorf("two half-lives after the kill it is %v MiB still", got/mebi)
	}
}

func TestGapsStayUnknown(t *testing.T) {
	s := &Series{}
	s.Add(100, monday)
	s.Add(300, monday.Add(Step/2))
	s.Add(500, monday.Add(3*Step))
	s.Add(7, monday.Add(Step)) // late: dropped
	first := stepOf(monday)
	if p := s.At(first); !near(p.Mean, 200, 1e-3) {
		t.Errorf("the first step is %+v", p)
	}
	for _, n := range []int64{first - 1, first + 1, first + 2, first + 4} {
		if p := s.At(n); p.Known {
			t.Errorf("step %d is %+v", n-first, p)
		}
	}
	s.Add(9, monday.Add(time.Duration(Points)*Step))
	if s.At(first).Known || !s.At(first+3).Known {
		t.Error("the ring does not hold the last ten days")
	}
	s.Add(9, monday.Add(3*time.Duration(Points)*Step))
	if s.At(first + 3).Known {
		t.Error("a long gap left old points behind")
	}
}

func TestResetForgetsTheUsageOfAContainer(t *testing.T) {
	target := &Usage{}
	target.Add(sample(monday, 100, 3))
	target.Reset("app")
	if target.Memory("app", 0.5) != 0 || target.Demand("app").Last() != 0 || len(target.Containers()) != 1 {
		t.Error("the container is remembered")
	}
}

// fill returns a target that has learnt as much as it can hold: random values in every minute of eleven days.
func fill(r *rand.Rand, names ...string) *Usage {
	target := &Usage{}
	for i := range 11 * 24 * 60 {
		for _, name := range names {
			target.Add(workload.Sample{At: monday.Add(time.Duration(i) * time.Minute), Container: name, CPU: math.Exp(10 * r.Float64()),
				Memory: mebi * math.Exp(8*r.Float64()), Replicas: 1 + r.IntN(9)})
		}
	}
	return target
}

func TestTheEncodingIsBounded(t *testing.T) {
	target := fill(rand.New(rand.NewPCG(1, 2)), strings.Repeat("a", 63), strings.Repeat("b", 63))
	data := target.Marshal()
	if len(data) > MaxBytes {
		t.Errorf("two containers are %d bytes, want at most %d", len(data), MaxBytes)
	}
	back, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Marshal(), data) {
		t.Error("what was read is not what was written")
	}
}

// TestARestartLosesNothing checks that a target that is written and read again at random instants learns the same as
// one
// that is not.
func TestARestartLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kept, at := &Usage{}, monday
		restarted := &Usage{}
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			at = at.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "seconds")) * time.Second)
			s := workload.Sample{
				At: at, Container: rapid.SampledFrom([]string{"app", "proxy"}).Draw(t, "container"), CPU: rapid.Float64Range(-1, 1e5).Draw(t, "cpu"),
				Memory: rapid.Float64Range(-1, 1e12).Draw(t, "memory"), Replicas: rapid.IntRange(0, 50).Draw(t, "replicas"),
				Throttled: rapid.Float64Range(0, 1).Draw(t, "throttled"), OOMKills: rapid.IntRange(0, 1).Draw(t, "kills"), MemoryLimit: 1e9,
			}
			kept.Add(s)
			restarted.Add(s)
			if rapid.Bool().Draw(t, "restart") {
				var err error
				if restarted, err = Unmarshal(restarted.Marshal()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !bytes.Equal(kept.Marshal(), restarted.Marshal()) {
			t.Fatal("the one that was restarted learnt something else")
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	target := &Usage{}
	target.Add(sample(monday, 100, 3))
	f.Add(target.Marshal())
	f.Add([]byte{})
	f.Add([]byte{version, 0, 0, 2, 4})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Unmarshal(data)
		if err != nil {
			return
		}
		got.Add(sample(monday, 100, 3))
		for _, name := range got.Containers() {
			if v := got.Memory(name, 0.9) + got.Demand(name).Latest(); math.IsNaN(v) {
				t.Errorf("a quantile is %v", v)
			}
		}
		if _, err := Unmarshal(got.Marshal()); err != nil {
			t.Errorf("read again: %v", err)
		}
	})
}

// TestNonsenseTeachesNothing checks that samples with negative, infinite, huge or invalid numbers change nothing.
func TestNonsenseTeachesNothing(t *testing.T) {
	a, b := &Usage{}, &Usage{}
	for i := range 100 {
		at := monday.Add(time.Duration(i) * time.Minute)
		a.Add(sample(at, 100, 3))
		b.Add(sample(at, 100, 3))
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e300} {
			s := sample(at, bad, 3)
			s.Memory, s.MemoryLimit = bad, bad
			b.Add(s)
			s = sample(at, -1, 3)
			s.Memory, s.Throttled = -1, bad
			b.Add(s)
		}
	}
	for _, q := range []float64{0.1, 0.5, 1} {
		if a.Memory("app", q) != b.Memory("app", q) {
			t.Errorf("at %g it gives %g and %g", q, a.Memory("app", q), b.Memory("app", q))
		}
	}
	if a.Demand("app").Last() != b.Demand("app").Last() {
		t.Error("the newest step is another one")
	}
	for n := stepOf(monday); n <= a.Demand("app").Last(); n++ {
		if got, want := b.Demand("app").At(n), a.Demand("app").At(n); got != want {
			t.Errorf("the demand of step %d is %+v, want %+v", n, got, want)
		}
	}
	killed := sample(monday.Add(10*time.Hour), -1, 1)
	killed.OOMKills, killed.MemoryLimit = 1, math.NaN()
	b.Add(killed)
	if v := b.Memory("app", 0.9); math.IsNaN(v) || math.IsInf(v, 0) {
		t.Errorf("after a kill at no limit memory is %g", v)
	}
}
