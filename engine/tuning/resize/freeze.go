package resize

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// frozenRetry is the time between checks of a freeze without a known end.
const frozenRetry = time.Minute

// above returns a target and all other objects that own its pods, at any distance.
func (l *Actuator) above(target workload.Ref) []workload.Ref {
	all := []workload.Ref{target}
	for _, group := range l.members.Groups(target) {
		owners, _ := l.members.Above(group)
		for _, ref := range append(owners, group) {
			if !slices.Contains(all, ref) {
				all = append(all, ref)
			}
		}
	}
	return all
}

// frozen returns the freeze that denies the scaling of one of the owners of some pods, and the time until the next
// check. It returns "" if no freeze denies it. The webhook checks the same objects when a different writer changes the
// pods.
func (l *Actuator) frozen(above []workload.Ref) (why string, again time.Duration) {
	snapshot, now := l.world.Snapshot(), l.opts.Clock.Now()
	for _, ref := range above {
		k, obj := snapshot.Kind(ref.GroupKind), snapshot.Object(ref)
		if k == nil || obj == nil {
			continue
		}
		gate := decide.ScaleGate(snapshot, k, obj, now)
		if gate.Kind == decide.GateOpen {
			continue
		}
		again = frozenRetry
		if wait := gate.Until.Sub(now); !gate.Until.IsZero() && wait > 0 {
			again = min(again, wait)
		}
		return gate.Reason, again
	}
	return "", 0
}
