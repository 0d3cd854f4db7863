package target

import (
	"slices"
	"sync"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// inflight remembers writes that the watches may not have delivered yet. A write to an object is safe without it,
// because the patch is conditional on the object's version. But a decision also depends on autoscalers and scale
// targets, and their changes arrive by watches of their own.
type inflight struct {
	mu    sync.Mutex
	wrote map[workload.Ref]inflightWrite
}

// inflightWrite is a write to one version of an object.
type inflightWrite struct {
	version string
	// n is the number of concurrent writers: only one of them succeeds.
	n int
}

func newInflight() *inflight { return &inflight{wrote: map[workload.Ref]inflightWrite{}} }

// begin records a write to a version of an object before sending. The record is dropped once a different version is seen.
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

// see records the known version of an object. It reports whether the version is the one from before a write, so the
// watch is behind.
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

// relative is an autoscaler or the scale target of a target, in its known version; empty: absent.
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

// begin records a write about to be sent. It returns false, and the write must not be sent, if a relative has changed
// since the decision or is being written. Of two concurrent writes at least one waits, because each is recorded before
// it looks for the other.
func (l *Loop) begin(ref workload.Ref, version string, known []relative) bool {
	l.unseen.begin(ref, version)
	now := relatives(l.world.Snapshot(), ref)
	if slices.Equal(known, now) && !slices.ContainsFunc(now, func(r relative) bool { return l.unseen.see(r.ref, r.version) }) {
		return true
	}
	l.unseen.end(ref, version)
	return false
}
