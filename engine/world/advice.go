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

// looksAtAmounts says whether a policy looks at requests and target utilisations. One that tunes does also while it cannot be read: what it has
// set may have to be given back.
func looksAtAmounts(p *policy.Policy) bool {
	return p.Tuner() != nil || p.Wants(v1alpha1.CapabilityResources) || p.Wants(v1alpha1.CapabilityUtilisation)
}

// Leaving says that pods may have still to be given back that were changed in place, and that no policy is left for which they were.
func (s *Snapshot) Leaving() bool { return s.leaving }

// LeavePods says whether pods may have still to be given back that were changed in place. As long as they may, the requests in pod templates are
// read without a policy that looks at them. It is so from the moment when the last such policy goes.
func (tx *Tx) LeavePods(leaving bool) { tx.next.leaving = leaving }

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
