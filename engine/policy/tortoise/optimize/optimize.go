// Package optimize chooses request, replicas by step and target utilisation together: what costs least among all that keep demand
// within the headroom of the capacity that is ready. Each number comes with its reason.
//
// CPU is in milli-CPU, memory in bytes, utilisation in whole percent.
package optimize

import (
	"fmt"
	"math"
	"slices"
)

// Profile says how much risk is worth how much money.
type Profile struct {
	Name string
	// Headroom is the share of the ready capacity that demand should not be above.
	Headroom float64
	// Violation is the price of a share of time in which demand is above the headroom, in shares of the expected demand.
	Violation float64
	// Memory is the price of a GiB of memory in milli-CPU.
	Memory float64
	// MemoryQuantile and MemoryMargin make the memory request.
	MemoryQuantile, MemoryMargin float64
	// Share is the quantile of the share that other containers need beside the one that is scaled.
	Share float64
	// CatchUp is how much more than usual comes back after demand has collapsed.
	CatchUp float64
}

// Profiles by name.
var Profiles = map[string]Profile{
	"Lean":     {Name: "Lean", Headroom: 0.9, Violation: 0.7, Memory: 60, MemoryQuantile: 0.98, MemoryMargin: 1.1, Share: 0.9, CatchUp: 1.25},
	"Balanced": {Name: "Balanced", Headroom: 0.85, Violation: 1.1, Memory: 60, MemoryQuantile: 0.99, MemoryMargin: 1.2, Share: 0.95, CatchUp: 2},
	"Safe":     {Name: "Safe", Headroom: 0.75, Violation: 6, Memory: 60, MemoryQuantile: 1, MemoryMargin: 1.35, Share: 0.99, CatchUp: 2.5},
}

// Bounds of what may be chosen.
type Bounds struct {
	// Min, Max and PreferredMax are replicas.
	Min, Max, PreferredMax int
	// Reach is what as many replicas as its owner allows request, in milli-CPU: Max grows as a request shrinks, so that it stays within reach. Zero: Max
	// stays.
	Reach int64
	// MinRequest and MaxRequest are milli-CPU of the container that is scaled.
	MinRequest, MaxRequest int64
	// MaxBy says what MaxRequest is, in words.
	MaxBy string
	// MinUtilisation and MaxUtilisation bound the target utilisation, in percent.
	MinUtilisation, MaxUtilisation int
}

// mostReplicas is what no maximum of an autoscaler is above.
const mostReplicas = math.MaxInt32

// MaxFor returns the most replicas of a request.
func (b Bounds) MaxFor(request int64) int {
	request = max(request, 1)
	reach := min(b.Reach/request, mostReplicas-1)
	if reach*request < b.Reach {
		reach++
	}
	return max(b.Max, int(reach))
}

// Input is what a choice depends on.
type Input struct {
	Profile Profile
	Bounds  Bounds
	// Upper and Expected are demand in milli-CPU by step over a season: what it is not above, and what it will be.
	Upper, Expected []float64
	// Request is the current one in milli-CPU, Utilisation the current target.
	Request     int64
	Utilisation int
	// Beside is what each milli-CPU of the request brings along in other containers, and PerPod what each pod costs whatever its
	// request, both in milli-CPU; memory counts by its price.
	Beside, PerPod float64
	// Tolerance of the autoscaler: it does nothing while utilisation is within it of the target.
	Tolerance float64
}

// Choice is what was chosen.
type Choice struct {
	Request     int64
	Utilisation int
	// Cost is in milli-CPU, the mean over the steps; Now is that of the current request.
	Cost, Now float64
	Reasons   []Reason
}

// Reason says why a number is what it is.
type Reason struct{ Of, Text string }

// String is the line that explain prints.
func (r Reason) String() string { return r.Of + ": " + r.Text }

// grid is the factor between two requests that are looked at.
const grid = 1.1

// Choose looks at all requests on a geometric grid, each with the highest utilisation that still keeps the headroom, and takes the one
// with the least cost. It takes no step: Step does.
func Choose(in Input) Choice {
	u := Utilisation(in)
	best := Choice{Request: in.Request, Utilisation: u, Cost: cost(in, in.Request, u)}
	best.Now = best.Cost
	for _, r := range candidates(in.Bounds, enough(in)) {
		if c := cost(in, r, u); c < best.Cost*(1-1e-9) {
			best.Request, best.Cost = r, c
		}
	}
	best.Reasons = reasons(in, best)
	if best.Request == in.Bounds.MaxRequest && in.Bounds.MaxBy != "" {
		best.Reasons[0].Text += fmt.Sprintf("; no more than %dm by %s", in.Bounds.MaxRequest, in.Bounds.MaxBy)
	}
	return best
}

// enough is the request of which one replica is enough at all times: a larger one is never worth it.
func enough(in Input) float64 {
	most := 0.0
	for i, upper := range in.Upper {
		most = max(most, upper/in.Profile.Headroom, in.Expected[i]/(float64(in.Bounds.MinUtilisation)/100))
	}
	return most
}

// candidates are the requests that are looked at, up to the first one that is enough. Where it is not known what is, that is the largest.
func candidates(b Bounds, enough float64) []int64 {
	var all []int64
	for r := float64(b.MinRequest); r < float64(b.MaxRequest); r *= grid {
		all = append(all, int64(r))
		if r >= enough {
			return all
		}
	}
	return append(all, b.MaxRequest)
}

// Utilisation gives the highest target at which the autoscaler acts before the headroom is used up: its tolerance above the target is
// still within.
func Utilisation(in Input) int {
	u := int(math.Floor(in.Profile.Headroom / (1 + in.Tolerance) * 100))
	return min(max(u, in.Bounds.MinUtilisation), in.Bounds.MaxUtilisation)
}

// Replicas gives how many replicas of a request keep a demand within the headroom, within the bounds.
func Replicas(demand float64, request int64, p Profile, b Bounds) int {
	n := math.Ceil(demand / (p.Headroom * float64(request)))
	most := b.MaxFor(request)
	if math.IsNaN(n) {
		return most // of a demand that is no number nothing is known
	}
	return int(min(max(n, float64(b.Min)), float64(most)))
}

// over is the price of each replica more than preferred, as a share of its cost.
const over = 1

// cost is the mean over the steps of what all pods request: as many as the upper bound needs, or as the autoscaler has for what is
// expected.
func cost(in Input, request int64, utilisation int) float64 {
	pod := float64(request)*(1+in.Beside) + in.PerPod
	sum := 0.0
	for i, upper := range in.Upper {
		n := Replicas(upper, request, in.Profile, in.Bounds)
		scaled := math.Ceil(in.Expected[i] / (float64(utilisation) / 100 * float64(request)))
		n = max(n, min(int(min(scaled, mostReplicas)), in.Bounds.MaxFor(request)))
		sum += pod * float64(n)
		if most := in.Bounds.PreferredMax; most > 0 {
			sum += over * pod * float64(max(n-most, 0))
		}
		if short := upper - in.Profile.Headroom*float64(request)*float64(n); short > 1 {
			sum += 10 * short // more replicas than there may be are needed
		}
	}
	return sum / float64(max(len(in.Upper), 1))
}

func reasons(in Input, c Choice) []Reason {
	low, high := 0.0, 0.0
	if len(in.Upper) > 0 {
		low, high = slices.Min(in.Upper), slices.Max(in.Upper)
	}
	return []Reason{
		{"request", fmt.Sprintf("%dm costs least for a demand of %.0fm to %.0fm with %d to %d replicas: %.0fm on average, %.0fm with the current %dm", c.Request, low, high, in.Bounds.Min, in.Bounds.MaxFor(c.Request), c.Cost, c.Now, in.Request)},
		{"utilisation", fmt.Sprintf("%d %%: with a tolerance of %.0f %% the autoscaler acts before %.0f %% are used (profile %s)", c.Utilisation, in.Tolerance*100, in.Profile.Headroom*100, in.Profile.Name)},
	}
}

// Guard bounds one step of a request.
type Guard struct {
	// Down and Up are the largest steps, as shares of the request.
	Down, Up float64
	// Worth is the share of the request, and of the cost, that a step down must save.
	Worth float64
}

// DefaultGuard takes at most a fifth away and at most doubles.
func DefaultGuard() Guard { return Guard{Down: 0.2, Up: 1, Worth: 0.03} }

// Step gives the next request on the way to a wanted one, and false where there is none: what it would change is too little. A step up
// that is needed is always worth it.
func (g Guard) Step(current, wanted int64, needed bool) (int64, bool) {
	if !needed && math.Abs(float64(wanted)-float64(current)) < g.Worth*float64(current) {
		return current, false
	}
	next := min(wanted, int64(float64(current)*(1+g.Up)))
	if wanted < current {
		next = max(wanted, int64(math.Ceil(float64(current)*(1-g.Down))))
	}
	return next, next != current
}

// Memory gives a memory request in bytes from a quantile of usage.
func Memory(used float64, p Profile, least, most int64) (int64, Reason) {
	wanted := int64(used * p.MemoryMargin)
	got := min(max(wanted, least), most)
	text := fmt.Sprintf("%d MiB: %.0f MiB were used (quantile %g, kills included), times %.3g", mebis(got), used/(1<<20), p.MemoryQuantile, p.MemoryMargin)
	return got, Reason{"memory", text + Bounded(wanted, least, most, func(n int64) string { return fmt.Sprintf("%d MiB", mebis(n)) })}
}

func mebis(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// Bounded says which bound a request comes up against that was to be another one; empty: none.
func Bounded(wanted, least, most int64, text func(int64) string) string {
	switch {
	case wanted > most:
		return "; no more than " + text(most) + " by max of spec.resources"
	case wanted < least:
		return "; no less than " + text(least) + " by min of spec.resources or its default"
	}
	return ""
}
