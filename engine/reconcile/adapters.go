package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// adapterState is what is known of adapters besides the kinds in use.
type adapterState struct {
	mu sync.RWMutex
	// match and set are the annotation keys that every adapter is compiled with; they only grow.
	match, set []string
	// settled holds, by the adapter's name, the form that passed every check; round counts what made others be forgotten.
	settled map[string]string
	round   int
	// running holds the watch of each adapter, by the adapter's name.
	running map[string]*running
	// ailing holds, by the adapter's name, what is wrong with adapters whose kind is there.
	ailing map[string]ailment
	// inUse holds the adapters that this process has given the finalizer and not taken it from again.
	inUse map[string]bool
	// marking lets one writer at a time add or remove the finalizer.
	marking sync.Mutex
}

// running is a watch with the adapter that projects for it.
type running struct {
	id string
	// revision tells forms of an adapter apart that project alike.
	revision string
	adapter  *adapter.Adapter
	served   inspect.Served
	watch    *watch.Watch
	stop     context.CancelFunc
}

func newAdapterState() *adapterState {
	return &adapterState{settled: map[string]string{}, running: map[string]*running{}, ailing: map[string]ailment{}, inUse: map[string]bool{}}
}

func (s *adapterState) keys() adapter.Keys {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return adapter.Keys{Match: slices.Clone(s.match), Set: slices.Clone(s.set)}
}

// grow adds annotation keys and reports whether there were new ones.
func (s *adapterState) grow(match, set []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.match) + len(s.set)
	s.match, s.set = union(s.match, match), union(s.set, set)
	return len(s.match)+len(s.set) > before
}

func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

// useKind starts watching for an adapter that passed every check, or goes on as before if nothing about it has changed. A
// changed projection starts a new watch and takes it over once it is in sync, so that there is never a time without one.
// It reports whether the kind is in use in its present form.
func (e *Engine) useKind(ctx context.Context, name, revision string, a *adapter.Adapter, served inspect.Served) (bool, error) {
	id := served.GVR.String() + " " + a.ProjectionID()
	s := e.adapters
	s.mu.Lock()
	cur := s.running[name]
	s.mu.Unlock()
	if cur == nil || cur.id != id {
		next, err := e.startWatch(ctx, id, a, served)
		if err != nil {
			return false, err
		}
		s.mu.Lock()
		if cur != nil && !e.inUseBy(name, cur) {
			// Never got in sync before it changed again.
			cur.stop()
		}
		s.running[name] = next
		s.mu.Unlock()
		cur = next
	}
	if !cur.watch.HasSynced() {
		return false, nil
	}
	e.takeOver(name, revision, a, cur)
	return true, nil
}

func (e *Engine) inUseBy(name string, r *running) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	k := e.kinds[r.adapter.GroupKind()]
	return k != nil && k.name == name && k.watch == objects(r.watch)
}

func (e *Engine) startWatch(ctx context.Context, id string, a *adapter.Adapter, served inspect.Served) (*running, error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	gk := a.GroupKind()
	standing := &standing{back: func() { e.retryKind(gk) }}
	w, err := e.watches.Ensure(ctx, watch.Source{
		GVR: served.GVR, ID: id, Projector: ownLedgers{a},
		Handler: watch.HandlerFunc(func(old, cur *workload.Object) { e.objectChanged(gk, a.Governs, old, cur) }),
		OnState: standing.look,
	})
	if err != nil {
		stop()
		return nil, fmt.Errorf("watch %s: %w", served.GVR.GroupResource(), err)
	}
	standing.watch.Store(w)
	return &running{id: id, adapter: a, served: served, watch: w, stop: stop}, nil
}

// takeOver puts a synced watch to use, stops the one it replaces and looks at every object again if anything changed.
func (e *Engine) takeOver(name, revision string, a *adapter.Adapter, r *running) {
	gk := a.GroupKind()
	if r.revision != revision {
		// Other rules over the same projection: the objects at hand serve both.
		r.adapter, r.revision = a, revision
	}
	next := &kind{gk: gk, name: name, adapter: r.adapter, resource: r.served.GVR, watch: r.watch}
	e.mu.Lock()
	old := e.kinds[gk]
	same := old != nil && old.watch == next.watch && old.adapter == next.adapter && old.blocked == "" && !old.releasing
	if !same {
		e.kinds[gk] = next
	}
	e.mu.Unlock()
	if same {
		return
	}
	if old != nil && old.watch != next.watch {
		old.watch.(*watch.Watch).Release()
	}
	e.log.Info("kind in use", "adapter", name, "resource", r.served.GVR.String(), "objects", r.watch.Len())
	e.recompileFor(gk)
	e.queueKind(gk)
	e.queueTemplates(gk)
	if !r.served.Namespaced {
		e.retryInvalid(gk)
	}
}

// retryInvalid compiles again the policies that were invalid while a kind outside namespaces was not known to be one.
func (e *Engine) retryInvalid(gk schema.GroupKind) {
	e.mu.RLock()
	var again []workload.Policy
	for id, en := range e.index.all {
		if len(en.policy.Invalid) > 0 {
			again = append(again, id)
		}
	}
	e.mu.RUnlock()
	for _, id := range again {
		e.log.V(1).Info("compile again", "policy", id.String(), "kind", gk.String())
		e.nudges.policy(id)
	}
}

// blockKind stops new writes for a kind whose adapter has gone bad. What is asleep stays so, with its ledger.
func (e *Engine) blockKind(gk schema.GroupKind, name, why string) {
	e.changeKind(gk, name, func(k *kind) { k.blocked = why })
}

// releaseKind gives back everything on a kind whose adapter is being deleted.
func (e *Engine) releaseKind(gk schema.GroupKind, name string) {
	e.changeKind(gk, name, func(k *kind) { k.releasing = true })
}

func (e *Engine) changeKind(gk schema.GroupKind, name string, change func(*kind)) {
	e.mu.Lock()
	old := e.kinds[gk]
	if old == nil || old.name != name {
		e.mu.Unlock()
		return
	}
	next := *old
	change(&next)
	e.kinds[gk] = &next
	e.mu.Unlock()
	if *old != next {
		e.queueKind(gk)
	}
}

// dropKind stops watching for an adapter.
func (e *Engine) dropKind(name string) {
	s := e.adapters
	s.mu.Lock()
	r := s.running[name]
	delete(s.settled, name)
	delete(s.running, name)
	delete(s.ailing, name)
	delete(s.inUse, name)
	s.mu.Unlock()
	if r != nil {
		r.stop()
		r.watch.Release()
	}
	e.mu.Lock()
	var gone *kind
	for gk, k := range e.kinds {
		if k.name == name {
			gone = k
			delete(e.kinds, gk)
		}
	}
	e.mu.Unlock()
	if gone == nil {
		return
	}
	gone.watch.(*watch.Watch).Release()
	gone.watch.Range(func(obj *workload.Object) bool {
		e.queue.Add(gone.ref(obj))
		return true
	})
	e.ledgers.DropKind(gone.gk)
	e.governors.DropKind(gone.gk)
	e.log.Info("kind no longer in use", "adapter", name)
	for _, p := range e.policiesOf(gone.gk) {
		e.rollup.Dirty(p)
	}
}

// queueKind looks again at every object of a kind, and at the status of the policies that select it.
func (e *Engine) queueKind(gk schema.GroupKind) {
	e.mu.RLock()
	k := e.kinds[gk]
	e.mu.RUnlock()
	if k == nil {
		return
	}
	k.watch.Range(func(obj *workload.Object) bool {
		e.queue.Add(k.ref(obj))
		return true
	})
	for _, p := range e.policiesOf(gk) {
		e.rollup.Dirty(p)
	}
}

// nudgeKind has the adapter of a kind looked at again.
func (e *Engine) nudgeKind(gk schema.GroupKind) {
	e.mu.RLock()
	k := e.kinds[gk]
	e.mu.RUnlock()
	if k != nil {
		e.nudges.adapter(k.name)
	}
}

// markInUse puts the finalizer on an adapter before the first write for its kind, so that the adapter cannot go while
// something has to be given back through it.
func (e *Engine) markInUse(ctx context.Context, k *kind) error {
	s := e.adapters
	if s.used(k.name) {
		return nil
	}
	s.marking.Lock()
	defer s.marking.Unlock()
	if s.used(k.name) {
		return nil
	}
	var a v1alpha1.Adapter
	if err := e.client.Get(ctx, client.ObjectKey{Name: k.name}, &a); err != nil {
		return fmt.Errorf("mark the adapter %s as in use: %w", k.name, err)
	}
	if a.DeletionTimestamp.IsZero() {
		if err := e.confirmFinalizer(ctx, &a); err != nil {
			return fmt.Errorf("mark the adapter %s as in use: %w", k.name, err)
		}
	}
	s.setUsed(k.name, true)
	return nil
}

// confirmFinalizer makes sure that an adapter has the finalizer now, whatever was read of it and when: it adds to the set on
// the server, which changes nothing if it is there. The UID keeps it from making an adapter that has gone.
func (e *Engine) confirmFinalizer(ctx context.Context, a *v1alpha1.Adapter) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Adapter"))
	u.SetName(a.Name)
	u.SetUID(a.UID)
	u.SetFinalizers([]string{v1alpha1.FinalizerRestore})
	return e.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(apply.FieldManager), client.ForceOwnership)
}

func (s *adapterState) used(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.inUse[name]
}

func (s *adapterState) setUsed(name string, used bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used {
		s.inUse[name] = true
		return
	}
	delete(s.inUse, name)
}

// addFinalizer puts the finalizer on an object, unless it is there.
func (e *Engine) addFinalizer(ctx context.Context, obj client.Object) error {
	before := obj.DeepCopyObject().(client.Object)
	if !controllerutil.AddFinalizer(obj, v1alpha1.FinalizerRestore) {
		return nil
	}
	if err := e.client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		obj.SetFinalizers(before.GetFinalizers())
		return err
	}
	return nil
}

// removeFinalizer takes the finalizer off an object, if it is there. The object given stays as it is: others may hold it.
func (e *Engine) removeFinalizer(ctx context.Context, obj client.Object) error {
	after := obj.DeepCopyObject().(client.Object)
	if !controllerutil.RemoveFinalizer(after, v1alpha1.FinalizerRestore) {
		return nil
	}
	err := e.client.Patch(ctx, after, client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// nudgeGroup has the adapters of an API group looked at again, all of them for inspect.AllGroups.
func (e *Engine) nudgeGroup(ctx context.Context, group string) {
	var list v1alpha1.AdapterList
	if err := e.client.List(ctx, &list); err != nil {
		e.log.Error(err, "list adapters")
		return
	}
	for i := range list.Items {
		if group == inspect.AllGroups || list.Items[i].Spec.Target.Group == group {
			e.adapters.unsettle(list.Items[i].Name)
			e.nudges.adapter(list.Items[i].Name)
		}
	}
}

// settle remembers that a form of an adapter passed every check: until its group or the keys of policies change, it is not
// examined again only because a ledger of its kind has come or gone. What has changed since the round in which the checks
// began they may have missed.
func (s *adapterState) settle(name, form string, round int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.round == round {
		s.settled[name] = form
	}
}

// unsettle has an adapter examined again, even if that is under way.
func (s *adapterState) unsettle(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.settled, name)
	s.round++
}

func (s *adapterState) currentRound() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.round
}

func (s *adapterState) settledForm(name string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.settled[name]
}

// adapterName is the name that the adapter of a kind must have.
func adapterName(resource schema.GroupVersionResource) string {
	return strings.TrimSuffix(resource.Resource+"."+resource.Group, ".")
}
