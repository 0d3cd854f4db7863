package tortoise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Seeds are the seeds of the families for which the promises are made.
var Seeds = []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}

// Options choose a part of the benchmark.
type Options struct {
	// Families and Contenders are the names to run. If empty, all are run.
	Families, Contenders []string
	Seeds                []uint64
	// Traces is a directory with series of real load. They are used in place of families and seeds.
	Traces string
	// Days is the largest number of simulated days. Zero means four weeks of a family, and the whole of a series.
	Days int
	// Done is called for each world after all contenders have run in it. It may be nil.
	Done func(world string, seed uint64)
}

// Result is the outcome of one contender in one world.
type Result struct {
	World, Contender string
	Seed             uint64
	// Days is the number of measured days. Apart is true if the world does not count in sums.
	Days  float64
	Apart bool
	tally
}

// Run runs the contenders in the worlds, on all processors.
func Run(ctx context.Context, o Options) ([]Result, error) {
	known := []string{Fixed}
	for _, c := range contenders {
		known = append(known, c.name)
	}
	if err := errors.Join(among("family", o.Families, Families), among("contender", o.Contenders, known)); err != nil {
		return nil, err
	}
	worlds, err := o.worlds()
	if err != nil {
		return nil, err
	}
	var chosen []contender
	for _, c := range slices.Concat(contenders, grid) {
		if len(o.Contenders) == 0 || slices.Contains(o.Contenders, c.group()) {
			chosen = append(chosen, c)
		}
	}
	results := make([]Result, len(worlds)*len(chosen))
	queue := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range queue {
				w := worlds[i].make()
				for j, c := range chosen {
					if ctx.Err() == nil {
						results[i*len(chosen)+j] = simulate(w, c)
					}
				}
				if o.Done != nil {
					o.Done(w.name, w.seed)
				}
			}
		})
	}
	for _, i := range longestFirst(worlds) {
		queue <- i
	}
	close(queue)
	wait.Wait()
	return results, ctx.Err()
}

// among returns an error if one of the names is not known.
func among(what string, names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%q is no %s; there are %s", name, what, strings.Join(known, ", "))
		}
	}
	return nil
}

// group returns the name by which a contender is chosen. All fixed settings have the same name.
func (c contender) group() string {
	if slices.ContainsFunc(grid, func(g contender) bool { return g.name == c.name }) {
		return Fixed
	}
	return c.name
}

// planned is a world that has not run yet.
type planned struct {
	ticks int
	make  func() *world
}

func (o Options) worlds() ([]planned, error) {
	var all []planned
	if o.Traces != "" {
		worlds, err := readTraces(o.Traces, o.Days)
		for _, w := range worlds {
			all = append(all, planned{len(w.demand), func() *world { return w }})
		}
		return all, err
	}
	length := cmp.Or(o.Days, days)
	for _, family := range Families {
		for _, seed := range o.Seeds {
			if len(o.Families) == 0 || slices.Contains(o.Families, family) {
				all = append(all, planned{length * ticksPerDay, func() *world { return newWorld(family, seed, length) }})
			}
		}
	}
	return all, nil
}

// longestFirst returns the indices of worlds, the longest world first.
func longestFirst(worlds []planned) []int {
	order := make([]int, len(worlds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worlds[b].ticks, worlds[a].ticks) })
	return order
}

// simulate runs one contender in a world.
func simulate(w *world, who contender) Result {
	set := w.owner
	if who.begin != nil {
		set = who.begin(w)
	}
	c := newCluster(w, who.scaled, set)
	var t tuner
	if who.make != nil {
		t = who.make(w)
	}
	for range w.demand {
		if t != nil {
			t.tune(c)
		}
		c.step()
	}
	return Result{World: w.name, Seed: w.seed, Contender: who.name, Days: w.judgedDays(), Apart: w.apart, tally: c.tally}
}
