// Package workers runs work on targets: a limited number at once is taken from a queue, with extra places for slow
// work. The user of the package defines the work. A panic affects only its target.
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

// Pool defines the work on targets.
type Pool struct {
	// Queue has the targets to work on.
	Queue workqueue.TypedRateLimitingInterface[workload.Ref]
	// Process works on a target. It gets the context of Run.
	Process func(ctx context.Context, ref workload.Ref) error
	// Settle handles the result and queues the target again if needed. Nil: an error is retried with pauses.
	Settle func(ref workload.Ref, err error)
	// Fault is called with a panic in Process, before Settle, which gets the same error.
	Fault func(ref workload.Ref, err error)
	Log   logr.Logger
}

// Run works on n targets at once until the context ends. Work in progress is finished, and waiting targets are dropped.
func (l Pool) Run(ctx context.Context, n int) {
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

func (l Pool) work(ctx context.Context, ref workload.Ref) {
	defer l.Queue.Done(ref)
	if ctx.Err() == nil {
		l.Settle(ref, l.process(ctx, ref))
	}
}

// settle queues a failed target again.
func (l Pool) settle(ref workload.Ref, err error) {
	if err == nil {
		l.Queue.Forget(ref)
		return
	}
	LogFailure(l.Log, l.Queue, ref, err)
	l.Queue.AddRateLimited(ref)
}

// LogFailure logs failed work on a target: at the second consecutive failure as an error, else as a detail.
func LogFailure(log logr.Logger, queue workqueue.TypedRateLimitingInterface[workload.Ref], ref workload.Ref, err error) {
	if queue.NumRequeues(ref) == 1 {
		log.Error(err, "Failed to work on a target", "target", ref.String())
		return
	}
	log.V(1).Info("Failed to work on a target; will retry", "target", ref.String(), "reason", err.Error())
}

func (l Pool) process(ctx context.Context, ref workload.Ref) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			l.Log.Error(err, "Failed to work on a target because of a fault in Flyball", "target", ref.String(), "stack", string(debug.Stack()))
			l.Fault(ref, err)
		}
	}()
	return l.Process(ctx, ref)
}
