package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// BatchKey identifies the batches of a policy in one direction.
type BatchKey struct {
	Policy    workload.Policy
	Direction workload.Direction
}

// Batches limits the changes of a batch. A batch is recorded before its first change, so a crash can make a pause
// longer but never let a second batch through early. Batches of different keys are independent, and no caller sleeps: a
// refused caller gets the time of its next try.
type Batches struct {
	record func(ctx context.Context, key BatchKey, opened time.Time) error

	mu   sync.Mutex
	open map[BatchKey]*batch
}

type batch struct {
	opened  time.Time
	used    int
	opening bool
}

// ErrOpening asks the caller to try again in a moment, because another change is recording a new batch. The API server,
// not the clock of policies, decides how long that takes.
var ErrOpening = errors.New("a batch is being opened")

// NewBatches returns Batches that are recorded by the given function, which returns once the record is safe.
func NewBatches(record func(ctx context.Context, key BatchKey, opened time.Time) error) *Batches {
	return &Batches{record: record, open: map[BatchKey]*batch{}}
}

// Resume restores the batch that an earlier run recorded. It counts as used up, because its progress is unknown. A
// batch that this run opened itself is not touched.
func (b *Batches) Resume(key BatchKey, opened time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.open[key]; !ok {
		b.open[key] = &batch{opened: opened, used: 1 << 30}
	}
}

// Forget drops the batches of a policy that is gone.
func (b *Batches) Forget(p workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, BatchKey{p, workload.DirectionDown})
	delete(b.open, BatchKey{p, workload.DirectionUp})
}

// Place is the reservation of one change in a batch. The zero Place belongs to no batch.
type Place struct {
	key    BatchKey
	opened time.Time
}

// Take reserves a place for a change in the open batch, or opens the next batch. If the batch is full, again is the
// time of the next try. size is the largest number of changes in a batch. delay is the time from the opening of one
// batch to the opening of the next. The error is ErrOpening, or the error of the function that records the batch.
func (b *Batches) Take(ctx context.Context, key BatchKey, size int, delay time.Duration, now time.Time) (place Place, again time.Time,
	err error) {
	b.mu.Lock()
	cur := b.open[key]
	if cur == nil {
		cur = &batch{}
		b.open[key] = cur
	}
	switch {
	case cur.opening:
		b.mu.Unlock()
		return Place{}, time.Time{}, ErrOpening
	case !cur.opened.IsZero() && now.Before(cur.opened.Add(delay)):
		defer b.mu.Unlock()
		if cur.used >= size {
			return Place{}, cur.opened.Add(delay), nil
		}
		cur.used++
		return Place{key, cur.opened}, time.Time{}, nil
	}
	cur.opening = true
	b.mu.Unlock()

	err = b.record(ctx, key, now)

	b.mu.Lock()
	defer b.mu.Unlock()
	cur.opening = false
	if err != nil {
		return Place{}, now.Add(time.Second), fmt.Errorf("record a batch of %s: %w", key.Policy, err)
	}
	cur.opened, cur.used = now, 1
	return Place{key, now}, time.Time{}, nil
}

// Return gives back an unused place after a change that did not happen. The place belongs to its own batch: once the
// next batch is open, nothing is given back.
func (b *Batches) Return(p Place) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cur := b.open[p.key]; cur != nil && !p.opened.IsZero() && cur.opened.Equal(p.opened) && cur.used > 0 {
		cur.used--
	}
}
