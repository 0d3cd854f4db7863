package workload

import (
	"strings"
	"sync"
)

// Interner keeps one copy of strings that many objects share: namespaces, label keys and values, owner kinds, small JSON
// texts. It is bounded: it holds at most two generations of strings, and one that is not asked for during a whole
// generation is forgotten (objects that hold it keep it). It is safe for concurrent use.
type Interner struct {
	mu         sync.RWMutex
	young, old map[string]string
}

const (
	// generation is the number of strings after which the older half is forgotten.
	generation = 8192
	// longest is the length in bytes above which a string is unlikely to be shared.
	longest = 128
)

// NewInterner makes an empty Interner.
func NewInterner() *Interner { return &Interner{young: map[string]string{}} }

// Bytes gives a string equal to b that does not alias it.
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

// String gives a string equal to s that does not alias it.
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

// add keeps s, or the equal string of the older generation. The caller gives s away.
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
