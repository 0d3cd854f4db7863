package tune

import (
	"fmt"
	"math"
)

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
