package workers

import (
	"sync"
	"time"
)

const (
	// Patience is the time after which work counts as slow. Most work takes milliseconds.
	Patience = 250 * time.Millisecond
	// maxSlow is the maximum number of slow pieces of work.
	maxSlow = 256
)

// Crew runs work: a limited number at once, with extra places for slow work. An unanswered request does not
// delay other work.
type Crew struct {
	wg            sync.WaitGroup
	places, spare chan struct{}
	// settling is held by Settle: two calls at once would wait for each other's places.
	settling sync.Mutex
}

// NewCrew returns a Crew that does n pieces of work at once.
func NewCrew(n int) *Crew {
	return &Crew{places: make(chan struct{}, n), spare: make(chan struct{}, maxSlow)}
}

// Do runs a piece of work. It returns once the work has begun.
func (c *Crew) Do(work func()) {
	c.places <- struct{}{}
	c.wg.Go(func() {
		var mu sync.Mutex
		place := c.places // nil once the work is done
		late := time.AfterFunc(Patience, func() {
			mu.Lock()
			defer mu.Unlock()
			if place == nil {
				return
			}
			select {
			case c.spare <- struct{}{}:
				<-place
				place = c.spare
			default: // all extra places for slow work are taken
			}
		})
		defer func() {
			late.Stop()
			mu.Lock()
			defer mu.Unlock()
			<-place
			place = nil
		}()
		work()
	})
}

// Settle returns once only slow work is left.
func (c *Crew) Settle() {
	c.settling.Lock()
	defer c.settling.Unlock()
	for range cap(c.places) {
		c.places <- struct{}{}
	}
	for range cap(c.places) {
		<-c.places
	}
}

// Wait returns once all work is done.
func (c *Crew) Wait() { c.wg.Wait() }
