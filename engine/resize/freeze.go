package resize

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// frozenRetry is after how long it is asked again whether a freeze is over of which nobody knows the end.
const frozenRetry = time.Minute

// above lists a target and all other objects that own pods of it, however far above them.
func (l *Loop) above(target workload.Ref) []workload.Ref {
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

// frozen says which freeze denies that one of the objects above some pods is scaled, and after how long to ask again; empty: none does. The
// webhook asks for the same objects when somebody else changes the pods.
func (l *Loop) frozen(above []workload.Ref) (why string, again time.Duration) {
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
