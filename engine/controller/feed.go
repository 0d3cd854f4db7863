package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Feed keeps a World in step with the objects of Flyball's own kinds and with namespaces, on every replica. Changes are
// collected and applied in one transaction. It is a Runnable of a manager.
type Feed struct {
	world   *world.World
	cache   cache.Cache
	watches *watch.Manager
	reader  client.Reader
	log     logr.Logger
	// namespaceChanged is called with the name of a namespace after a change of labels, annotations or deletion state.
	namespaceChanged func(name string)

	mu sync.Mutex
	// pending has the objects changed since the last transaction. A deleted object is nil. The keys of calendars and
	// adapters have the same form as the keys of policies.
	pending map[workload.Policy]client.Object
	changed chan struct{}
}

// kindCalendar and kindAdapter are the names of the kinds other than policies.
const kindCalendar, kindAdapter = "Calendar", "Adapter"

// NewFeed returns a Feed that reads Flyball's own objects from the cache, namespaces through the configuration, and the
// files of calendars through the reader. namespaceChanged is called with the name of a namespace after a change of
// its labels, annotations or deletion state. A rest.Config without a usable API server is an error.
func NewFeed(config *rest.Config, cached cache.Cache, reader client.Reader, w *world.World, namespaceChanged func(string),
	log logr.Logger) (*Feed, error) {
	watches, err := watch.NewManager(config)
	if err != nil {
		return nil, fmt.Errorf("prepare the watch of namespaces: %w", err)
	}
	return &Feed{
		world: w, cache: cached, reader: reader, watches: watches, log: log, namespaceChanged: namespaceChanged,
		pending: map[workload.Policy]client.Object{}, changed: make(chan struct{}, 1),
	}, nil
}

// NeedLeaderElection returns false, because every replica judges changes.
func (f *Feed) NeedLeaderElection() bool { return false }

// Start keeps the world up to date until the context ends. A kind that cannot be watched is an error.
func (f *Feed) Start(ctx context.Context) error {
	defer f.watches.Close()
	synced, err := f.subscribe(ctx)
	if err != nil {
		return err
	}
	namespaces, err := f.watches.Ensure(ctx, watch.Source{
		GVR: corev1.SchemeGroupVersion.WithResource("namespaces"), ID: "namespaces",
		Projector: watch.MetadataProjector(), Handler: watch.HandlerFunc(f.onNamespace),
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
	f.world.Update(func(tx *world.Tx) { tx.SetNamespaces(namespaces) })
	f.takeOver(ctx)
	f.readTexts(ctx)
	f.world.MarkLoaded()
	again := time.NewTicker(textsEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
			f.readTexts(ctx)
		case <-f.changed:
			if f.takeOver(ctx) {
				f.readTexts(ctx)
			}
		}
	}
}

// onNamespace reports a namespace with a relevant change.
func (f *Feed) onNamespace(old, cur *workload.Object) {
	if old != nil && cur != nil && old.Deleting == cur.Deleting && slices.Equal(old.Labels, cur.Labels) &&
		slices.Equal(old.Annotations, cur.Annotations) {
		return
	}
	if cur == nil {
		cur = old
	}
	f.namespaceChanged(cur.Name)
}

// subscribe adds event handlers for all objects of Flyball's own kinds.
func (f *Feed) subscribe(ctx context.Context) ([]toolscache.InformerSynced, error) {
	like := map[string]client.Object{kindCalendar: &v1alpha1.Calendar{}, kindAdapter: &v1alpha1.Adapter{}}
	for _, kind := range kinds.All() {
		like[kind.Name] = kind.New()
	}
	var all []toolscache.InformerSynced
	for _, kind := range slices.Sorted(maps.Keys(like)) {
		synced, err := f.listen(ctx, kind, like[kind])
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", kind, err)
		}
		all = append(all, synced)
	}
	return all, nil
}

func (f *Feed) listen(ctx context.Context, kind string, obj client.Object) (toolscache.InformerSynced, error) {
	informer, err := f.cache.GetInformer(ctx, obj)
	if err != nil {
		return nil, err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { f.gather(kind, o.(client.Object), false) },
		UpdateFunc: func(_, o any) { f.gather(kind, o.(client.Object), false) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			f.gather(kind, o.(client.Object), true)
		},
	})
	if err != nil {
		return nil, err
	}
	return registration.HasSynced, nil
}

// gather collects a changed or deleted object.
func (f *Feed) gather(kind string, obj client.Object, gone bool) {
	id := workload.Policy{Kind: kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if gone {
		obj = nil
	}
	f.mu.Lock()
	f.pending[id] = obj
	f.mu.Unlock()
	workers.Poke(f.changed)
}

// takeOver applies all collected changes at once. Calendars and adapters come first, because policies depend on them.
// The new files of calendars are read before, so that no freeze holds because a file has not been read yet. It reports
// whether one of the changes was of a calendar.
func (f *Feed) takeOver(ctx context.Context) (calendars bool) {
	f.mu.Lock()
	pending := f.pending
	f.pending = map[workload.Policy]client.Object{}
	f.mu.Unlock()
	texts := f.newTexts(ctx, pending)
	files := f.readFiles(pending, texts)
	change := f.world.Update(func(tx *world.Tx) {
		tx.SetFiles(files)
		for key, r := range texts {
			tx.SetText(key, r.value, r.err)
		}
		for id, obj := range pending {
			takeOverDependency(tx, id, obj)
			calendars = calendars || id.Kind == kindCalendar
		}
		for id, obj := range pending {
			kind, ok := kinds.Find(id.Kind)
			switch {
			case !ok:
			case obj == nil:
				tx.RemovePolicy(id)
			default:
				tx.SetPolicy(kind, obj)
			}
		}
	})
	for _, c := range change.Policies {
		if c.New != nil && len(c.New.Invalid) > 0 {
			f.log.V(1).Info("Failed to read a policy", "policy", c.ID.String(), "reason", c.New.Invalid.ToAggregate().Error())
		}
	}
	return calendars
}

// takeOverDependency applies a calendar or an adapter.
func takeOverDependency(tx *world.Tx, id workload.Policy, obj client.Object) {
	switch {
	case id.Kind == kindCalendar && obj == nil:
		tx.RemoveCalendar(id.Name)
	case id.Kind == kindCalendar:
		tx.SetCalendar(obj.(*v1alpha1.Calendar))
	case id.Kind == kindAdapter && obj == nil:
		tx.RemoveAdapter(id.Name)
	case id.Kind == kindAdapter:
		a := obj.(*v1alpha1.Adapter)
		tx.SetAdapter(a, servingOf(a))
	}
}

// servingOf returns whether the API server serves the kind of an adapter, according to the adapter's status.
func servingOf(a *v1alpha1.Adapter) world.Serving {
	served := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionServed)
	switch {
	case served == nil || served.Status != metav1.ConditionFalse:
		return world.MayBeServed
	case inspect.Absence(served.Reason).IsGone(), inspect.Absence(served.Reason) == inspect.NothingServed:
		return world.NotServed
	case inspect.Absence(served.Reason) == inspect.VersionNotServed:
		return world.OtherVersions
	}
	return world.MayBeServed
}
