package migrate

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// StateChange is an object that goes to sleep or wakes because of a migration.
type StateChange struct {
	Target string `json:"target"`
	// What changes, such as "replicas 3 -> 0", and By which policy.
	What string `json:"what"`
	By   string `json:"by"`
}

// StateChanges lists what a take-over changes, and what the policies given change at once in a world in which everything is taken over.
func StateChanges(in world.Lists, items []*Handover, policies []workload.Policy, now time.Time) ([]StateChange, error) {
	in.Objects = slices.DeleteFunc(slices.Clone(in.Objects), func(raw []byte) bool {
		ref := NewObject(raw, "").Ref()
		return slices.ContainsFunc(items, func(h *Handover) bool { return h.Ref == ref })
	})
	var all []StateChange
	for _, h := range items {
		in.Objects = append(in.Objects, h.after)
		all = append(all, h.changes...)
	}
	memory, err := world.NewMemory(in)
	if err != nil {
		return nil, err
	}
	writes, err := decide.Simulate(memory, now, now)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		if len(w.Edits) > 0 && slices.Contains(policies, w.By) {
			all = append(all, StateChange{Target: w.Target.String(), What: w.Message, By: w.By.String()})
		}
	}
	return all, nil
}
