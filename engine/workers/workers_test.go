package workers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

func ref(name string) workload.Ref { return workload.Ref{Namespace: "shop", Name: name} }

func newQueue() workqueue.TypedRateLimitingInterface[workload.Ref] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[workload.Ref]())
}

// The worker continues with the next target.
func TestAPanicIsReportedAndSettled(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	told, settled := map[string]error{}, map[string]error{}
	q := newQueue()
	q.Add(ref("bad"))
	q.Add(ref("good"))
	workers.Pool{
		Queue: q, Log: logr.Discard(),
		Process: func(_ context.Context, r workload.Ref) error {
			if r == ref("bad") {
				panic("a stone in the works")
			}
			stop()
			return nil
		},
		Settle: func(r workload.Ref, err error) { settled[r.Name] = err },
		Fault:  func(r workload.Ref, err error) { told[r.Name] = err },
	}.Run(ctx, 1)
	if err := told["bad"]; err == nil || err.Error() != "panic: a stone in the works" || settled["bad"].Error() != err.Error() {
		t.Errorf("told %v, settled %v", told, settled)
	}
	if err, ok := settled["good"]; !ok || err != nil || told["good"] != nil {
		t.Errorf("the other target: %v", err)
	}
}

// Without Settle, a failed target is queued again with a pause.
func TestAnErrorIsRetried(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	q, begun := newQueue(), 0
	q.Add(ref("late"))
	workers.Pool{
		Queue: q, Log: logr.Discard(), Fault: func(workload.Ref, error) {},
		Process: func(_ context.Context, r workload.Ref) error {
			if begun++; begun == 2 {
				if n := q.NumRequeues(r); n != 1 {
					t.Errorf("it was put off %d times", n)
				}
				stop()
				return nil
			}
			return errors.New("not yet")
		},
	}.Run(ctx, 1)
	if n := q.NumRequeues(ref("late")); begun != 2 || n != 0 {
		t.Errorf("it was begun %d times, and is remembered as put off %d times", begun, n)
	}
}

// When the context ends, running work is finished and waiting work is not begun.
func TestRunningWorkIsFinished(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var begun, finished atomic.Int32
	q := newQueue()
	for _, name := range []string{"a", "b", "c", "d"} {
		q.Add(ref(name))
	}
	both := make(chan struct{})
	workers.Pool{
		Queue: q, Log: logr.Discard(), Fault: func(workload.Ref, error) {},
		Process: func(ctx context.Context, _ workload.Ref) error {
			if begun.Add(1) == 2 {
				stop()
				close(both)
			}
			<-both
			finished.Add(1)
			return ctx.Err()
		},
		Settle: func(workload.Ref, error) {},
	}.Run(ctx, 2)
	if begun.Load() != 2 || finished.Load() != 2 {
		t.Errorf("%d were begun and %d finished, want the 2 that were under way", begun.Load(), finished.Load())
	}
}
