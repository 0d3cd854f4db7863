package timeline

import (
	"sync/atomic"
	"time"
)

// Kept keeps the last two results of a function of instants, because all targets of a policy are decided at the same instants. A result
// is a fact about its instant, so it never becomes wrong. Two results serve two parts of a simulation, each at its own instant. The zero
// Kept is empty, and is safe for concurrent use.
type Kept[T any] struct{ last, before atomic.Pointer[moment[T]] }

// moment is the result for a second of Unix time.
type moment[T any] struct {
	second int64
	result T
}

// At returns the result of a function for an instant. The function must depend on nothing else than the second of the instant.
func (k *Kept[T]) At(at time.Time, function func(time.Time) T) T {
	second := at.Unix()
	if m := k.last.Load(); m != nil && m.second == second {
		return m.result
	}
	if m := k.before.Load(); m != nil && m.second == second {
		return m.result
	}
	m := &moment[T]{second, function(at)}
	k.before.Store(k.last.Swap(m))
	return m.result
}
