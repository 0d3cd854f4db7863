package reconcile

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// standing notices that a watch stands again after it did not.
type standing struct {
	watch atomic.Pointer[watch.Watch]
	down  atomic.Bool
	// back is called then, in a goroutine of its own.
	back func()
}

// look is to be called whenever the state of the watch may have changed.
func (s *standing) look() {
	w := s.watch.Load()
	if w == nil {
		return
	}
	if _, err := w.Err(); err != nil {
		s.down.Store(true)
	} else if s.down.Swap(false) {
		go s.back()
	}
}

// retryKind looks again at every object of a kind, without the pauses that failures have brought: the API server is back.
func (e *Engine) retryKind(gk schema.GroupKind) {
	e.mu.RLock()
	k := e.kinds[gk]
	e.mu.RUnlock()
	if k == nil {
		return
	}
	k.watch.Range(func(obj *workload.Object) bool {
		ref := k.ref(obj)
		e.queue.Forget(ref)
		e.queue.Add(ref)
		return true
	})
}
