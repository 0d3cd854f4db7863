package adapters

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// running is a watch and the adapter that projects its objects.
type running struct {
	// id identifies the resource and the projection.
	id string
	// form identifies the form of the adapter. Several forms may have the same projection.
	form    string
	adapter *adapter.Adapter
	watch   *watch.Watch
	live    *world.Live
	// begun is the time of the first list.
	begun time.Time
	stop  context.CancelFunc
	// inUse is true once the kind is in use with this watch.
	inUse bool
	// previous is the watch that stays in use until this watch is in sync. It is nil if there is no such watch.
	previous *running
}

// refused returns the API server's error if it no longer lists a kind in use, and the time of the last request. It
// returns nil if the API server gave no such answer. A request without an answer proves nothing.
func (r *running) refused() (at time.Time, why error) {
	serving := r
	if !r.inUse {
		serving = r.previous
	}
	if serving == nil {
		return at, nil
	}
	at, err := serving.watch.Err()
	if answer := apierrors.APIStatus(nil); errors.As(err, &answer) {
		return at, err
	}
	return at, nil
}

func (r *running) end() {
	r.stop()
	r.watch.Release()
	if r.previous != nil {
		r.previous.end()
	}
}

// use puts the kind to use if every check passed. Otherwise a kind in use is blocked. An unserved kind is dropped,
// because its objects are gone. While the API server does not answer, everything stays unchanged.
func (c *Controller) use(ctx context.Context, a *v1alpha1.Adapter, f *finding) error {
	switch {
	case f.served.Absence.IsGone():
		c.drop(a.Name)
		return nil
	case f.failed != "" && f.failed == f.unsure:
		return nil
	case f.failed != "":
		reason := meta.FindStatusCondition(f.status.Conditions, f.failed).Message
		c.World.Update(func(tx *world.Tx) {
			tx.BlockKind(a.Spec.Target.GroupKind(), a.Name, fmt.Sprintf("the adapter %s is not ready (%s): %s", a.Name, f.failed, reason))
		})
		return nil
	}
	r, err := c.ensureWatch(ctx, f)
	if err != nil {
		return err
	}
	since, refused := r.refused()
	switch {
	case refused != nil:
		f.set(v1alpha1.ConditionWatching, false, "NotListed",
			fmt.Sprintf("changes of objects are not seen; asked last at %s: %v", since.UTC().Format(time.RFC3339), refused))
	case r.inUse:
		f.set(v1alpha1.ConditionWatching, true, "Synced", "the watch is in sync")
	case r.previous != nil:
		message := "the watch is in sync, and a watch that keeps more fields will replace it soon"
		if at, err := r.watch.Err(); err != nil {
			message = fmt.Sprintf("the watch is in sync, and a watch that keeps more fields does not work; at %s: %v", at.Format(time.RFC3339), err)
		}
		f.set(v1alpha1.ConditionWatching, true, "Synced", message)
	default:
		message := "the first list of objects is under way"
		if at, err := r.watch.Err(); err != nil {
			message = fmt.Sprintf("at %s: %v", at.Format(time.RFC3339), err)
		} else {
			f.listing = quickSync - time.Since(r.begun)
		}
		f.set(v1alpha1.ConditionWatching, false, "Syncing", message)
	}
	return nil
}

// ensureWatch starts the watch of an adapter that passed every check, or keeps the watch if nothing has changed.
// After a change of the projection or the version it starts a new watch. The old watch stays in use until the new
// watch is in sync, so the kind is always watched. Writes use a new version at once, because an object is the same in
// every version.
func (c *Controller) ensureWatch(ctx context.Context, f *finding) (*running, error) {
	name, id := f.compiled.Name(), f.served.GVR.String()+" "+f.compiled.ProjectionID()
	c.mu.RLock()
	cur := c.running[name]
	c.mu.RUnlock()
	if cur == nil || cur.id != id {
		next, err := c.startWatch(ctx, id, f)
		if err != nil {
			return nil, err
		}
		if cur != nil {
			next.previous = cur
			if !cur.inUse { // the adapter changed again before this watch was in sync
				next.previous = cur.previous
				cur.previous = nil
				defer cur.end() // once the new watch is known to a start that waits for it
			}
		}
		c.mu.Lock()
		c.running[name] = next
		c.mu.Unlock()
		if cur == nil { // only from here on does a change of the keys queue the adapter
			c.requests.Add(controller.Named(name))
		}
		cur = next
	}
	switch {
	case cur.watch.HasSynced():
		c.putToUse(cur, f)
	case cur.previous != nil && cur.previous.adapter.ProjectionID() == f.compiled.ProjectionID():
		c.putToUse(cur.previous, f) // only the version is new: a write in the former version may remove fields
	}
	return cur, nil
}

func (c *Controller) startWatch(ctx context.Context, id string, f *finding) (*running, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{id: id, form: f.form, adapter: f.compiled, live: world.NewLive(f.compiled), begun: time.Now(), stop: stop}
	gk := f.compiled.GroupKind()
	recovery := &watchRecovery{changed: func(err error) { c.watchChanged(f.compiled, err) }, recovered: func() { c.retry(gk) }}
	w, err := c.watches.Ensure(ctx, watch.Source{
		GVR: f.served.GVR, ID: id, Projector: f.compiled,
		Handler: watch.HandlerFunc(func(old, cur *workload.Object) { c.spread(f.compiled.Name(), c.World.ObjectChanged(r.live, old, cur)) }),
		OnState: recovery.update,
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch %s: %w", f.served.GVR.GroupResource(), err)
	}
	r.watch = w
	r.live.Objects = w
	recovery.watch.Store(w)
	return r, nil
}

// watchChanged handles a watch that has come into sync, failed or recovered.
func (c *Controller) watchChanged(a *adapter.Adapter, err error) {
	c.Listings.Record(a.GroupKind().String(), err)
	if apierrors.IsForbidden(err) {
		c.suspect(a.Name())
	}
	c.requests.Add(controller.Named(a.Name()))
}

// spread passes on the effects of an object's change: to the queue of targets, the policies and the adapter.
func (c *Controller) spread(name string, e world.Effects) {
	for _, id := range e.Emptied {
		c.PolicyEmptied(id)
	}
	if e.FirstOrLast {
		c.requests.Add(controller.Named(name))
	}
	if e.Arrived != nil {
		c.Targets.Arrived(*e.Arrived)
	}
	c.Targets.Add(e.Targets...)
	if !e.Owner {
		return
	}
	for p := range c.World.Snapshot().Policies {
		if p.HoldsOwners {
			c.PolicyDirty(p.ID)
		}
	}
}

// putToUse puts a synced watch to use, and ends the replaced one.
func (c *Controller) putToUse(r *running, f *finding) {
	if r.form != f.form {
		c.mu.Lock()
		r.form, r.adapter = f.form, f.compiled
		c.mu.Unlock()
		r.live.Adapt(f.compiled) // the projection is the same, so the objects serve both forms
	}
	gk := r.adapter.GroupKind()
	old := c.World.Snapshot().InUse(gk)
	same := old != nil && old.Live == r.live && old.Adapter == r.adapter && old.Blocked == "" && old.Releasing == f.releasing &&
		old.NoScale == !f.served.HasScale &&
		old.Resource == f.served.GVR
	if !same {
		k := decide.NewKind(r.adapter, f.served.GVR)
		k.NoScale, k.Releasing = !f.served.HasScale, f.releasing
		c.World.Update(func(tx *world.Tx) { tx.UseKind(&world.LiveKind{Kind: k, Live: r.live}) })
		c.Log.Info("Put a kind to use", "adapter", r.adapter.Name(), "resource", f.served.GVR.String(), "objects", r.watch.Len())
	}
	c.mu.Lock()
	r.inUse = true
	previous := r.previous
	r.previous = nil
	c.mu.Unlock()
	if previous != nil {
		previous.end()
	}
}

// drop ends the watch of an adapter and takes its kind out of use.
func (c *Controller) drop(name string) {
	c.mu.Lock()
	r := c.running[name]
	delete(c.checked, name)
	delete(c.running, name)
	delete(c.suspected, name)
	delete(c.hidden, name)
	c.mu.Unlock()
	c.set(name, false)
	ailed := c.Health.Set(name, nil)
	if r != nil {
		r.end()
		c.Listings.Forget(r.adapter.GroupKind().String())
	}
	change := c.World.Update(func(tx *world.Tx) { tx.DropKind(name) })
	if len(change.Dropped) > 0 {
		c.Log.Info("Took a kind out of use", "adapter", name)
	}
	if ailed {
		for p := range c.World.Snapshot().Policies {
			c.PolicyDirty(p.ID)
		}
	}
}

// retry queues every object of a kind after the recovery of its watch, because the API server answers again.
func (c *Controller) retry(gk schema.GroupKind) {
	if k := c.World.Snapshot().InUse(gk); k != nil {
		c.Targets.Retry(k)
	}
}

// watchRecovery detects that a watch has come into sync, failed or recovered.
type watchRecovery struct {
	watch atomic.Pointer[watch.Watch]
	down  atomic.Bool
	told  atomic.Bool
	// changed is called with the error of the watch, or nil, after a change of state that matters for the adapter's
	// status. recovered is called when the watch works again.
	changed   func(err error)
	recovered func()
}

// update must be called whenever the state of the watch may have changed.
func (s *watchRecovery) update() {
	w := s.watch.Load()
	if w == nil {
		return
	}
	_, err := w.Err()
	if w.HasSynced() && !s.told.Swap(true) {
		s.changed(err)
	}
	if err != nil {
		s.down.Store(true)
		s.changed(err) // report each failure, because a later failure may come from missing rights
	} else if s.down.Swap(false) {
		s.changed(nil)
		go s.recovered()
	}
}
