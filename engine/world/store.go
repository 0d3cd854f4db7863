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
	mu sync.RWMutex
	// objects are by namespace and name. count is their number.
	objects map[string]map[string]*workload.Object
	count   int
}

// Put adds or replaces an object. It returns the former version, or nil if there was none.
func (s *Store) Put(obj *workload.Object) (old *workload.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]map[string]*workload.Object{}
	}
	in := s.objects[obj.Namespace]
	if in == nil {
		in = map[string]*workload.Object{}
		s.objects[obj.Namespace] = in
	}
	if old = in[obj.Name]; old == nil {
		s.count++
	}
	in[obj.Name] = obj
	return old
}

// Remove removes an object and returns it, or nil if it did not exist.
func (s *Store) Remove(namespace, name string) (old *workload.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old = s.objects[namespace][name]; old != nil {
		s.count--
		delete(s.objects[namespace], name)
	}
	return old
}

// Get implements Objects.
func (s *Store) Get(namespace, name string) *workload.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[namespace][name]
}

// Range implements Objects. It holds no lock while it yields.
func (s *Store) Range(yield func(*workload.Object) bool) {
	s.mu.RLock()
	all := make([]*workload.Object, 0, s.count)
	for _, in := range s.objects {
		all = slices.AppendSeq(all, maps.Values(in))
	}
	s.mu.RUnlock()
	slices.Values(all)(yield)
}

// RangeNamespace implements Objects.
func (s *Store) RangeNamespace(namespace string, yield func(*workload.Object) bool) {
	s.mu.RLock()
	all := slices.Collect(maps.Values(s.objects[namespace]))
	s.mu.RUnlock()
	slices.Values(all)(yield)
}

// HasSynced implements Objects.
func (*Store) HasSynced() bool { return true }

// Len implements Objects.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.count
}
