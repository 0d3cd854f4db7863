package world

import (
	"sync"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
)

// Uses is the knowledge of the use of a policy's targets. It is immutable.
type Uses map[workload.Ref]*workload.Use

// uses has the Uses of all policies. All snapshots share one, as they share the objects.
type uses struct{ by sync.Map } // workload.Policy to known

// known are the Uses by a rule. They say nothing about another rule, such as that of a policy whose demand has changed since.
type known struct {
	rule demand.Rule
	all  Uses
}

var _ decide.Used = (*Snapshot)(nil)

// Use implements decide.Used.
func (s *Snapshot) Use(id workload.Policy, ref workload.Ref) *workload.Use {
	found, _ := s.uses.by.Load(id)
	of, _ := found.(known)
	if p := s.Policy(id); p == nil || p.Idle == nil || *p.Idle != of.rule {
		return nil
	}
	return of.all[ref]
}

// SetUses stores when the targets of a policy were used, as its rule judges it. Afterwards the caller must queue the targets for a
// decision.
func (w *World) SetUses(id workload.Policy, rule *demand.Rule, all Uses) {
	w.Snapshot().uses.by.Store(id, known{*rule, all})
}

// ForgetUses deletes the knowledge of the use of a policy's targets.
func (w *World) ForgetUses(id workload.Policy) { w.Snapshot().uses.by.Delete(id) }

// SetUses stores the knowledge of the use of a policy's targets by its present rule.
func (m *Memory) SetUses(id workload.Policy, all Uses) { m.world.SetUses(id, m.Policy(id).Idle, all) }
