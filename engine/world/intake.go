package world

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// Effects are the effects of an object's change on other parts.
type Effects struct {
	// Arrived is the object if it is new and its kind is in use; otherwise nil.
	Arrived *workload.Ref
	// Targets are the targets that must be decided again. The first is the object itself.
	Targets []workload.Ref
	// Emptied lists the policies that have just lost their last ledger on objects of the kind.
	Emptied []workload.Policy
	// Owner is true if the object applies other objects, and its state or the list of these objects has changed.
	Owner bool
	// FirstOrLast is true if the kind has just got its first ledger or lost its last ledger.
	FirstOrLast bool
}

// ObjectChanged is the intake of the World for objects of adapted kinds: it brings the indexes of l up to date and returns the effects.
// The watch of l calls it after each change in its store. For a new object, old is nil. For a deleted object, cur is nil.
func (w *World) ObjectChanged(l *Live, old, cur *workload.Object) Effects {
	obj := cmp.Or(cur, old)
	ref := workload.Ref{GroupKind: l.gk, Namespace: obj.Namespace, Name: obj.Name}
	e := l.change(ref, old, cur)
	s := w.Snapshot()
	if old == nil && s.Serves(l) {
		e.Arrived = &ref
	}
	for i := range e.Targets {
		e.Targets[i] = s.Referent(e.Targets[i])
	}
	e.Targets = append(e.Targets, s.Autoscalers(ref)...)
	if selectedAnew(old, cur) {
		s.EachFollower(ref, func(follower workload.Ref) { e.Targets = append(e.Targets, follower) })
	}
	owners, _ := s.Owners(ref)
	e.Targets = append(e.Targets, owners...)
	return e
}

// selectedAnew reports whether other policies than before may select an object.
func selectedAnew(old, cur *workload.Object) bool {
	return old == nil || cur == nil || old.Deleting != cur.Deleting || !slices.Equal(old.Labels, cur.Labels) ||
		!slices.Equal(old.Annotations, cur.Annotations)
}
