package reconcile

import (
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/workload"
)

func TestPausesGrowUpToTheLimitAndSpread(t *testing.T) {
	b := newBackoff(retryMin, retryMax)
	if retryMax >= 30*time.Second {
		t.Errorf("the longest pause is %s: within half a minute of the obstacle's end everything is to be right", retryMax)
	}
	distinct := map[time.Duration]bool{}
	for n := range 200 {
		ref := webs(n)
		for try := range 12 {
			full := min(retryMin<<try, retryMax)
			if got := b.When(ref); got > full || got < full*4/5 {
				t.Fatalf("pause %d of target %d is %s, want from %s to %s", try, n, got, full*4/5, full)
			}
		}
		distinct[b.When(ref)] = true
	}
	if len(distinct) < 100 {
		t.Errorf("200 targets that failed together come back at %d different times", len(distinct))
	}
}

// delays is a queue that records the delays of targets.
type delays struct {
	workqueue.TypedRateLimitingInterface[workload.Ref]
	after   []time.Duration
	limited int
}

func (d *delays) AddAfter(_ workload.Ref, pause time.Duration) { d.after = append(d.after, pause) }
func (d *delays) AddRateLimited(workload.Ref)                  { d.limited++ }
func (d *delays) NumRequeues(workload.Ref) int                 { return d.limited }
func (d *delays) Forget(workload.Ref)                          {}

func TestPausesForALaggingWatchGrow(t *testing.T) {
	q := &delays{}
	l := &Loop{Queue: &Queue{queue: q, lagging: newBackoff(behindMin, 20*time.Second)}}
	ref := webs(1)
	for range 12 {
		l.handleResult(ref, gate.ErrBehind)
	}
	for i := 1; i < len(q.after); i++ {
		if q.after[i] < q.after[i-1] && q.after[i] < 16*time.Second {
			t.Errorf("pause %d is %s, after one of %s", i, q.after[i], q.after[i-1])
		}
	}
	if last := q.after[len(q.after)-1]; last < 16*time.Second || last > 20*time.Second {
		t.Errorf("a watch that does not stand is waited for %s at last", last)
	}
	l.handleResult(ref, nil)
	q.after = nil
	if l.handleResult(ref, gate.ErrBehind); q.after[0] > behindMin {
		t.Errorf("once the watch has caught up, the first pause is %s", q.after[0])
	}
	if l.handleResult(ref, errors.New("refused")); q.limited != 1 {
		t.Error("a failed write does not come back")
	}
}
