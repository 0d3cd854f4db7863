// Package optimize chooses the request, the target utilisation and the minimum together. It replays the learnt demand with
// the rules of the autoscaler for many settings. It returns the setting with the lowest cost, in which violations have a
// price. Each number comes with its reason.
//
// CPU is in milli-CPU, memory in bytes, utilisation in whole percent.
package optimize

import (
	"fmt"
	"math"
)

// Profile sets the price of risk.
type Profile struct {
	Name string
	// Headroom is the share of the ready capacity that demand should not exceed.
	Headroom float64
	// Violation is the price of demand above the headroom. A share of time with such demand costs this share times Violation
	// times the cost of the owner's setting.
	Violation float64
	// Memory is the price of a GiB of memory in milli-CPU.
	Memory float64
	// MemoryQuantile is the quantile of usage for the memory request. MemoryMargin is the factor from this usage to the
	// request.
	MemoryQuantile, MemoryMargin float64
	// Share is the quantile of CPU usage for the containers besides the scaled one.
	Share float64
}

// Profiles by name.
var Profiles = map[string]Profile{
	"Lean":     {Name: "Lean", Headroom: 0.9, Violation: 2.5, Memory: 130, MemoryQuantile: 0.98, MemoryMargin: 1.1, Share: 0.9},
	"Balanced": {Name: "Balanced", Headroom: 0.85, Violation: 5, Memory: 130, MemoryQuantile: 0.99, MemoryMargin: 1.2, Share: 0.95},
	"Safe":     {Name: "Safe", Headroom: 0.75, Violation: 15, Memory: 130, MemoryQuantile: 1, MemoryMargin: 1.35, Share: 0.99},
}

// Bounds limit a choice.
type Bounds struct {
	// Min, Max and PreferredMax are numbers of replicas.
	Min, Max, PreferredMax int
	// Reach is the total request at the owner's maximum, in milli-CPU. The allowed maximum grows as the request shrinks, so
	// that this total stays within reach. Zero: the maximum is always Max.
	Reach int64
	// MinRequest and MaxRequest bound the request of the scaled container, in milli-CPU.
	MinRequest, MaxRequest int64
	// MaxBy is the origin of MaxRequest, in words.
	MaxBy string
	// MinUtilisation and MaxUtilisation bound the target utilisation, in percent.
	MinUtilisation, MaxUtilisation int
}

// mostReplicas is the largest maximum of an autoscaler.
const mostReplicas = math.MaxInt32

// MaxFor returns the largest number of replicas for a request.
func (b Bounds) MaxFor(request int64) int {
	request = max(request, 1)
	reach := min(b.Reach/request, mostReplicas-1)
	if reach*request < b.Reach {
		reach++
	}
	return max(b.Max, int(reach))
}

// Reason is the reason for a number. Of is the subject and Text the reason.
type Reason struct{ Of, Text string }

// String returns the line that explain prints.
func (r Reason) String() string { return r.Of + ": " + r.Text }

// Guard limits one step of a request.
type Guard struct {
	// Down is the largest step down, and Up is the largest step up. Both are shares of the request.
	Down, Up float64
	// Worth is the smallest change of a request that is made, as a share of the request. A needed change may be smaller.
	Worth float64
}

// DefaultGuard returns a guard with which one step takes at most a fifth away and adds at most as much again.
func DefaultGuard() Guard { return Guard{Down: 0.2, Up: 1, Worth: 0.03} }

// Step returns the next request on the way to a wanted one. It returns false if the change would be too small. A needed
// step up is never too small.
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

// Memory returns a memory request in bytes from a quantile of usage.
func Memory(used float64, p Profile, least, most int64) (int64, Reason) {
	wanted := int64(used * p.MemoryMargin)
	got := min(max(wanted, least), most)
	text := fmt.Sprintf("%d MiB: %.0f MiB were used (quantile %g, kills included), times %.3g", mebis(got), used/(1<<20), p.MemoryQuantile,
		p.MemoryMargin)
	return got, Reason{"memory", text + Bounded(wanted, least, most, func(n int64) string { return fmt.Sprintf("%d MiB", mebis(n)) })}
}

func mebis(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// Bounded returns the bound that limits a wanted request, or "".
func Bounded(wanted, least, most int64, text func(int64) string) string {
	switch {
	case wanted > most:
		return "; no more than " + text(most) + " by max of spec.resources"
	case wanted < least:
		return "; no less than " + text(least) + " by min of spec.resources or its default"
	}
	return ""
}
