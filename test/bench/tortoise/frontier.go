package tortoise

import (
	"cmp"
	"slices"
)

// outcome is what a contender costs, in core hours with memory priced in, and for how many minutes demand was too high.
type outcome struct{ cost, violations float64 }

func (o outcome) plus(other outcome) outcome {
	return outcome{o.cost + other.cost, o.violations + other.violations}
}

// frontier is the lower convex hull of fixed settings, from the cheapest to the one with the fewest violations: costs rise,
// violations fall. What lies on a line between two settings is reached by having some targets with the one and some with the
// other.
type frontier []outcome

// newFrontier returns the frontier of some settings; nil where there are none.
func newFrontier(settings []outcome) frontier {
	settings = slices.Clone(settings)
	slices.SortFunc(settings, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.violations, b.violations))
	})
	var f frontier
	for _, s := range settings {
		if len(f) > 0 && s.violations >= f[len(f)-1].violations {
			continue // dearer, and no better
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

// violationsAt returns the violations of the best fixed setting of a cost. Below the cost of the cheapest setting those of the cheapest
// count, above the cost of the last those of the last.
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

// costAt returns the cost of the best fixed setting of some violations. Above the violations of the cheapest setting the cost of the
// cheapest counts, below those of the last the cost of the last.
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

// distance is how far an outcome is from the frontier: its violations over those of the best fixed setting of the same cost, and its cost
// over that of the best fixed setting of the same violations. Below 1 no fixed setting is as good.
type distance struct{ violations, cost float64 }

// leastMinutes is the resolution of violations: fewer count as so many, so that a ratio of two runs without any is 1.
var leastMinutes = tick.Minutes()

func (f frontier) distance(o outcome) distance {
	return distance{max(o.violations, leastMinutes) / max(f.violationsAt(o.cost), leastMinutes), o.cost / f.costAt(o.violations)}
}
