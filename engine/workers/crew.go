package workers

import (
	"sync"
	"time"
)

const (
	// Patience is how long work counts towards those that are done at once. Most is done in milliseconds.
	Patience = 250 * time.Millisecond
	// heldUp is how much may take longer than that.
	heldUp = 256
)

// Crew has work done: so much at once, besides that which takes long. A request that is not answered holds up no other work.
type Crew struct {
	wg            sync.WaitGroup
	places, spare chan struct{}
}

// NewCrew makes a Crew that does n pieces of work at once.
func NewCrew(n int) *Crew {
	return &Crew{places: make(chan struct{}, n), spare: make(chan struct{}, heldUp)}
}

// Do has a piece of work done. It returns once that has begun.
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
			default: // too much takes long already
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

// Settle returns once no work is left but such as takes long.
func (c *Crew) Settle() {
	for range cap(c.places) {
		c.places <- struct{}{}
	}
	for range cap(c.places) {
		<-c.places
	}
}

// Wait returns once all work is done.
func (c *Crew) Wait() { c.wg.Wait() }
