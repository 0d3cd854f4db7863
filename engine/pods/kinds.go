package pods

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// ownerKind is a kind of owners watched only by this package.
type ownerKind struct {
	watch *watch.Watch
	// barred is the time when the kind was found to be unwatchable: not served, or forbidden. Zero: it was not.
	barred time.Time
	// late is true if everything was known before the kind was first met: other pods do not wait for it.
	late bool
	// failed is true after a failed check of whether the kind can be watched: other pods do not wait for it either.
	failed bool
}

// isSettled reports whether no further owners can appear: the objects of the kind are known, or cannot become known.
func (k ownerKind) isSettled() bool {
	return !k.barred.IsZero() || k.watch != nil && k.watch.HasSynced()
}

// isAwaited reports whether pods count as unknown until more is known of the kind.
func (k ownerKind) isAwaited() bool {
	return !k.isSettled() && !k.late && !k.failed && (k.watch == nil || !isRefused(k.watch))
}

// get returns an object of the kind, or nil. The owner of a namespaced object is in the same namespace or
// cluster-scoped.
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
	// resolveRetry is the pause after a failed check of whether a kind can be watched.
	resolveRetry = 5 * time.Second
	// barredRetry is the pause after which an unwatchable kind is checked again.
	barredRetry = 10 * time.Minute
	// ownerKindsAtMost is the maximum number of remembered kinds. Above it, unwatchable kinds are dropped. The limit is
	// needed because authors of pods can name owners of kinds that do not exist.
	ownerKindsAtMost = 1000
)

// kinds are the watched kinds of owners, each since its first use.
type kinds struct {
	opts Options
	// watch starts the watch of a kind.
	watch func(ctx context.Context, gk schema.GroupKind, resource schema.GroupVersionResource) (*watch.Watch, error)
	// changed is called, without a lock, after more has become known.
	changed func()

	mu  sync.Mutex
	all map[schema.GroupKind]*ownerKind
}

// of returns the state of a kind. For an unknown kind it starts a check and a watch that ends with the context; false:
// too many kinds.
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

// at returns the state of a kind; false: never or not recently used.
func (s *kinds) at(gk schema.GroupKind) (ownerKind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.fresh(gk); k != nil {
		return *k, true
	}
	return ownerKind{}, false
}

// fresh returns the state of a kind, or nil if the kind is unknown or must be checked again: an unwatchable kind may be
// served or allowed by now. The caller holds the lock.
func (s *kinds) fresh(gk schema.GroupKind) *ownerKind {
	k := s.all[gk]
	if k == nil || !k.barred.IsZero() && s.opts.Clock.Now().Sub(k.barred) >= barredRetry {
		return nil
	}
	return k
}

// isSettled reports whether no further owners of a kind can appear. It is also true for a kind never used, unless some
// kinds could not be remembered.
func (s *kinds) isSettled(gk schema.GroupKind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.all[gk]; k != nil {
		return k.isSettled()
	}
	return len(s.all) < ownerKindsAtMost
}

// settled returns the number of settled kinds.
func (s *kinds) settled() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.all {
		if k.isSettled() {
			n++
		}
	}
	return n
}

// awaited returns the kinds of which more must be known before pods are, in the order of their names.
func (s *kinds) awaited() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for gk, k := range s.all {
		if k.isAwaited() {
			names = append(names, gk.String())
		}
	}
	slices.Sort(names)
	return names
}

// find starts the watch of a kind once it is known whether the kind can be watched.
func (s *kinds) find(ctx context.Context, gk schema.GroupKind, k *ownerKind) {
	for {
		resource, ok, err := s.opts.Cluster.Resource(ctx, gk)
		if err == nil {
			s.resolve(ctx, gk, k, resource, ok)
			return
		}
		s.opts.Log.V(1).Info("Failed to check whether owners of pods can be watched; will retry", "kind", gk.String(), "reason", err.Error())
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

// resolve starts the watch of a kind of owners, if possible, and reports the change.
func (s *kinds) resolve(ctx context.Context, gk schema.GroupKind, k *ownerKind, resource schema.GroupVersionResource, ok bool) {
	var w *watch.Watch
	if ok {
		var err error
		if w, err = s.watch(ctx, gk, resource); err != nil {
			s.opts.Log.Error(err, "Failed to watch owners of pods", "kind", gk.String())
		}
	} else {
		s.opts.Log.V(1).Info("Owners of pods are unknown: the kind is not served, or listing and watching it is forbidden", "kind", gk.String())
	}
	s.mu.Lock()
	if k.watch = w; w == nil {
		k.barred = s.opts.Clock.Now()
	}
	s.mu.Unlock()
	s.changed()
}
