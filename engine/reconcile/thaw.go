package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// thaw remembers the targets whose writes wait for a freeze to end, to look at them again when policies change.
type thaw struct {
	mu      sync.Mutex
	waiting map[workload.Ref]struct{}
}

func (t *thaw) add(ref workload.Ref) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting == nil {
		t.waiting = map[workload.Ref]struct{}{}
	}
	t.waiting[ref] = struct{}{}
}

func (t *thaw) take() map[workload.Ref]struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.waiting
	t.waiting = nil
	return all
}

// runThaw looks again at everything that waits whenever a freeze, an exception or an adapter has changed.
func (e *Engine) runThaw(ctx context.Context) {
	if e.opts.Freezes == nil {
		return
	}
	changed := e.opts.Freezes.Listen()
	for {
		e.keysChanged()
		for ref := range e.thaw.take() {
			e.queue.Add(ref)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// frozenOut says why a write that restarts pods has to wait for a freeze, and until when; an empty reason: it need not. Flyball
// keeps its own webhook out of its own way, so it asks here. Writes that restart nothing are never held up: schedules sleep
// and wake during a freeze.
func (e *Engine) frozenOut(k *kind, obj *workload.Object, v verdict, now time.Time) (why string, until time.Time) {
	if e.opts.Freezes == nil || v.result.Impact != v1alpha1.ImpactRollout {
		return "", time.Time{}
	}
	facts := &freeze.Facts{Labels: obj.Labels, Annotations: obj.Annotations}
	req := freeze.Request{
		Actions: workload.ChangeRollOut, Kind: k.gk, Namespace: obj.Namespace, Name: obj.Name, Old: facts, New: facts, Now: now,
	}
	if obj.Namespace != "" {
		ns := e.namespace(obj.Namespace)
		req.NamespaceLabels, req.Terminating = []workload.Pairs{ns.labels}, ns.terminating
	}
	for {
		if e.opts.Freezes.Ready(nil) != nil {
			e.thaw.add(k.ref(obj)) // they tell everybody once they are
			return "restarts pods, and the freezes have not been read yet", time.Time{}
		}
		set := e.opts.Freezes.Set()
		answer := set.Decide(req)
		if answer.Allowed {
			return "", time.Time{}
		}
		e.thaw.add(k.ref(obj))
		if e.opts.Freezes.Set() == set { // or what has changed meanwhile would not bring the target back
			return fmt.Sprintf("restarts pods, which waits for %s", answer.Of(v1alpha1.EnforcementDeny)[0].Policy), cmp.Or(answer.NextAllowed, answer.NotBefore)
		}
	}
}
