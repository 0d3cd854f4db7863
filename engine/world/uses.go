package world

import (
	"sync"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Uses is the knowledge of the use of a policy's targets. It is immutable.
type Uses map[workload.Ref]*workload.Use

// uses has the Uses of all policies. All snapshots share one, as they share the objects.
type uses struct{ by sync.Map } // workload.Policy to Uses

var _ decide.Used = (*Snapshot)(nil)

// Use implements decide.Used.
func (s *Snapshot) Use(id workload.Policy, ref workload.Ref) *workload.Use {
	found, _ := s.uses.by.Load(id)
	all, _ := found.(Uses)
	return all[ref]
}

// SetUses stores the knowledge of the use of a policy's targets; nil: none. Afterwards the caller must queue the targets for a
// decision.
func (w *World) SetUses(id workload.Policy, all Uses) {
	store := w.Snapshot().uses
	if all == nil {
		store.by.Delete(id)
		return
	}
	store.by.Store(id, all)
}

// SetUses stores the knowledge of the use of a policy's targets.
func (m *Memory) SetUses(id workload.Policy, all Uses) { m.world.SetUses(id, all) }
