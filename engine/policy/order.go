package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Order lists the waves of a policy's targets in the order of waking. The last wave has the targets of no other wave.
// Targets fall asleep in the reverse order.
type Order struct {
	Waves []Wave
	// PerNamespace is true if each namespace goes through the waves by itself.
	PerNamespace bool
}

// Wave is a part of a policy's targets that wakes together.
type Wave struct {
	// Name is for messages.
	Name string
	// Part selects the targets of the wave; nil: the targets of no other wave.
	Part *selector.Selector
	// Ready is true if the next wave waits until the targets have settled. Otherwise it only waits until they are written.
	Ready bool
	// Timeout is the longest time for which the next wave waits. Stop is true if the next wave does not begin even after
	// this time.
	Timeout time.Duration
	Stop    bool
}

// Place returns the place of an object's wave in the order, from 0.
func (o *Order) Place(gk schema.GroupKind, obj *workload.Object) int {
	i := slices.IndexFunc(o.Waves, func(w Wave) bool { return w.Part == nil || w.Part.Picks(gk, obj, nil) })
	return i // the last wave takes every object
}

// After returns the places of the waves that come before the wave at a place, in their order.
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
