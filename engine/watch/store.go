package watch

import (
	"maps"
	"slices"
	"sync"

	"flyball.dev/flyball/engine/workload"
)

// store holds the objects of a kind by namespace and name. The map is the index: no key text is built for an object,
// and the text of a namespace is stored once.
type store struct {
	mu         sync.RWMutex
	namespaces map[string]*namespace
	count      int
}

type namespace struct {
	name    string
	objects map[string]*workload.Object
}

// change is one callback to make. old is nil for an addition, and new is nil for a deletion.
type change struct{ old, new *workload.Object }

func newStore() *store { return &store{namespaces: make(map[string]*namespace)} }

// put stores an object and returns the resulting callbacks: none for a known resourceVersion, two if the object was
// deleted and recreated unseen.
func (s *store) put(o *workload.Object) []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.get(o.Namespace, o.Name)
	if old != nil && old.ResourceVersion == o.ResourceVersion && old.UID == o.UID {
		return nil
	}
	share(o, s.namespaces)
	s.set(o)
	return compare(nil, old, o)
}

// share makes an object use the stored text of its namespace. No other goroutine may hold the object yet.
func share(o *workload.Object, known map[string]*namespace) {
	if n := known[o.Namespace]; n != nil {
		o.Namespace = n.name
	}
}

// compare appends the callbacks for the change from old to new. Both objects have the same namespace and name; old may
// be nil.
func compare(changes []change, old, new *workload.Object) []change {
	if old != nil && old.UID != new.UID {
		return append(changes, change{old: old}, change{new: new})
	}
	return append(changes, change{old, new})
}

// replace makes the given objects the only ones and returns the resulting callbacks. Building new maps frees the memory
// of formerly larger maps.
func (s *store) replace(objects []*workload.Object) []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := store{namespaces: s.namespaces, count: s.count}
	s.namespaces, s.count = make(map[string]*namespace, len(s.namespaces)), 0
	var changes []change
	for _, o := range objects {
		old := before.get(o.Namespace, o.Name)
		if old != nil && old.ResourceVersion == o.ResourceVersion && old.UID == o.UID {
			s.set(old)
			continue
		}
		share(o, s.namespaces)
		share(o, before.namespaces)
		s.set(o)
		changes = compare(changes, old, o)
	}
	for _, n := range before.namespaces {
		for name, old := range n.objects {
			if s.get(n.name, name) == nil {
				changes = append(changes, change{old: old})
			}
		}
	}
	return changes
}

func (s *store) get(namespace, name string) *workload.Object {
	n := s.namespaces[namespace]
	if n == nil {
		return nil
	}
	return n.objects[name]
}

func (s *store) set(o *workload.Object) {
	n := s.namespaces[o.Namespace]
	if n == nil {
		n = &namespace{name: o.Namespace, objects: make(map[string]*workload.Object)}
		s.namespaces[n.name] = n
	}
	if _, known := n.objects[o.Name]; known {
		delete(n.objects, o.Name) // else the map's key would pin the name of the first version
	} else {
		s.count++
	}
	n.objects[o.Name] = o
}

// remove removes an object.
func (s *store) remove(namespace, name string) []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.get(namespace, name)
	if old == nil {
		return nil
	}
	n := s.namespaces[namespace]
	delete(n.objects, name)
	s.count--
	if len(n.objects) == 0 {
		delete(s.namespaces, namespace)
	}
	return []change{{old: old}}
}

func (s *store) find(namespace, name string) *workload.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.get(namespace, name)
}

func (s *store) len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.count
}

// all returns every object, in no order.
func (s *store) all() []*workload.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*workload.Object, 0, s.count)
	for _, n := range s.namespaces {
		out = slices.AppendSeq(out, maps.Values(n.objects))
	}
	return out
}

// in returns the objects of a namespace, in no order.
func (s *store) in(namespace string) []*workload.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if n := s.namespaces[namespace]; n != nil {
		return slices.Collect(maps.Values(n.objects))
	}
	return nil
}
