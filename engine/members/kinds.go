package members

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownerKind is a kind of owners that is watched for this package alone.
type ownerKind struct {
	watch *watch.Watch
	// barred is since when it is known that the kind cannot be watched: it is not served, or that is not allowed.
	barred time.Time
	// late is true where everything was known before the kind was met: nobody else waits for it.
	late bool
	// failed is true once it could not be found out whether the kind can be watched: nobody waits for it either.
	failed bool
}

// isSettled says that no other owners are to be expected: the objects of the kind are known, or never will be.
func (k ownerKind) isSettled() bool {
	return !k.barred.IsZero() || k.watch != nil && k.watch.HasSynced()
}

// isAwaited says whether pods count as unknown until more is known of the kind.
func (k ownerKind) isAwaited() bool {
	return !k.isSettled() && !k.late && !k.failed && (k.watch == nil || !isRefused(k.watch))
}

// get gives an object of the kind, or nil. Owners of what is in a namespace are in it too, or in none.
func (k ownerKind) get(namespace, name string) *workload.Object {
	if k.watch == nil {
		return nil
	}
	if obj := k.watch.Get(namespace, name); obj != nil {
		return obj
	}
	return k.watch.Get("", name)
}

const (
	// resolveRetry is the pause after it could not be found out whether a kind can be watched.
	resolveRetry = 5 * time.Second
	// barredRetry is the pause after which a kind is asked about again that cannot be watched.
	barredRetry = 10 * time.Minute
	// ownerKindsAtMost is how many kinds of owners are remembered. Where there are more, those are forgotten that cannot be watched. Whoever makes
	// pods can give them owners of kinds that do not exist.
	ownerKindsAtMost = 1000
)

// kinds are the kinds of owners that are watched, each from when it is first asked about.
type kinds struct {
	opts Options
	// watch begins to watch one.
	watch func(ctx context.Context, gk schema.GroupKind, resource schema.GroupVersionResource) (*watch.Watch, error)
	// changed hears that something has come to be known. No lock is held then.
	changed func()

	mu  sync.Mutex
	all map[schema.GroupKind]*ownerKind
}

// of gives what is known of a kind, and has it looked into where that is nothing, by a watch that ends with the context; false: there are too
// many kinds.
func (s *kinds) of(ctx context.Context, gk schema.GroupKind, late bool) (ownerKind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.fresh(gk); k != nil {
		return *k, true
	}
	delete(s.all, gk)
	if len(s.all) >= ownerKindsAtMost {
		maps.DeleteFunc(s.all, func(_ schema.GroupKind, k *ownerKind) bool { return !k.barred.IsZero() })
	}
	if len(s.all) >= ownerKindsAtMost {
		return ownerKind{}, false
	}
	k := &ownerKind{late: late}
	s.all[gk] = k
	go s.find(ctx, gk, k)
	return *k, true
}

// at gives what is known of a kind; false: it was not asked about, or long ago.
func (s *kinds) at(gk schema.GroupKind) (ownerKind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.fresh(gk); k != nil {
		return *k, true
	}
	return ownerKind{}, false
}

// fresh gives a kind that needs not be asked about again: it may have come to be served, or allowed. It is called with the lock held.
func (s *kinds) fresh(gk schema.GroupKind) *ownerKind {
	k := s.all[gk]
	if k == nil || !k.barred.IsZero() && s.opts.Clock.Now().Sub(k.barred) >= barredRetry {
		return nil
	}
	return k
}

// isSettled says that no other owners of a kind are to be expected. Of a kind that nobody asked about that holds too, as far as all could be
// asked about.
func (s *kinds) isSettled(gk schema.GroupKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.all[gk]; k != nil {
		return k.isSettled()
	}
	return len(s.all) < ownerKindsAtMost
}

// count says of how many kinds no other owners are to be expected, and whether pods count as unknown until more is known of some kind.
func (s *kinds) count() (settled int, awaited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.all {
		awaited = awaited || k.isAwaited()
		if k.isSettled() {
			settled++
		}
	}
	return settled, awaited
}

// find has a kind watched once it can be told whether that is possible.
func (s *kinds) find(ctx context.Context, gk schema.GroupKind, k *ownerKind) {
	for {
		resource, ok, err := s.opts.Cluster.Resource(ctx, gk)
		if err == nil {
			s.resolve(ctx, gk, k, resource, ok)
			return
		}
		s.opts.Log.V(1).Info("it could not be found out whether owners of pods can be watched", "kind", gk.String(), "reason", err.Error())
		s.mu.Lock()
		k.failed = true
		s.mu.Unlock()
		s.changed()
		select {
		case <-ctx.Done():
			return
		case <-time.After(resolveRetry):
		}
	}
}

// resolve starts the watch of a kind of owners, if it can be watched, and tells of that.
func (s *kinds) resolve(ctx context.Context, gk schema.GroupKind, k *ownerKind, resource schema.GroupVersionResource, ok bool) {
	var w *watch.Watch
	if ok {
		var err error
		if w, err = s.watch(ctx, gk, resource); err != nil {
			s.opts.Log.Error(err, "owners of pods are not watched", "kind", gk.String())
		}
	} else {
		s.opts.Log.V(1).Info("pods may belong to more than can be seen: owners of a kind are not served, or may not be listed and watched", "kind", gk.String())
	}
	s.mu.Lock()
	if k.watch = w; w == nil {
		k.barred = s.opts.Clock.Now()
	}
	s.mu.Unlock()
	s.changed()
}
