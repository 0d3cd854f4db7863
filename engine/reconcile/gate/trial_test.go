package gate

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// trial is a queue whose workers write to an API server that refuses some targets. It runs in simulated time.
type trial struct {
	*Obstacle
	queue workqueue.TypedDelayingInterface[workload.Ref]
	crew  *workers.Crew
	over  chan struct{}

	mu sync.Mutex
	// refuses returns the reason why a target is refused, or "" if it is accepted. Tests replace it.
	refuses func(workload.Ref) string
	// takes returns the API server's response time. Tests replace it.
	takes func(workload.Ref) time.Duration
	tries []try
	// underWay counts the writes in flight by namespace.
	underWay map[string]int
	seen     map[workload.Ref]bool
	passed   map[workload.Ref]time.Time
}

type try struct {
	ref workload.Ref
	at  time.Time
}

// retryMin and retryMax are the limits of the pauses in these tests.
const retryMin, retryMax = 250 * time.Millisecond, 10 * time.Second

func nothing(workload.Ref) {}

func webs(i int) workload.Ref {
	return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: fmt.Sprint("web-", i)}
}

// sum is the digest of all writes in these tests.
const sum = 1

// writeTakes is the API server's usual response time.
const writeTakes = 10 * time.Millisecond

func newTrial(refuses func(workload.Ref) string) *trial {
	s := &trial{
		queue: workqueue.NewTypedDelayingQueue[workload.Ref](), refuses: refuses, seen: map[workload.Ref]bool{},
		passed: map[workload.Ref]time.Time{},
		takes:  func(workload.Ref) time.Duration { return writeTakes }, underWay: map[string]int{}, over: make(chan struct{}),
	}
	s.Obstacle, s.crew = NewObstacle(retryMin, retryMax, s.queue.AddAfter, nothing), workers.NewCrew(16)
	go s.work()
	return s
}

// stop ends the trial. It returns after all workers have stopped.
func (s *trial) stop() {
	s.queue.ShutDown()
	<-s.over
	s.crew.Wait()
}

func (s *trial) work() {
	defer close(s.over)
	for ref, shutdown := s.queue.Get(); !shutdown; ref, shutdown = s.queue.Get() {
		s.crew.Do(func() {
			defer s.queue.Done(ref)
			s.write(ref)
		})
	}
}

func (s *trial) write(ref workload.Ref) {
	s.mu.Lock()
	s.seen[ref] = true
	s.mu.Unlock()
	if _, _, ok := s.ask(ref, sum); !ok {
		return
	}
	s.mu.Lock()
	s.tries = append(s.tries, try{ref, time.Now()})
	s.underWay[ref.Namespace]++
	reason, takes := s.refuses(ref), s.takes(ref)
	s.mu.Unlock()
	time.Sleep(takes)
	s.mu.Lock()
	s.underWay[ref.Namespace]--
	s.mu.Unlock()
	if reason != "" {
		s.failed(ref, reason, sum, "refused: "+reason, true)
		return
	}
	s.Obstacle.passed(ref)
	s.mu.Lock()
	s.passed[ref] = time.Now()
	s.mu.Unlock()
}

// start queues targets and returns after each was tried once.
func (s *trial) start(t *testing.T, refs []workload.Ref) {
	t.Helper()
	for _, ref := range refs {
		s.queue.Add(ref)
	}
	s.until(t, "every target is looked at once", time.Minute, func() bool { return len(s.seen) >= len(refs) })
}

// until waits for a condition in simulated time and returns the time taken.
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

// since returns the tries since the last call of since.
func (s *trial) since() []try {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.tries
	s.tries = nil
	return all
}

// of returns the tries of one target since the last call of since.
func (s *trial) of(ref workload.Ref) []try {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.tries), func(x try) bool { return x.ref != ref })
}

// most returns the largest number of tries within a span of time.
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

// among returns a function that returns the given reason for some targets and "" for all others.
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
