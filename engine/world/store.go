package world

import (
	"maps"
	"slices"
	"sync"

	"flyball.dev/flyball/engine/workload"
)

// Store keeps objects of a kind in memory, for worlds without an API server. The zero Store is empty and counts as in
// sync.
type Store struct {
	mu      sync.RWMutex
	objects map[[2]string]*workload.Object
}

// Put adds or replaces an object. It returns the former version, or nil if there was none.
func (s *Store) Put(obj *workload.Object) (old *workload.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[[2]string]*workload.Object{}
	}
	key := [2]string{obj.Namespace, obj.Name}
	old, s.objects[key] = s.objects[key], obj
	return old
}

// Remove removes an object and returns it, or nil if it did not exist.
func (s *Store) Remove(namespace, name string) (old *workload.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{namespace, name}
	old = s.objects[key]
	delete(s.objects, key)
	return old
}

// Get implements Objects.
func (s *Store) Get(namespace, name string) *workload.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[[2]string{namespace, name}]
}

// Range implements Objects. It holds no lock while it yields.
func (s *Store) Range(yield func(*workload.Object) bool) {
	s.mu.RLock()
	all := slices.Collect(maps.Values(s.objects))
	s.mu.RUnlock()
	slices.Values(all)(yield)
}

// RangeNamespace implements Objects.
func (s *Store) RangeNamespace(namespace string, yield func(*workload.Object) bool) {
	s.Range(func(obj *workload.Object) bool { return obj.Namespace != namespace || yield(obj) })
}

// HasSynced implements Objects.
func (*Store) HasSynced() bool { return true }

// Len implements Objects.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}
