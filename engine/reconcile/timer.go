package reconcile

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// key is a policy if the field policy is set. Otherwise it is a target that must be decided again.
type key struct {
	target workload.Ref
	policy workload.Policy
	// deadline is true for a second instant of the target, beside that of its decision.
	deadline bool
}

// timer is a heap of instants at which an answer can change, at most one for each key. A single timer waits for the
// earliest instant. So neither cron jobs nor polling are needed.
type timer struct {
	clock clock.Clock
	// setBack is called after the clock was set back, when every answer may be that of a later time; nil: never.
	setBack func()
	// firing is held while due keys are passed to the function fire. It guards latest, the latest clock time seen.
	firing sync.Mutex
	latest time.Time

	mu     sync.Mutex
	items  instants
	byKey  map[key]*entry
	sooner chan struct{}
}

type entry struct {
	key   key
	at    time.Time
	index int
}

const (
	// longestWait is the longest wait of the timer. A timer measures elapsed time and not clock time. If the clock was
	// set, or the machine was suspended, an instant comes before the timer ends, or answers become wrong.
	longestWait = 5 * time.Second
	// smallestSetBack is above the corrections of a clock that is kept by NTP. A smaller step back only delays instants.
	smallestSetBack = time.Second
)

func newTimer(c clock.Clock) *timer {
	return &timer{clock: c, byKey: map[key]*entry{}, sooner: make(chan struct{}, 1)}
}

// Set replaces the instant of a key. A zero instant removes the key.
func (w *timer) Set(key key, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	item := w.byKey[key]
	switch {
	case at.IsZero() && item == nil:
		return
	case at.IsZero():
		heap.Remove(&w.items, item.index)
		delete(w.byKey, key)
		return
	case item == nil:
		item = &entry{key: key, at: at}
		w.byKey[key] = item
		heap.Push(&w.items, item)
	case item.at.Equal(at):
		return
	default:
		item.at = at
		heap.Fix(&w.items, item.index)
	}
	if item.index == 0 {
		workers.Poke(w.sooner)
	}
}

// Run calls fire with the due keys until the context ends.
func (w *timer) Run(ctx context.Context, fire func([]key)) {
	for {
		wait := w.fireDue(fire)
		if wait < 0 || wait > longestWait {
			wait = longestWait
		}
		timer := w.clock.NewTimer(wait)
		if w.isDue() { // the clock advanced before the timer was created
			timer.Stop()
			continue
		}
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-w.sooner:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// fireDue calls fire with all due keys, in the order of their instants. It returns the time until the next instant,
// or a negative duration if there is none. On its return, fire has also returned for keys taken by a concurrent call.
func (w *timer) fireDue(fire func([]key)) time.Duration {
	w.firing.Lock()
	defer w.firing.Unlock()
	w.noticeSetBack()
	for {
		due, wait := w.take(w.clock.Now())
		if len(due) == 0 {
			return wait
		}
		fire(due)
	}
}

// noticeSetBack calls setBack if the clock shows an earlier time than before. Clock times are compared without their
// monotonic readings, which never go back.
func (w *timer) noticeSetBack() {
	now := w.clock.Now().Round(0)
	switch {
	case now.After(w.latest):
		w.latest = now
	case w.latest.Sub(now) >= smallestSetBack:
		w.latest = now
		if w.setBack != nil {
			w.setBack()
		}
	}
}

// isDue reports whether a key is due.
func (w *timer) isDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.items) > 0 && !w.items[0].at.After(w.clock.Now())
}

// take removes the due keys from the heap. It also returns the time until the next instant, or a negative duration if
// the heap is empty.
func (w *timer) take(now time.Time) (due []key, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.items) > 0 {
		first := w.items[0]
		if wait := first.at.Sub(now); wait > 0 {
			return due, wait
		}
		heap.Pop(&w.items)
		delete(w.byKey, first.key)
		due = append(due, first.key)
	}
	return due, -1
}

type instants []*entry

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h instants) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *instants) Push(x any) {
	item := x.(*entry)
	item.index = len(*h)
	*h = append(*h, item)
}
func (h *instants) Pop() any {
	old := *h
	item := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return item
}
