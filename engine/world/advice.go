package world

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// advice has what was found for targets. Like objects, it stays outside the snapshots, which share it.
type advice struct{ by sync.Map } // workload.Ref to *workload.Advice

var _ decide.Adviser = (*Snapshot)(nil)

// Advice implements decide.Adviser.
func (s *Snapshot) Advice(ref workload.Ref) *workload.Advice {
	if s.advice == nil {
		return nil
	}
	found, _ := s.advice.by.Load(ref)
	a, _ := found.(*workload.Advice)
	return a
}

// Advise takes over what was found for a target; nil: it is not known any more. The caller has the target looked at again.
func (w *World) Advise(ref workload.Ref, a *workload.Advice) {
	all := w.Snapshot().advice
	if a == nil {
		all.by.Delete(ref)
	} else {
		all.by.Store(ref, a)
	}
}

// looksAtAmounts says whether a policy looks at requests and target utilisations.
func looksAtAmounts(p *policy.Policy) bool {
	return p.Wants(v1alpha1.CapabilityResources) || p.Wants(v1alpha1.CapabilityUtilisation)
}

// keepsAmounts says whether policies look at the requests or the target utilisations of objects of a kind. Those that tune what they select look
// at what governs that, too, and give pods back what their templates ask for, also of kinds that they select no more.
func (s *Snapshot) keepsAmounts(gk schema.GroupKind, p *Policy) bool {
	if !looksAtAmounts(p.Policy.Policy) {
		return false
	}
	if p.mayTouch(gk) {
		return true
	}
	known, ok := s.AdaptedKind(gk)
	return ok && (known.Governs || known.Requests) && p.Tuner() != nil
}
