package tune_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// flat returns a load of some minutes with a constant demand.
func flat(minutes int, demand float32) tune.Load {
	l := tune.Load{Demand: make([]float32, minutes)}
	for i := range l.Demand {
		l.Demand[i] = demand
	}
	return l
}

var system = tune.System{Lag: 30 * time.Second, Start: time.Minute, Headroom: 0.85}

func TestPlayFollowsAStepOfDemand(t *testing.T) {
	step := flat(120, 2000)
	for i := 60; i < 120; i++ {
		step.Demand[i] = 4000
	}
	gone := flat(120, 2000)
	for i := 30; i < 120; i++ {
		gone.Demand[i] = -1
	}
	for _, tc := range []struct {
		reason  string
		load    tune.Load
		setting tune.PodSetting
		minima  []int
		pods    float64
		minutes float64
		known   int // minutes
	}{
		{"what the demand needs at the target", flat(120, 2000), tune.PodSetting{Request: 500, Target: 50, Min: 1, Max: 20}, nil, 8, 0, 120},
		{"no fewer than the minimum", flat(120, 2000), tune.PodSetting{Request: 500, Target: 50, Min: 10, Max: 20}, nil, 10, 0, 120},
		{"no more than the maximum, which is too little", flat(120, 2000), tune.PodSetting{Request: 500, Target: 50, Min: 1, Max: 4}, nil, 4,
			120,
			120},
		{"a minimum of the second hour, two minutes early", flat(120, 2000), tune.PodSetting{Request: 500, Target: 50, Min: 1, Max: 20},
			[]int{0, 20}, 8 + 12*62./120, 0, 120},
		{"a minimum by hour is there when the hour begins", step, tune.PodSetting{Request: 500, Target: 80, Min: 1, Max: 20}, []int{0, 10},
			7.5, 0,
			120},
		{"a minimum by hour is no more than the maximum", flat(60, 2000), tune.PodSetting{Request: 500, Target: 50, Min: 1, Max: 9}, []int{12},
			9,
			0, 60},
		{"nothing scales", flat(60, 2000), tune.PodSetting{Request: 500, Min: 5, Max: 20}, nil, 5, 0, 60},
		// It doubles: the metrics are a step late, then a pod starts for two.
		{"a step of demand is served late", step, tune.PodSetting{Request: 500, Target: 80, Min: 1, Max: 20}, nil, 7.5, 2, 120},
		{"what is not known counts for nothing", gone, tune.PodSetting{Request: 500, Target: 50, Min: 1, Max: 20}, nil, 8, 0, 30},
		{"nothing is known", flat(60, -1), tune.PodSetting{Request: 500, Target: 50, Min: 1, Max: 20}, nil, 0, 0, 0},
	} {
		o := tune.Play(tc.load, system, tc.setting, tc.minima)
		if math.Abs(o.Pods()-tc.pods) > 0.1 || o.Minutes() != tc.minutes || o.Steps != 2*tc.known {
			t.Errorf("%s: %.2f pods, %g minutes of violation, %d steps; want %g, %g and %d", tc.reason, o.Pods(), o.Minutes(), o.Steps, tc.pods,
				tc.minutes, 2*tc.known)
		}
	}
}

// TestAgainstPods compares a cluster, which counts pods, with a model that has each pod with the instant at which it
// becomes ready. The demand jumps.
func TestAgainstPods(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		sys := tune.System{Lag: time.Duration(1+r.IntN(2)) * tune.ReplayStep, Start: time.Duration(1+r.IntN(6)) * tune.ReplayStep,
			Headroom: 0.85}
		s := tune.PodSetting{Request: 250 + r.Int64N(1000), Target: 50 + r.IntN(40), Min: 1 + r.IntN(4), Max: 10 + r.IntN(40)}
		c, p := tune.NewCluster(sys, s.Min), newPods(sys, s.Min)
		var got tune.Outcome
		demand := 3000.0
		for step := range 3 * 24 * 120 {
			if r.IntN(40) == 0 {
				demand = math.Exp(5 + 5*r.Float64())
			}
			seen := demand * math.Exp(0.1*r.NormFloat64())
			c.Next(s, seen, &got)
			p.next(s, seen)
			if all, ready := c.Pods(); all != len(p.readyAt) || ready != p.ready() {
				t.Fatalf("seed %d, step %d: %d pods, %d ready; want %d and %d", seed, step, all, ready, len(p.readyAt), p.ready())
			}
		}
		if got.Violations != p.violations || got.Violations == 0 {
			t.Errorf("seed %d: %d violations, want %d", seed, got.Violations, p.violations)
		}
	}
}

// pods is a plain model of a cluster, with one number for each pod.
type pods struct {
	sys        tune.System
	scaler     tune.Scaler
	now        int
	readyAt    []int
	readings   []tune.Reading
	violations int
}

func newPods(sys tune.System, n int) *pods { return &pods{sys: sys, readyAt: make([]int, n)} }

func (p *pods) ready() int {
	n := 0
	for _, at := range p.readyAt {
		if at < p.now {
			n++
		}
	}
	return n
}

func (p *pods) next(s tune.PodSetting, demand float64) {
	p.now++ // pods that have just become ready serve in this step
	at, lag := p.now-1, int(p.sys.Lag/tune.ReplayStep)
	for _, offset := range []time.Duration{0, tune.SyncPeriod} {
		var r tune.Reading
		if at > lag {
			r = p.readings[at-1-lag]
		}
		r.Unready = max(len(p.readyAt)-r.Ready, 0)
		n := p.scaler.Sync(time.Duration(at)*tune.ReplayStep+offset, len(p.readyAt), tune.PodSetting{Min: s.Min, Max: s.Max, Target: s.Target},
			r)
		for len(p.readyAt) < n {
			p.readyAt = append(p.readyAt, at+int(p.sys.Start/tune.ReplayStep))
		}
		p.readyAt = p.readyAt[:n]
	}
	capacity := float64(p.ready()) * float64(s.Request)
	if demand > p.sys.Headroom*capacity {
		p.violations++
	}
	p.readings = append(p.readings, tune.Reading{OK: p.ready() > 0, Usage: demand / float64(max(p.ready(), 1)),
		Request: float64(s.Request), Ready: p.ready()})
}

// BenchmarkPlay replays ten days of one setting.
func BenchmarkPlay(b *testing.B) {
	l := flat(10*24*60, 0)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range l.Demand {
		l.Demand[i] = float32((5000 + 3000*math.Sin(float64(i)*2*math.Pi/1440)) * math.Exp(0.1*r.NormFloat64()))
	}
	for b.Loop() {
		tune.Play(l, system, tune.PodSetting{Request: 500, Target: 65, Min: 3, Max: 100}, nil)
	}
}
