package harness

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Load makes requests continuously, at a steady rate.
type Load struct {
	begin   time.Time
	stop    context.CancelFunc
	workers sync.WaitGroup

	mu       sync.Mutex
	asked    int
	waiting  map[int]time.Time
	failures []Failure
}

// Failure is a request with an unexpected answer.
type Failure struct {
	Begun, Ended time.Time
	Err          error
}

// workers is the maximum number of requests under way. It suffices for 200 requests a second that take up to 40 ms
// each. On a slow machine requests wait for each other, and more of them would exceed the API server's timeout.
const workers = 8

// StartLoad makes requests until Stop, at the given rate as long as the machine is fast enough. It does not catch up on
// late requests. An error counts as a failure.
func StartLoad(perSecond int, request func(context.Context) error) *Load {
	ctx, stop := context.WithCancel(context.Background())
	l := &Load{begin: time.Now(), stop: stop, waiting: map[int]time.Time{}}
	next := make(chan int)
	l.workers.Go(func() {
		defer close(next)
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			select {
			case <-ctx.Done():
				return
			case next <- n:
			}
		}
	})
	for range workers {
		l.workers.Go(func() {
			for n := range next {
				l.ask(n, request)
			}
		})
	}
	return l
}

// ask makes a request and finishes it even if the load is stopped.
func (l *Load) ask(n int, request func(context.Context) error) {
	begun := time.Now()
	l.mu.Lock()
	l.asked++
	l.waiting[n] = begun
	l.mu.Unlock()
	err := request(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, n)
	if err != nil {
		l.failures = append(l.failures, Failure{Begun: begun, Ended: time.Now(), Err: err})
	}
}

// Asked returns the number of requests made so far.
func (l *Load) Asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// Waiting returns the number of requests under way for longer than a duration.
func (l *Load) Waiting(longer time.Duration) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, begun := range l.waiting {
		if time.Since(begun) > longer {
			n++
		}
	}
	return n
}

// Stop ends the load, waits for the requests under way and returns the failures. The summary is for people.
func (l *Load) Stop() (failures []Failure, summary string) {
	l.stop()
	took := time.Since(l.begin)
	l.workers.Wait()
	return l.failures, fmt.Sprintf("%d requests in %s, %.0f a second, %d failed", l.asked, took.Round(100*time.Millisecond),
		float64(l.asked)/took.Seconds(), len(l.failures))
}
