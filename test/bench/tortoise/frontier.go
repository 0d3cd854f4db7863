package tortoise

import (
	"cmp"
	"slices"
)

// outcome has the cost of a contender in core hours, including the price of memory, and the number of minutes with too
// much demand.
type outcome struct{ cost, violations float64 }

func (o outcome) plus(other outcome) outcome {
	return outcome{o.cost + other.cost, o.violations + other.violations}
}

// frontier is the lower convex hull of the outcomes of fixed settings. It begins with the cheapest setting and ends
// with the setting that has the fewest violations, so costs rise and violations fall. A point on a line between two
// settings can be reached if some targets have one setting and the others have the other setting.
type frontier []outcome

// newFrontier returns the frontier of some outcomes, or nil if there are none.
func newFrontier(settings []outcome) frontier {
	settings = slices.Clone(settings)
	slices.SortFunc(settings, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.violations, b.violations))
	})
	var f frontier
	for _, s := range settings {
		if len(f) > 0 && s.violations >= f[len(f)-1].violations {
			continue // it costs more and has no fewer violations
		}
		for len(f) > 1 && !convex(f[len(f)-2], f[len(f)-1], s) {
			f = f[:len(f)-1]
		}
		f = append(f, s)
	}
	return f
}

// convex reports whether b lies below the line from a to c.
func convex(a, b, c outcome) bool {
	return (b.violations-a.violations)*(c.cost-a.cost) < (c.violations-a.violations)*(b.cost-a.cost)
}

// violationsAt returns the violations of the best fixed setting with the given cost. For a cost below the cheapest
// setting, these are the violations of the cheapest setting. For a cost above the last setting, these are the
// violations of the last setting.
func (f frontier) violationsAt(cost float64) float64 {
	i, found := slices.BinarySearchFunc(f, cost, func(o outcome, cost float64) int { return cmp.Compare(o.cost, cost) })
	switch {
	case found || i == 0:
		return f[i].violations
	case i == len(f):
		return f[i-1].violations
	}
	return between(cost, f[i-1].cost, f[i].cost, f[i-1].violations, f[i].violations)
}

// costAt returns the cost of the best fixed setting with the given violations. For more violations than the cheapest
// setting has, it is the cost of the cheapest setting. For fewer violations than the last setting has, it is the cost
// of the last setting.
func (f frontier) costAt(violations float64) float64 {
	i, found := slices.BinarySearchFunc(f, violations, func(o outcome,
		violations float64) int {
		return cmp.Compare(violations, o.violations)
	})
	switch {
	case found || i == 0:
		return f[i].cost
	case i == len(f):
		return f[i-1].cost
	}
	return between(violations, f[i-1].violations, f[i].violations, f[i-1].cost, f[i].cost)
}

// between interpolates linearly.
func between(x, x0, x1, y0, y1 float64) float64 { return y0 + (y1-y0)*(x-x0)/(x1-x0) }

// distance compares an outcome with the frontier. violations is the ratio of its violations to those of the best fixed
// setting with the same cost. cost is the ratio of its cost to the cost of the best fixed setting with the same
// violations. Below 1, no fixed setting is as good.
type distance struct{ violations, cost float64 }

// leastMinutes is the resolution of violations. Fewer violations count as leastMinutes, so that the ratio of two runs
// without violations is 1.
var leastMinutes = tick.Minutes()

func (f frontier) distance(o outcome) distance {
	return distance{max(o.violations, leastMinutes) / max(f.violationsAt(o.cost), leastMinutes), o.cost / f.costAt(o.violations)}
}
