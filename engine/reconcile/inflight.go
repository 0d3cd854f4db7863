package reconcile

import (
	"slices"
	"sync"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// inflight has the writes that the watches may not have delivered yet. A write to an object is safe without this
// record, because the patch is conditional on the object's version. But a decision also depends on autoscalers and
// scale targets, and other watches deliver their changes.
type inflight struct {
	mu    sync.Mutex
	wrote map[workload.Ref]inflightWrite
}

// inflightWrite is a write to one version of an object.
type inflightWrite struct {
	version string
	// n is the number of concurrent writers. Only one of them can succeed.
	n int
}

func newInflight() *inflight { return &inflight{wrote: map[workload.Ref]inflightWrite{}} }

// begin records a write to a version of an object before the write is sent. The record is dropped when a different
// version is seen.
func (u *inflight) begin(ref workload.Ref, version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.wrote[ref]
	if w.version != version {
		w = inflightWrite{version: version}
	}
	w.n++
	u.wrote[ref] = w
}

// end removes the record of a write that has not changed the object.
func (u *inflight) end(ref workload.Ref, version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w, ok := u.wrote[ref]
	switch {
	case !ok || w.version != version:
	case w.n == 1:
		delete(u.wrote, ref)
	default:
		w.n--
		u.wrote[ref] = w
	}
}

// see records the known version of an object. It reports whether a write to this version is recorded, which means
// that the watch has not delivered the write yet.
func (u *inflight) see(ref workload.Ref, version string) (behind bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w, wrote := u.wrote[ref]
	if wrote && w.version != version {
		delete(u.wrote, ref)
		return false
	}
	return wrote
}

// relative is an autoscaler or the scale target of a target. version is its known version, and empty if the object
// does not exist.
type relative struct {
	ref     workload.Ref
	version string
}

// relatives returns the known autoscalers and the scale target of a target.
func relatives(s *world.Snapshot, ref workload.Ref) []relative {
	var all []relative
	s.Related(ref, func(other workload.Ref) {
		if other == ref {
			return
		}
		r := relative{ref: other}
		if obj := s.Object(other); obj != nil {
			r.version = obj.ResourceVersion
		}
		all = append(all, r)
	})
	return all
}

// begin records a write that is about to be sent. It returns false if a relative has changed since the decision or is
// being written. The write must then not be sent. Of two concurrent writes at least one must wait, because each is
// recorded before it looks for the other.
func (l *Loop) begin(ref workload.Ref, version string, known []relative) bool {
	l.unseen.begin(ref, version)
	now := relatives(l.world.Snapshot(), ref)
	if slices.Equal(known, now) && !slices.ContainsFunc(now, func(r relative) bool { return l.unseen.see(r.ref, r.version) }) {
		return true
	}
	l.unseen.end(ref, version)
	return false
}
