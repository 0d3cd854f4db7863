package tortoise

import (
	"context"
	"runtime"
	"sync"
)

// Seeds of the two sets: parameters are tuned on the one and reported on the other.
var (
	TuningSeeds    = []uint64{101, 102, 103, 104, 105}
	ReportingSeeds = []uint64{1, 2, 3, 4, 5}
)

// Options of a run.
type Options struct {
	Families, Contenders []string // empty: all
	Seeds                []uint64
	// Days are simulated; zero are all 42.
	Days int
}

// Result is what one contender did with one family and seed.
type Result struct {
	Family, Contender string
	Seed              uint64
	tally
	// trace has some numbers of every tick of the run, for plots.
	trace []point
	// final is the setting at the end.
	final setting
}

type point struct{ demand, capacity, request float32 }

// Run runs everything, on all cores.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if o.Days == 0 {
		o.Days = days
	}
	type job struct {
		family string
		seed   uint64
		who    contender
		out    *Result
	}
	var jobs []job
	var results []*Result
	for _, family := range families {
		for _, seed := range o.Seeds {
			for _, who := range contenders {
				if chosen(o.Families, family) && chosen(o.Contenders, who.name) {
					r := &Result{Family: family, Contender: who.name, Seed: seed}
					jobs, results = append(jobs, job{family, seed, who, r}), append(results, r)
				}
			}
		}
	}
	queue := make(chan job)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for j := range queue {
				simulate(j.family, j.seed, j.who, o.Days, j.out)
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil {
			break
		}
		queue <- j
	}
	close(queue)
	wait.Wait()
	all := make([]Result, len(results))
	for i, r := range results {
		all[i] = *r
	}
	return all, ctx.Err()
}

func chosen(only []string, name string) bool {
	for _, o := range only {
		if o == name {
			return true
		}
	}
	return len(only) == 0
}

// simulate runs one contender.
func simulate(family string, seed uint64, who contender, length int, out *Result) {
	w := newWorld(family, seed, length)
	c := newCluster(w, who.scaled)
	t := who.make(w)
	for range w.demand {
		t.tune(c)
		c.step()
		if c.t > length*ticksPerDay-7*ticksPerDay && c.t%(5*ticksPerMin) == 0 {
			out.trace = append(out.trace, point{float32(w.demand[c.t-1]), float32(c.capacity()), float32(c.set.app)})
		}
	}
	out.tally, out.final = c.tally, c.set
}
