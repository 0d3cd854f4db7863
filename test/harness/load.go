package harness

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Load makes requests all the time, at a steady rate.
type Load struct {
	begin   time.Time
	stop    context.CancelFunc
	workers sync.WaitGroup

	mu       sync.Mutex
	asked    int
	waiting  map[int]time.Time
	failures []Failure
}

// Failure is a request that was not answered as it should be.
type Failure struct {
	Begun, Ended time.Time
	Err          error
}

// workers is how many requests a Load has under way at most: where each takes up to 40 ms, enough for 200 a second. On a machine that does
// not keep up each waits for the others, and more of them would wait longer than API servers do.
const workers = 8

// StartLoad makes requests until Stop, so many a second as long as the machine keeps up. Late ones are not made up for. An error is a
// failure.
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

// ask makes one request, to its end also when the load is stopped.
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

// Asked is how many requests were made so far.
func (l *Load) Asked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// Waiting is how many requests have been under way for longer than a time.
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

// Stop ends the load, waits for the requests under way and gives those that failed. The summary is for people.
func (l *Load) Stop() (failures []Failure, summary string) {
	l.stop()
	took := time.Since(l.begin)
	l.workers.Wait()
	return l.failures, fmt.Sprintf("%d requests in %s, %.0f a second, %d failed", l.asked, took.Round(100*time.Millisecond), float64(l.asked)/took.Seconds(), len(l.failures))
}
