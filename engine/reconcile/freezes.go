package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/target"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// errNotReady is why a replica gives no verdicts yet.
var errNotReady = errors.New("the freeze policies have not been read yet")

// FreezesOptions say how Freezes runs.
type FreezesOptions struct {
	// Clock tells the time by which policies are decided. Default: the machine's.
	Clock clock.WithTicker
	// Scope is what selection needs to know of the cluster.
	Scope target.Scope
	// Log gets structured lines. Default: none.
	Log logr.Logger
}

// Freezes keeps on every replica what changes are judged by: the compiled freezes, windows and exceptions, the adapters and
// the labels of namespaces. It answers from memory without waiting for anybody. It is a Runnable of a manager.
type Freezes struct {
	opts    FreezesOptions
	cache   cache.Cache
	watches *watch.Manager

	set        atomic.Pointer[freeze.Set]
	adapters   atomic.Pointer[map[schema.GroupResource]*judgedKind]
	namespaces atomic.Pointer[watch.Watch]
	ready      chan struct{}

	mu sync.Mutex
	// pending are objects that have changed since the last look; nil for one that is gone.
	pending         map[workload.Policy]client.Object
	pendingAdapters map[string]*v1alpha1.Adapter
	changed         chan struct{}
	// listeners are told after everything that was pending has been taken over.
	listeners []chan struct{}

	// What follows is used by takeOver alone. unread are the policies that cannot be read; read says which spec of a policy
	// is in the set: one that could be read once goes on to count, though its kinds are not served just now.
	unread map[workload.Policy]client.Object
	read   map[workload.Policy]generation
}

// judgedKind is an adapter as judging needs it.
type judgedKind struct {
	adapter *adapter.Adapter
	// absent says that the API server is known not to serve the kind.
	absent bool
}

// NewFreezes makes Freezes that read Flyball's own objects from a cache and namespaces with the given configuration.
func NewFreezes(config *rest.Config, cached cache.Cache, opts FreezesOptions) (*Freezes, error) {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	watches, err := watch.NewManager(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the watch of namespaces: %w", err)
	}
	f := &Freezes{
		opts: opts, cache: cached, watches: watches, ready: make(chan struct{}), changed: make(chan struct{}, 1),
		pending: map[workload.Policy]client.Object{}, pendingAdapters: map[string]*v1alpha1.Adapter{},
		unread: map[workload.Policy]client.Object{}, read: map[workload.Policy]generation{},
	}
	f.set.Store(&freeze.Set{})
	f.adapters.Store(&map[schema.GroupResource]*judgedKind{})
	return f, nil
}

// Set is the policies as they are now.
func (f *Freezes) Set() *freeze.Set { return f.set.Load() }

// Adapter finds what classifies the changes of a resource; nil: changes of it are not judged.
func (f *Freezes) Adapter(resource schema.GroupResource) *adapter.Adapter {
	if k := (*f.adapters.Load())[resource]; k != nil {
		return k.adapter
	}
	return nil
}

// Namespace says which label sets a namespace has, and whether it is being deleted; false: it is not known here yet.
func (f *Freezes) Namespace(name string) (labels []workload.Pairs, terminating, known bool) {
	w := f.namespaces.Load()
	if w == nil {
		return nil, false, false
	}
	obj := w.Get("", name)
	if obj == nil {
		return nil, false, false
	}
	return []workload.Pairs{obj.Labels}, obj.Deleting, true
}

// Ready is a readiness check: all policies have been read.
func (f *Freezes) Ready(*http.Request) error {
	select {
	case <-f.ready:
		return nil
	default:
		return errNotReady
	}
}

// Listen gives a channel that is poked after each change of what is judged by.
func (f *Freezes) Listen() <-chan struct{} {
	c := make(chan struct{}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, c)
	return c
}

// NeedLeaderElection says that every replica judges.
func (f *Freezes) NeedLeaderElection() bool { return false }

// freezeObjects are the kinds that are kept, one object of each.
func freezeObjects() map[string]client.Object {
	return map[string]client.Object{
		freeze.Kind: &v1alpha1.ChangeFreeze{}, freeze.ClusterKind: &v1alpha1.ClusterChangeFreeze{},
		freeze.WindowKind: &v1alpha1.MaintenanceWindow{}, freeze.ClusterWindowKind: &v1alpha1.ClusterMaintenanceWindow{},
		freeze.ExceptionKind: &v1alpha1.FreezeException{}, freeze.ClusterExceptionKind: &v1alpha1.ClusterFreezeException{},
	}
}

// Start keeps everything up to date until the context ends.
func (f *Freezes) Start(ctx context.Context) error {
	defer f.watches.Close()
	synced, err := f.subscribe(ctx)
	if err != nil {
		return err
	}
	namespaces, err := f.watches.Ensure(ctx, watch.Source{
		GVR: corev1.SchemeGroupVersion.WithResource("namespaces"), ID: "labels", Projector: watch.MetadataProjector(),
	})
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil // the context has ended
	}
	if err := namespaces.WaitSynced(ctx); err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	f.namespaces.Store(namespaces)
	f.begin()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
			f.takeOver()
			f.tell()
		}
	}
}

// begin takes over what was there first. Who listens is told only once verdicts are given.
func (f *Freezes) begin() {
	f.takeOver()
	close(f.ready)
	f.tell()
}

// wait returns after a pause, at an instant unless that is zero, at a change, or when the context ends.
func (f *Freezes) wait(ctx context.Context, pause time.Duration, at time.Time, changed <-chan struct{}) {
	var due <-chan time.Time
	if !at.IsZero() {
		timer := f.opts.Clock.NewTimer(at.Sub(f.opts.Clock.Now()))
		defer timer.Stop()
		due = timer.C()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-due:
	case <-changed:
	}
}

// subscribe hears of every freeze object and adapter.
func (f *Freezes) subscribe(ctx context.Context) ([]toolscache.InformerSynced, error) {
	var synced []toolscache.InformerSynced
	add := func(what string, obj client.Object, take func(obj client.Object, gone bool)) error {
		informer, err := f.cache.GetInformer(ctx, obj)
		if err != nil {
			return fmt.Errorf("watch %s: %w", what, err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { take(o.(client.Object), false) },
			UpdateFunc: func(_, o any) { take(o.(client.Object), false) },
			DeleteFunc: func(o any) {
				if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				take(o.(client.Object), true)
			},
		})
		if err != nil {
			return fmt.Errorf("watch %s: %w", what, err)
		}
		synced = append(synced, registration.HasSynced)
		return nil
	}
	for kind, obj := range freezeObjects() {
		err := add(kind, obj, func(o client.Object, gone bool) {
			id := workload.Policy{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
			if gone || o.GetDeletionTimestamp() != nil {
				o = nil
			}
			f.poke(func() { f.pending[id] = o })
		})
		if err != nil {
			return nil, err
		}
	}
	return synced, add("Adapter", &v1alpha1.Adapter{}, func(o client.Object, gone bool) {
		a := o.(*v1alpha1.Adapter)
		if gone {
			a = nil
		}
		f.poke(func() { f.pendingAdapters[o.GetName()] = a })
	})
}

// poke notes something that has changed and has it taken over.
func (f *Freezes) poke(note func()) {
	f.mu.Lock()
	note()
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// takeOver compiles what has changed and swaps it in at once.
func (f *Freezes) takeOver() {
	f.mu.Lock()
	policies, adapters := f.pending, f.pendingAdapters
	f.pending, f.pendingAdapters = map[workload.Policy]client.Object{}, map[string]*v1alpha1.Adapter{}
	f.mu.Unlock()
	if len(adapters) > 0 {
		f.takeAdapters(adapters)
		// Which kinds are served may be what a policy could not be read for.
		for id, obj := range f.unread {
			if _, newer := policies[id]; !newer {
				policies[id] = obj
			}
		}
	}
	f.takePolicies(policies)
}

// tell tells everybody who listens that something has changed.
func (f *Freezes) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (f *Freezes) takePolicies(policies map[workload.Policy]client.Object) {
	var gone []workload.Policy
	var rules []*freeze.Rule
	var exceptions []*freeze.Exception
	for id, obj := range policies {
		delete(f.unread, id)
		if obj == nil {
			gone = append(gone, id)
			continue
		}
		rule, exception, errs := freeze.CompileObject(obj, freeze.Context{Scope: f.opts.Scope})
		switch {
		case len(errs) > 0:
			f.opts.Log.Info("a freeze policy cannot be read", "policy", id.String(), "reason", errs.ToAggregate().Error())
			f.unread[id] = obj
			if f.read[id] != generationOf(obj) {
				gone = append(gone, id) // its status says so; it denies and lifts nothing
			}
			continue
		case rule != nil:
			rules = append(rules, rule)
		default:
			exceptions = append(exceptions, exception)
		}
		f.read[id] = generationOf(obj)
	}
	for _, id := range gone {
		delete(f.read, id)
	}
	next := f.set.Load()
	if len(gone) > 0 {
		next = next.Without(gone...)
	}
	if len(rules) > 0 {
		next = next.With(rules...)
	}
	if len(exceptions) > 0 {
		next = next.WithExceptions(exceptions...)
	}
	f.set.Store(next)
}

// generation tells one spec of one object from others.
type generation struct {
	uid    types.UID
	number int64
}

func generationOf(obj client.Object) generation { return generation{obj.GetUID(), obj.GetGeneration()} }

func (f *Freezes) takeAdapters(adapters map[string]*v1alpha1.Adapter) {
	next := maps.Clone(*f.adapters.Load())
	for name, a := range adapters {
		resource := schema.ParseGroupResource(name)
		if a == nil {
			delete(next, resource)
			continue
		}
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
		if len(errs) > 0 {
			continue // what was known of the kind goes on to count
		}
		next[resource] = &judgedKind{adapter: compiled, absent: isAbsent(a)}
	}
	f.adapters.Store(&next)
}
