package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Order lists waves of a policy's targets in the order of waking, the targets of no wave last. Sleeping goes backwards.
type Order struct {
	Waves []Wave
}

// Wave is a part of a policy's targets that wakes together.
type Wave struct {
	// Name is for messages.
	Name string
	// Part selects the targets; nil: the targets of no other wave.
	Part *selector.Selector
	// Ready is true if the next wave waits until the targets have settled, and not only until they are written.
	Ready bool
	// Timeout is the longest wait of the next wave. Stop is true if it waits on afterwards.
	Timeout time.Duration
	Stop    bool
}

// Place returns the place, from 0, of the wave of an object.
func (o *Order) Place(gk schema.GroupKind, obj *workload.Object) int {
	i := slices.IndexFunc(o.Waves, func(w Wave) bool { return w.Part == nil || w.Part.Picks(gk, obj, nil) })
	return i // the last wave takes every object
}

// After returns the places of the waves for which the wave at a place waits, in their order.
func (o *Order) After(place int, d workload.Direction) []int {
	var before []int
	if d == workload.DirectionUp {
		for i := range place {
			before = append(before, i)
		}
		return before
	}
	for i := len(o.Waves) - 1; i > place; i-- {
		before = append(before, i)
	}
	return before
}

// Title returns the name and the place of a wave for messages.
func (o *Order) Title(place int) string {
	return fmt.Sprintf("%s (%d of %d)", o.Waves[place].Name, place+1, len(o.Waves))
}

// NeedsReady reports whether the policy looks at the state of its targets; false for a nil order.
func (o *Order) NeedsReady() bool {
	return o != nil && slices.ContainsFunc(o.Waves, func(w Wave) bool { return w.Ready })
}
