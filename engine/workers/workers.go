// Package workers has targets worked on: so many at once are taken from a queue, besides those that take long. What is done with a target is for
// who uses the package to say. A panic stays that target's own.
package workers

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workload"
)

// Loop says how targets are worked on.
type Loop struct {
	// Queue has the targets that are to be looked at.
	Queue workqueue.TypedRateLimitingInterface[workload.Ref]
	// Process works on a target. Its context is that of Run.
	Process func(ctx context.Context, ref workload.Ref) error
	// Settle takes note of what came of it, and queues the target again where that asks for it. Nil: an error is tried again, with pauses.
	Settle func(ref workload.Ref, err error)
	// Fault tells of a panic in Process. It comes before Settle, which gets the same error.
	Fault func(ref workload.Ref, err error)
	Log   logr.Logger
}

// Run has n targets at once worked on until the context ends. What is under way then is finished, and what still waits is left.
func (l Loop) Run(ctx context.Context, n int) {
	if l.Settle == nil {
		l.Settle = l.settle
	}
	crew := NewCrew(n)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ref, shutdown := l.Queue.Get(); !shutdown; ref, shutdown = l.Queue.Get() {
			crew.Do(func() { l.work(ctx, ref) })
		}
	})
	<-ctx.Done()
	l.Queue.ShutDownWithDrain()
	wg.Wait()
	crew.Wait()
}

func (l Loop) work(ctx context.Context, ref workload.Ref) {
	defer l.Queue.Done(ref)
	if ctx.Err() == nil {
		l.Settle(ref, l.process(ctx, ref))
	}
}

// settle queues a target again that has to be tried again.
func (l Loop) settle(ref workload.Ref, err error) {
	if err == nil {
		l.Queue.Forget(ref)
		return
	}
	LogFailure(l.Log, l.Queue, ref, err)
	l.Queue.AddRateLimited(ref)
}

// LogFailure logs that work on a target failed: as an error where it is the second time in a row, and else as a detail.
func LogFailure(log logr.Logger, queue workqueue.TypedRateLimitingInterface[workload.Ref], ref workload.Ref, err error) {
	if queue.NumRequeues(ref) == 1 {
		log.Error(err, "Failed to work on a target", "target", ref.String())
		return
	}
	log.V(1).Info("will try again", "target", ref.String(), "reason", err.Error())
}

func (l Loop) process(ctx context.Context, ref workload.Ref) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			l.Log.Error(err, "a target could not be worked on because of a fault in Flyball", "target", ref.String(), "stack", string(debug.Stack()))
			l.Fault(ref, err)
		}
	}()
	return l.Process(ctx, ref)
}
