package adapters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// idleAfter is the time after which an adapter loses the finalizer if no object of its kind has a ledger.
const idleAfter = 30 * time.Second

// release restores everything on the kind of an adapter being deleted, and then lets the adapter go.
func (c *Controller) release(ctx context.Context, a *v1alpha1.Adapter) (time.Duration, error) {
	gk := a.Spec.Target.GroupKind()
	if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) {
		c.drop(a.Name)
		return 0, nil
	}
	k := c.World.Snapshot().InUse(gk)
	if k != nil && k.Adapter.Name() != a.Name {
		// Another adapter has taken over the kind, and will restore the sleeping objects.
		return c.letGo(ctx, a)
	}
	c.World.Update(func(tx *world.Tx) { tx.ReleaseKind(gk, a.Name) })
	f := &finding{status: a.Status}
	if k == nil || c.notFound(a.Name) {
		// Nothing can be restored through this watch. Use the current form of the adapter, unless the kind is gone.
		f = c.check(ctx, a)
		if err := c.use(ctx, a, f); err != nil {
			return 0, err
		}
		if f.served.Absence.IsGone() {
			return c.letGo(ctx, a)
		}
	}
	c.report(a, f)
	if f.failed != "" {
		why := meta.FindStatusCondition(f.status.Conditions, f.failed).Message
		return max(time.Second, f.again), c.writeReleasing(ctx, a, f, "the objects changed through this adapter cannot be restored: "+why)
	}
	message := ""
	if now := c.World.Snapshot().InUse(gk); now != nil {
		switch left, unread := c.changed(now); {
		case left > 0:
			message = releasing(left, now.Live.WithLedgers()) + c.missingRights(ctx, a, now, f)
		case unread != "":
			message = "being deleted: " + unread
		}
	}
	// The adapter is never let go at the first look, because the watch may not show an earlier write yet.
	if k == nil || !k.Releasing || message != "" || !c.Targets.Started() {
		return max(time.Second, f.again), c.writeReleasing(ctx, a, f, cmp.Or(message, "being deleted"))
	}
	return c.letGo(ctx, a)
}

// missingRights checks the rights of an adapter being deleted, if a write was forbidden or rights were missing before.
// It returns a text about the rights missing for the restore, to append to a message. Empty means that no right is
// known to be missing.
func (c *Controller) missingRights(ctx context.Context, a *v1alpha1.Adapter, k *world.LiveKind, f *finding) string {
	c.mu.RLock()
	suspected := time.Since(c.suspected[a.Name]) < rightsRecheck
	c.mu.RUnlock()
	if !suspected && !meta.IsStatusConditionFalse(a.Status.Conditions, v1alpha1.ConditionAuthorized) {
		return ""
	}
	g := c.newFinding(a)
	g.compiled, g.served = k.Adapter, inspect.Served{Found: true, GVR: k.Resource, GVK: k.Resource.GroupVersion().WithKind(k.Kind.Kind),
		HasScale: !k.NoScale}
	c.authorize(ctx, g)
	g.status.UnknownPaths = a.Status.UnknownPaths
	f.status, f.again = g.status, g.again
	authorized := meta.FindStatusCondition(g.status.Conditions, v1alpha1.ConditionAuthorized)
	c.Metrics.set(a.Name, false, true, authorized)
	if g.failed == "" {
		return ""
	}
	return ": " + authorized.Message
}

// notFound reports whether the API server answers that the adapter's resource does not exist.
func (c *Controller) notFound(name string) bool {
	c.mu.RLock()
	r := c.running[name]
	c.mu.RUnlock()
	if r == nil {
		return false
	}
	_, err := r.refused()
	return apierrors.IsNotFound(err)
}

// letGo removes the finalizer of an adapter being deleted. The kind is dropped only after the adapter is gone. If the
// write is stale, the next look must check again that nothing is left to restore.
func (c *Controller) letGo(ctx context.Context, a *v1alpha1.Adapter) (time.Duration, error) {
	if err := c.remove(ctx, a); err != nil {
		if apierrors.IsConflict(err) {
			return controller.StaleRetry, nil
		}
		err = fmt.Errorf("take the finalizer off the adapter %s: %w", a.Name, err)
		return 0, errors.Join(err, c.writeReleasing(ctx, a, &finding{status: a.Status}, "being deleted: "+err.Error()))
	}
	return 0, nil
}

// putFinalizerBack adds the finalizer again if it was removed while something has to be restored.
func (c *Controller) putFinalizerBack(ctx context.Context, a *v1alpha1.Adapter) error {
	k := c.World.Snapshot().InUse(a.Spec.Target.GroupKind())
	if k == nil || k.Adapter.Name() != a.Name || controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || c.isUnchanged(k) {
		return nil
	}
	c.set(a.Name, false)
	return c.PutFinalizer(ctx, k.Kind)
}

// letGoIfIdle removes the finalizer of an adapter whose kind has had no ledgers for idleAfter. It returns the time
// until the next look, or zero for none.
func (c *Controller) letGoIfIdle(ctx context.Context, a *v1alpha1.Adapter) time.Duration {
	if !controllerutil.ContainsFinalizer(a, v1alpha1.FinalizerRestore) || !c.Targets.Started() {
		return 0
	}
	k := c.World.Snapshot().InUse(a.Spec.Target.GroupKind())
	if k == nil || k.Adapter.Name() != a.Name || k.Blocked != "" || !c.isUnchanged(k) {
		delete(c.idleSince, a.Name)
		return 0
	}
	since, idle := c.idleSince[a.Name]
	if !idle {
		c.idleSince[a.Name] = time.Now()
		return idleAfter
	}
	if wait := idleAfter - time.Since(since); wait > 0 {
		return wait
	}
	delete(c.idleSince, a.Name)
	if err := c.remove(ctx, a); err != nil {
		return time.Second
	}
	return 0
}

// releasing returns a message about an adapter being deleted: the number of objects that must still be restored, and
// the names of some. left may be larger than the number of refs, because it also counts objects with changed pods.
func releasing(left int, refs []workload.Ref) string {
	const few = 3
	verb := "have"
	if left == 1 {
		verb = "has"
	}
	message := fmt.Sprintf("being deleted: %s %s still to be given back", workload.Count(left, "object"), verb)
	var names []string
	for _, ref := range refs[:min(few, len(refs))] {
		names = append(names, ref.String())
	}
	if more := left - len(names); more > 0 && len(names) > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	if len(names) > 0 {
		message += ": " + strings.Join(names, ", ")
	}
	return message
}
