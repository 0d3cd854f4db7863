package pipeline

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// share names the other policies with the same claims in a plan. Claims for sizes are equal by their capacity. A size set once is not
// shared, because nothing is restored after it.
func (a Agreement) share(plan *workload.Plan, intents []workload.Intent) {
	for i := range intents {
		in := &intents[i]
		if in.Class != workload.ClassSet && (in.Class != workload.ClassSleep || overruled(in, a.awake)) {
			continue
		}
		if in.Size != nil && !in.Once && in.Size.Capacity == plan.Size.Value.Capacity {
			also(plan.Size, in)
		}
		if in.Min != nil && *in.Min == plan.Min.Value {
			also(plan.Min, in)
		}
		if in.Max != nil && *in.Max == plan.Max.Value {
			also(plan.Max, in)
		}
		if in.Hold {
			also(plan.Hold, in)
		}
		for key, value := range in.Amounts {
			if c := plan.Amounts[key]; c.Value == value && c.Limits == in.Limits {
				also(&c, in)
				plan.Amounts[key] = c
			}
		}
		for key, value := range in.Annotations {
			if c := plan.Annotations[key]; c.Value == value {
				also(&c, in)
				plan.Annotations[key] = c
			}
		}
	}
}

// also adds the policy of an intent to the policies of a claim, in order.
func also[T any](c *workload.Claim[T], in *workload.Intent) {
	if i, found := slices.BinarySearchFunc(c.Also, in.By, workload.Policy.Compare); !found && in.By != c.By {
		c.Also = slices.Insert(c.Also, i, in.By)
	}
}
