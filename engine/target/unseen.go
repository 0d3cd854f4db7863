package target

import (
	"slices"
	"sync"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// unseen remembers writes that the watch may not have brought yet. A write to the object itself is safe without it, since it goes to one
// version only. What an object needs also follows from what governs it and from what it governs, though, and these come by watches of their
// own.
type unseen struct {
	mu    sync.Mutex
	wrote map[workload.Ref]unseenWrite
}

// unseenWrite is a write to one version of an object.
type unseenWrite struct {
	version string
	// n is how many write to it: of two only one gets through.
	n int
}

func newUnseen() *unseen { return &unseen{wrote: map[workload.Ref]unseenWrite{}} }

// begin takes note of a write to a version of an object, before it is sent. It is over once another version is seen.
func (u *unseen) begin(ref workload.Ref, version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w := u.wrote[ref]
	if w.version != version {
		w = unseenWrite{version: version}
	}
	w.n++
	u.wrote[ref] = w
}

// end takes back a write to a version of an object that has not changed it.
func (u *unseen) end(ref workload.Ref, version string) {
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

// see takes note of a version of an object that is known now, and says whether it is the one before a write.
func (u *unseen) see(ref workload.Ref, version string) (behind bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	w, wrote := u.wrote[ref]
	if wrote && w.version != version {
		delete(u.wrote, ref)
		return false
	}
	return wrote
}

// relative is an object that governs a target or is governed by it, in the version that is known; empty: it is not there.
type relative struct {
	ref     workload.Ref
	version string
}

// relatives are what governs a target, and what it governs, as they are known now.
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

// begin takes note of a write that is about to be sent. It is false, and the write must not be sent, where what it follows from is not known as
// it is: a relative has changed since, or is being written. Each of two that are written at once takes note of its write before it looks for the
// other's, so that one of them at least waits.
func (l *Loop) begin(ref workload.Ref, version string, known []relative) bool {
	l.unseen.begin(ref, version)
	now := relatives(l.world.Snapshot(), ref)
	if slices.Equal(known, now) && !slices.ContainsFunc(now, func(r relative) bool { return l.unseen.see(r.ref, r.version) }) {
		return true
	}
	l.unseen.end(ref, version)
	return false
}
