package gate

import (
	"context"
	"slices"
	"sync"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Inflight records each write, until the write has failed or the watch has delivered it. A write to an object is safe
// without this record, because the patch is conditional on the object's version. But a decision also depends on
// autoscalers and scale targets, and other watches deliver their changes.
type Inflight struct {
	mu    sync.Mutex
	wrote map[workload.Ref]inflight
}

// inflight is a write to one version of an object.
type inflight struct {
	version string
	// n is the number of concurrent writers. Only one of them can succeed.
	n int
}

// NewInflight returns an Inflight without writes.
func NewInflight() *Inflight { return &Inflight{wrote: map[workload.Ref]inflight{}} }

// Enter implements Gate. It lets every write through, and records it before it is sent. The record is dropped when a
// different version is seen.
func (u *Inflight) Enter(_ context.Context, write *Write) *Wait {
	u.mu.Lock()
	defer u.mu.Unlock()
	version := write.Verdict.Object.ResourceVersion
	w := u.wrote[write.Ref]
	if w.version != version {
		w = inflight{version: version}
	}
	w.n++
	u.wrote[write.Ref] = w
	return nil
}

// Leave implements Gate. It removes the record of a write that has not changed the object. The watch delivers the change of
// another writer; if it already has, the next decision sees the change.
func (u *Inflight) Leave(write *Write, end End) *Wait {
	if end.Outcome == apply.Applied {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	w, ok := u.wrote[write.Ref]
	switch {
	case !ok || w.version != write.Verdict.Object.ResourceVersion:
	case w.n == 1:
		delete(u.wrote, write.Ref)
	default:
		w.n--
		u.wrote[write.Ref] = w
	}
	if end.Outcome == apply.Stale || end.Outcome == apply.Gone || end.Outcome == Opened {
		return &Wait{Err: ErrBehind}
	}
	return nil
}

// Withdraw implements Gate.
func (*Inflight) Withdraw(workload.Ref) {}

// Forget implements Gate.
func (u *Inflight) Forget(ref workload.Ref) { u.See(ref, "") }

// See records the known version of an object. It reports whether a write to this version is recorded, which means
// that the watch has not delivered the write yet.
func (u *Inflight) See(ref workload.Ref, version string) (behind bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w, wrote := u.wrote[ref]
	if wrote && w.version != version {
		delete(u.wrote, ref)
		return false
	}
	return wrote
}

// Relatives lets a write through if no relative of the target has changed since the decision or is being written. Of two
// concurrent writes at least one must wait, because each is recorded by Inflight before it looks for the other.
type Relatives struct {
	placeless
	World    *world.World
	Inflight *Inflight
}

// Enter implements Gate.
func (g *Relatives) Enter(_ context.Context, w *Write) *Wait {
	now := RelativesOf(g.World.Snapshot(), w.Ref)
	if slices.Equal(w.Relatives, now) && !slices.ContainsFunc(now, func(r Relative) bool { return g.Inflight.See(r.Ref, r.version) }) {
		return nil
	}
	return &Wait{Err: ErrBehind}
}

// Relative is an autoscaler or the scale target of a target.
type Relative struct {
	workload.Ref
	// version is the known version of the object; empty: the object does not exist.
	version string
}

// RelativesOf returns the known autoscalers and the scale target of a target.
func RelativesOf(s *world.Snapshot, ref workload.Ref) []Relative {
	var all []Relative
	s.Related(ref, func(other workload.Ref) {
		if other == ref {
			return
		}
		r := Relative{Ref: other}
		if obj := s.Object(other); obj != nil {
			r.version = obj.ResourceVersion
		}
		all = append(all, r)
	})
	return all
}
