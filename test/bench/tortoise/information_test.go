package tortoise

import (
	"testing"
)

// TestMoreInformationIsNotWorse checks that tuning with Prometheus and changes in place is as good as without, or better,
// in the sums of all families. The worlds are short, and the frontier has few settings, so that the test takes seconds.
// A hundredth is allowed for chance: pods that are replaced have other shares of the load than pods that stay.
func TestMoreInformationIsNotWorse(t *testing.T) {
	const teach, length, chance = 2, 3, 1.01
	var rivals []contender
	for _, c := range contenders {
		if c.name == Flyball || c.name == All {
			rivals = append(rivals, c)
		}
	}
	for i := 0; i < len(grid); i += 4 {
		rivals = append(rivals, grid[i])
	}
	var settings []outcome
	sums := map[string]outcome{}
	for _, c := range rivals {
		for _, family := range Families {
			w := newWorld(family, 1, length)
			w.teach = teach * ticksPerDay
			r := simulate(w, c)
			if r.CeilingLost > 0 {
				t.Errorf("%s loses %g of the ceiling of %s", c.name, r.CeilingLost, family)
			}
			if !w.apart {
				sums[c.name] = sums[c.name].plus(r.outcome())
			}
		}
		if c.make == nil {
			settings = append(settings, sums[c.name])
		}
	}
	few, more := newFrontier(settings).distance(sums[Flyball]), newFrontier(settings).distance(sums[All])
	if more.violations > few.violations*chance || more.cost > few.cost*chance {
		t.Errorf("with more information, violations at equal cost are %.3f instead of %.3f, and cost at equal violations %.3f instead of %.3f",
			more.violations, few.violations, more.cost, few.cost)
	}
}
