// Package optimize chooses request, target utilisation and minimum together: it replays the demand that was learnt through the rules of the
// autoscaler for many settings, and takes the one that costs least, with a price on violations. Each number comes with its reason.
//
// CPU is in milli-CPU, memory in bytes, utilisation in whole percent.
package optimize

import (
	"fmt"
	"math"
)

// Profile says how much risk is worth how much money.
type Profile struct {
	Name string
	// Headroom is the share of the ready capacity that demand should not be above.
	Headroom float64
	// Violation is the price of a share of time in which demand is above the headroom, in shares of what the owner's setting costs.
	Violation float64
	// Memory is the price of a GiB of memory in milli-CPU.
	Memory float64
	// MemoryQuantile and MemoryMargin make the memory request.
	MemoryQuantile, MemoryMargin float64
	// Share is the quantile of the share that other containers need beside the one that is scaled.
	Share float64
}

// Profiles by name.
var Profiles = map[string]Profile{
	"Lean":     {Name: "Lean", Headroom: 0.9, Violation: 2.5, Memory: 130, MemoryQuantile: 0.98, MemoryMargin: 1.1, Share: 0.9},
	"Balanced": {Name: "Balanced", Headroom: 0.85, Violation: 5, Memory: 130, MemoryQuantile: 0.99, MemoryMargin: 1.2, Share: 0.95},
	"Safe":     {Name: "Safe", Headroom: 0.75, Violation: 15, Memory: 130, MemoryQuantile: 1, MemoryMargin: 1.35, Share: 0.99},
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

// Reason says why a number is what it is.
type Reason struct{ Of, Text string }

// String is the line that explain prints.
func (r Reason) String() string { return r.Of + ": " + r.Text }

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
