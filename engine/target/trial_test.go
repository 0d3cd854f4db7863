package target

import (
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workload"
)

// trial is a queue with workers that write to an API server which refuses some targets. It runs in simulated time.
type trial struct {
	*refusals
	queue workqueue.TypedDelayingInterface[workload.Ref]

	workers sync.WaitGroup

	mu sync.Mutex
	// refuses says why a target is refused; empty: it is not. Tests replace it.
	refuses func(workload.Ref) string
	// policy is on whose behalf a target is written.
	policy func(workload.Ref) workload.Policy
	tries  []try
	seen   map[workload.Ref]bool
	passed map[workload.Ref]time.Time
}

type try struct {
	ref workload.Ref
	at  time.Time
}

// sum is what is written in these tests.
const sum = 1

// writeTakes is how long the API server takes for an answer.
const writeTakes = 10 * time.Millisecond

func newTrial(refuses func(workload.Ref) string) *trial {
	s := &trial{
		queue: workqueue.NewTypedDelayingQueue[workload.Ref](), refuses: refuses, seen: map[workload.Ref]bool{}, passed: map[workload.Ref]time.Time{},
		policy: func(workload.Ref) workload.Policy { return nights },
	}
	var o Options
	o.setDefaults()
	s.refusals = newRefusals(o.RetryMin, o.RetryMax, s.queue.AddAfter)
	for range o.Workers {
		s.workers.Go(s.work)
	}
	return s
}

// stop waits until nobody works any more.
func (s *trial) stop() {
	s.queue.ShutDown()
	s.workers.Wait()
}

func (s *trial) work() {
	for {
		ref, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		s.write(ref)
		s.queue.Done(ref)
	}
}

func (s *trial) write(ref workload.Ref) {
	s.mu.Lock()
	s.seen[ref] = true
	o := obstacle{policy: s.policy(ref), kind: ref.GroupKind}
	s.mu.Unlock()
	if _, waits := s.Waits(ref, o, sum); waits {
		return
	}
	s.mu.Lock()
	s.tries = append(s.tries, try{ref, time.Now()})
	o.reason = s.refuses(ref)
	s.mu.Unlock()
	time.Sleep(writeTakes)
	if o.reason != "" {
		s.Add(ref, o, sum, "refused: "+o.reason)
		return
	}
	s.Passed(ref, o)
	s.mu.Lock()
	s.passed[ref] = time.Now()
	s.mu.Unlock()
}

// start queues targets and waits until each was looked at once.
func (s *trial) start(t *testing.T, refs []workload.Ref) {
	t.Helper()
	for _, ref := range refs {
		s.queue.Add(ref)
	}
	s.until(t, "every target is looked at once", time.Minute, func() bool { return len(s.seen) >= len(refs) })
}

// until waits for something in simulated time, and says how long that took.
func (s *trial) until(t *testing.T, what string, limit time.Duration, holds func() bool) time.Duration {
	t.Helper()
	for began := time.Now(); ; time.Sleep(writeTakes) {
		s.mu.Lock()
		over := holds()
		s.mu.Unlock()
		if over {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			t.Fatalf("%s has not come true after %s", what, limit)
		}
	}
}

func (s *trial) change(refuses func(workload.Ref) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = refuses
}

// since takes the tries since the last time.
func (s *trial) since() []try {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.tries
	s.tries = nil
	return all
}

// of gives the tries of one target since the last time.
func (s *trial) of(ref workload.Ref) []try {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.tries), func(x try) bool { return x.ref != ref })
}

// most is the largest number of tries within a span of time.
func most(tries []try, span time.Duration) int {
	most, first := 0, 0
	for i := range tries {
		for tries[i].at.Sub(tries[first].at) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func manyWebs(n int) []workload.Ref {
	refs := make([]workload.Ref, n)
	for i := range refs {
		refs[i] = webs(i)
	}
	return refs
}

func always(reason string) func(workload.Ref) string {
	return func(workload.Ref) string { return reason }
}

// among gives one answer for some targets and none for all others.
func among(reason string, refs ...workload.Ref) func(workload.Ref) string {
	bad := map[workload.Ref]bool{}
	for _, ref := range refs {
		bad[ref] = true
	}
	return func(ref workload.Ref) string {
		if bad[ref] {
			return reason
		}
		return ""
	}
}
