package workload

import (
	"strings"
	"sync"
)

// Interner keeps one copy of strings shared by many objects: namespaces, label keys and values, owner kinds, small JSON
// texts. It is bounded: it holds at most two generations of strings, and drops a string that is not requested during a
// whole generation (objects with the string keep it). It is safe for concurrent use.
type Interner struct {
	mu         sync.RWMutex
	young, old map[string]string
}

const (
	// generation is the number of strings after which the older generation is dropped.
	generation = 8192
	// longest is the length in bytes above which a string is unlikely to be shared.
	longest = 128
)

// NewInterner returns an empty Interner.
func NewInterner() *Interner { return &Interner{young: map[string]string{}} }

// Bytes returns a string equal to b that does not alias b.
func (in *Interner) Bytes(b []byte) string {
	if len(b) == 0 || len(b) > longest {
		return string(b)
	}
	in.mu.RLock()
	s, ok := in.young[string(b)]
	in.mu.RUnlock()
	if ok {
		return s
	}
	return in.add(string(b))
}

// String returns a string equal to s that does not alias s.
func (in *Interner) String(s string) string {
	if s == "" || len(s) > longest {
		return strings.Clone(s)
	}
	in.mu.RLock()
	shared, ok := in.young[s]
	in.mu.RUnlock()
	if ok {
		return shared
	}
	return in.add(strings.Clone(s))
}

// add keeps s, or the equal string of the older generation. The caller must not use s afterwards.
func (in *Interner) add(s string) string {
	in.mu.Lock()
	defer in.mu.Unlock()
	if shared, ok := in.young[s]; ok {
		return shared
	}
	if shared, ok := in.old[s]; ok {
		s = shared
	}
	if len(in.young) >= generation {
		in.old, in.young = in.young, make(map[string]string, generation)
	}
	in.young[s] = s
	return s
}
