package world

import (
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// ControlsOf counts the selected objects of a policy with controllers without an adapter.
func (s *Snapshot) ControlsOf(p *Policy) decide.Controls {
	all := decide.Controls{}
	if p.Deleting || p.IsBroken() || !p.Kind.ActsOnTargets() {
		return all
	}
	for _, k := range s.kinds {
		s.EachSelected(p, k, func(ref workload.Ref) {
			if obj := s.Object(ref); obj != nil {
				all.Add(decide.LeftTo(s, &p.Policy, k.Kind, obj))
			}
		})
	}
	return all
}
