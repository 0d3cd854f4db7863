package world

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// advice holds the tuning advice of all targets. All snapshots share one advice, as they share the objects.
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

// Advise stores the tuning advice for a target. nil removes the advice. Afterwards the caller must queue the target
// for a decision.
func (w *World) Advise(ref workload.Ref, a *workload.Advice) {
	all := w.Snapshot().advice
	if a == nil {
		all.by.Delete(ref)
	} else {
		all.by.Store(ref, a)
	}
}

// readsAmounts reports whether a policy reads requests and target utilisations. A tuning policy does so even if its
// spec is unreadable, because its values may have to be restored.
func readsAmounts(p *policy.Policy) bool {
	return p.Tuner != nil || p.Wants(v1alpha1.CapabilityResources) || p.Wants(v1alpha1.CapabilityUtilisation)
}

// Leaving reports whether pods changed in place may still have to be restored although no tuning policy is left.
func (s *Snapshot) Leaving() bool { return s.leaving }

// LeavePods sets the value returned by Leaving. While the value is true, the requests of pod templates are read even
// without a policy for them. It also becomes true when the last tuning policy is removed.
func (tx *Tx) LeavePods(leaving bool) { tx.next.leaving = leaving }

// keepsAmounts reports whether a policy reads the requests or target utilisations of a kind's objects. A tuning
// policy also reads the autoscalers of its targets. It also reads kinds that it no longer selects, because it
// restores pods from the templates of their objects.
func (s *Snapshot) keepsAmounts(gk schema.GroupKind, p *Policy) bool {
	if !readsAmounts(p.Policy.Policy) {
		return false
	}
	if p.mayTouch(gk) {
		return true
	}
	known, ok := s.AdaptedKind(gk)
	return ok && (known.Governs || known.Requests) && p.Tuner != nil
}
