package reconcile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/crds/v1alpha1"
)

// releaseAdapter gives everything back on the kind of an adapter that is being deleted, and lets it go then.
func (e *Engine) releaseAdapter(ctx context.Context, a *v1alpha1.Adapter) (time.Duration, error) {
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) {
		e.dropKind(a.Name)
		return 0, nil
	}
	e.mu.RLock()
	k := e.kinds[gk]
	e.mu.RUnlock()
	if k != nil && k.name != a.Name {
		// Another adapter has taken over, and what sleeps with it.
		return e.letGo(ctx, a)
	}
	if k == nil {
		// The kind is not in use: give back through the adapter as it stands, unless there is nothing served to give back to.
		f := e.examine(ctx, a)
		if err := e.act(ctx, a, f); err != nil {
			return 0, err
		}
		if isGone(f.served.Absence) {
			return e.letGo(ctx, a)
		}
		if f.failed != "" {
			return e.tellReleasing(ctx, a, fmt.Sprintf("what this adapter has put to sleep cannot be given back: %s", meta.FindStatusCondition(f.status.Conditions, f.failed).Message))
		}
	}
	e.releaseKind(gk, a.Name)
	left := e.ledgers.OfKind(gk)
	// The first look is never the last: a write that was under way before it has to show in the watch.
	if k == nil || !k.releasing || left > 0 || !e.isReady() {
		return e.tellReleasing(ctx, a, fmt.Sprintf("being deleted: %d objects have still to be given back", left))
	}
	return e.letGo(ctx, a)
}

// letGo takes the finalizer off an adapter that is being deleted. Its kind is dropped once the adapter is gone, and not
// before: should the write come too late, the next look must still find that nothing is left.
func (e *Engine) letGo(ctx context.Context, a *v1alpha1.Adapter) (time.Duration, error) {
	if err := e.removeFinalizer(ctx, a); err != nil {
		if apierrors.IsConflict(err) {
			return staleRetry, nil
		}
		return 0, fmt.Errorf("take the finalizer off the adapter %s: %w", a.Name, err)
	}
	return 0, nil
}

func (e *Engine) tellReleasing(ctx context.Context, a *v1alpha1.Adapter, message string) (time.Duration, error) {
	status := *a.Status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "Restoring",
		Message: truncate(message, 2048), ObservedGeneration: a.Generation, LastTransitionTime: metav1.NewTime(e.opts.Clock.Now())})
	return time.Second, e.writeAdapterStatus(ctx, a, status)
}

// remark puts the finalizer on an adapter that somebody took it off while there is something to give back.
func (e *Engine) remark(ctx context.Context, a *v1alpha1.Adapter) error {
	e.mu.RLock()
	k := e.kinds[schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}]
	e.mu.RUnlock()
	if k == nil || k.name != a.Name || controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || e.ledgers.OfKind(k.gk) == 0 {
		return nil
	}
	e.adapters.setUsed(a.Name, false)
	return e.markInUse(ctx, k)
}

// unmark takes the finalizer off an adapter whose kind has had no ledger for a while, and says when to look again.
func (e *Engine) unmark(ctx context.Context, a *v1alpha1.Adapter) time.Duration {
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || !e.isReady() {
		return 0
	}
	e.mu.RLock()
	k := e.kinds[gk]
	e.mu.RUnlock()
	if k == nil || k.name != a.Name || k.blocked != "" || e.ledgers.OfKind(gk) > 0 {
		delete(e.idleSince, a.Name)
		return 0
	}
	since, idle := e.idleSince[a.Name]
	if !idle {
		e.idleSince[a.Name] = time.Now()
		return idleAfter
	}
	if wait := idleAfter - time.Since(since); wait > 0 {
		return wait
	}
	delete(e.idleSince, a.Name)
	e.adapters.marking.Lock()
	defer e.adapters.marking.Unlock()
	// From here on the next write puts the finalizer back first. One that is under way has the adapter looked at again.
	e.adapters.setUsed(a.Name, false)
	if err := e.removeFinalizer(ctx, a); err != nil {
		return time.Second
	}
	return 0
}

func (e *Engine) isReady() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}
