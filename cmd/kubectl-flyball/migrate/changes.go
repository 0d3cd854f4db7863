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
	// Change is in words, such as "replicas 3 -> 0". By is the deciding policy.
	Change string `json:"change"`
	By     string `json:"by"`
}

// StateChanges returns all changes of a migration: the changes that the given policies make at once, the changes that
// the take-over makes, and the changes that the policies make after the take-over.
func StateChanges(in world.Lists, items []*Handover, policies []workload.Policy, now time.Time) ([]StateChange, error) {
	all, err := writesAt(in, policies, now)
	if err != nil {
		return nil, err
	}
	in.Objects = slices.DeleteFunc(slices.Clone(in.Objects), func(raw []byte) bool {
		ref := NewObject(raw, "").Ref()
		return slices.ContainsFunc(items, func(h *Handover) bool { return h.Ref == ref })
	})
	for _, h := range items {
		in.Objects = append(in.Objects, h.after)
		all = append(all, h.changes...)
	}
	later, err := writesAt(in, policies, now)
	if err != nil {
		return nil, err
	}
	for _, c := range later {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all, nil
}

// writesAt returns the writes of policies to a world at an instant.
func writesAt(in world.Lists, policies []workload.Policy, now time.Time) ([]StateChange, error) {
	memory, err := world.NewMemory(in)
	if err != nil {
		return nil, err
	}
	writes, err := decide.Simulate(memory, now, now)
	if err != nil {
		return nil, err
	}
	var all []StateChange
	for _, w := range writes {
		if len(w.Edits) > 0 && slices.Contains(policies, w.By) {
			all = append(all, StateChange{Target: w.Target.String(), Change: w.Message, By: w.By.String()})
		}
	}
	return all, nil
}
