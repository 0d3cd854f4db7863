package world_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/world"
)

// follower is an Observer that follows the state of one policy.
type follower struct {
	t    *testing.T
	busy atomic.Int32
	seen *world.Policy
	told int
}

func (f *follower) BeforePublish(before, next *world.Snapshot, c *world.Change) {
	f.hear(before, next, c, false)
}
func (f *follower) AfterPublish(now *world.Snapshot, c *world.Change) { f.hear(nil, now, c, true) }

func (f *follower) hear(before, now *world.Snapshot, c *world.Change, published bool) {
	if f.busy.Add(1) != 1 {
		f.t.Error("two changes are told of at once")
	}
	defer f.busy.Add(-1)
	for _, p := range c.Policies {
		if p.Old != f.seen || now.Find(p.ID) != p.New || before != nil && before.Find(p.ID) != p.Old {
			f.t.Errorf("told of a change from %p to %p after %p", p.Old, p.New, f.seen)
		}
		if published {
			f.seen = p.New
			f.told++
		}
	}
	runtime.Gosched() // lets the next transaction overtake this notification
}

// Transactions run in several goroutines. The notification of a change never overtakes the notification of an earlier
// change.
func TestObserversAreNotifiedInTransactionOrder(t *testing.T) {
	w := world.New(selector.Scope{})
	f := &follower{t: t}
	w.Observe(f)
	const writers, rounds = 4, 50
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range rounds {
				s := nights()
				s.Generation = int64(rounds*i + j + 1)
				update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), s) })
			}
		})
	}
	all.Wait()
	if id := idOf("Schedule", nights()); f.told != writers*rounds || w.Snapshot().Find(id) != f.seen {
		t.Errorf("told of %d changes of %d, the last to %p; the world has %p", f.told, writers*rounds, f.seen, w.Snapshot().Find(id))
	}
}
