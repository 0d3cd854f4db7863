package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// AllGroups is passed to a Watcher's callback if any group may have changed.
const AllGroups = "*"

const (
	// gather is the time for which changes of one group are collected before the callback. The installation of one
	// CustomResourceDefinition causes about six changes.
	gather = 200 * time.Millisecond
	// defaultRepeat and defaultRecheck are the defaults in WatcherOptions.
	defaultRepeat, defaultRecheck = 5 * time.Second, time.Minute
)

// WatcherOptions are the times of a Watcher, and its logger.
type WatcherOptions struct {
	// Repeat is the pause before a callback is repeated once, because the OpenAPI schema is published a while after the
	// kind is served; zero means 5 s.
	Repeat time.Duration
	// Recheck is the interval of callbacks for all groups while a watch is refused or broken; zero means 60 s.
	Recheck time.Duration
	// Log gets one line when a watch is refused and one when it recovers.
	Log logr.Logger
}

// Watcher reports possible changes of the served kinds. It watches the metadata of CustomResourceDefinitions and
// APIServices and keeps only the name and the resource version. Without the right to watch, it logs a line and calls
// back for all groups at a slow pace. It tries to watch again, so a right that is granted later is used without a
// restart.
type Watcher struct {
	options WatcherOptions
	changed func(group string)
	sources []*source
	calls   workqueue.TypedDelayingInterface[call]
}

// call is a callback to be made.
type call struct {
	group string
	// repeats is the instant of the repeated callback; zero: no repetition.
	repeats time.Time
}

// NewWatcher returns a Watcher. After a possible change of an API group's kinds, it calls changed with the group
// (empty: the core group). It calls changed with AllGroups once both watches are in sync, at each re-check, and when a
// watch has recovered. The calls are made one at a time, once Start runs.
func NewWatcher(config *rest.Config, options WatcherOptions, changed func(group string)) (*Watcher, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the metadata client that watches API groups: %w", err)
	}
	w := newWatcher(options, changed)
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		w.sources = append(w.sources, newSource(client, gvr, w.options.Log))
	}
	return w, nil
}

func newWatcher(options WatcherOptions, changed func(group string)) *Watcher {
	options.Repeat, options.Recheck = cmp.Or(options.Repeat, defaultRepeat), cmp.Or(options.Recheck, defaultRecheck)
	return &Watcher{options: options, changed: changed, calls: workqueue.NewTypedDelayingQueue[call]()}
}

// Degraded returns the watches that do not work, with the reasons; nil if all work.
func (w *Watcher) Degraded() error {
	var errs []error
	for _, s := range w.sources {
		if err := s.failure.Load(); err != nil {
			errs = append(errs, *err)
		}
	}
	return errors.Join(errs...)
}

// Start watches until the context ends. It returns an error only if a watch cannot be set up.
func (w *Watcher) Start(ctx context.Context) error {
	synced := make([]cache.InformerSynced, 0, len(w.sources))
	for _, s := range w.sources {
		s.recovered = func() { w.note(AllGroups) }
		if err := s.start(ctx, w.note); err != nil {
			return err
		}
		synced = append(synced, s.informer.HasSynced)
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			w.note(AllGroups)
		}
	}()
	go wait.UntilWithContext(ctx, func(context.Context) {
		if w.Degraded() != nil {
			w.note(AllGroups)
		}
	}, w.options.Recheck)
	w.run(ctx)
	return nil
}

// note schedules the callback for a group. Further events before the callback need no additional callback.
func (w *Watcher) note(group string) { w.calls.AddAfter(call{group: group}, gather) }

// run makes callbacks until the context ends.
func (w *Watcher) run(ctx context.Context) {
	context.AfterFunc(ctx, w.calls.ShutDown)
	for {
		next, ended := w.calls.Get()
		if ended {
			return
		}
		w.changed(next.group)
		if next.repeats.IsZero() {
			w.calls.AddAfter(call{next.group, time.Now()}, w.options.Repeat)
		}
		w.calls.Done(next)
	}
}

// source is the watch of a resource.
type source struct {
	resource schema.GroupResource
	informer cache.SharedIndexInformer
	log      logr.Logger
	// failure is the error of the last attempt to watch; nil for a working watch.
	failure atomic.Pointer[error]
	// recovered is called when the watch works again. Other requests may have failed during the same fault, so all
	// groups are checked.
	recovered func()
}

func newSource(client metadata.Interface, gvr schema.GroupVersionResource, log logr.Logger) *source {
	s := &source{resource: gvr.GroupResource(), log: log}
	resource := client.Resource(gvr)
	s.informer = cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := resource.Watch(ctx, options)
			if err == nil {
				s.works()
			}
			return stream, err
		},
	}, &metav1.PartialObjectMetadata{}, cache.SharedIndexInformerOptions{})
	return s
}

func (s *source) start(ctx context.Context, changed func(group string)) error {
	if err := s.informer.SetTransform(keepVersion); err != nil {
		return fmt.Errorf("prepare the watch of %s: %w", s.resource, err)
	}
	if err := s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { s.fails(err) }); err != nil {
		return fmt.Errorf("prepare the watch of %s: %w", s.resource, err)
	}
	tell := func(object any) {
		if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			changed(groupOf(name))
		}
	}
	_, err := s.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, inInitialList bool) {
			if !inInitialList {
				tell(object)
			}
		},
		UpdateFunc: func(old, object any) {
			if versionOf(old) != versionOf(object) {
				tell(object)
			}
		},
		DeleteFunc: tell,
	})
	if err != nil {
		return fmt.Errorf("prepare the watch of %s: %w", s.resource, err)
	}
	go s.informer.RunWithContext(ctx)
	return nil
}

// fails records that the watch does not work. The informer retries with back-off.
func (s *source) fails(cause error) {
	err := fmt.Errorf("watch %s: %w", s.resource, cause)
	if s.failure.Swap(&err) == nil {
		s.log.Info("Failed to watch API groups; checking all of them periodically instead",
			"resource", s.resource.String(), "reason", cause.Error())
	}
}

func (s *source) works() {
	if s.failure.Swap(nil) != nil {
		s.log.Info("Watching API groups again", "resource", s.resource.String())
		s.recovered()
	}
}

// keepVersion drops all parts of an object except the name and the version.
func keepVersion(object any) (any, error) {
	meta, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: meta.Name, ResourceVersion: meta.ResourceVersion}}, nil
}

func versionOf(object any) string {
	if meta, ok := object.(*metav1.PartialObjectMetadata); ok {
		return meta.ResourceVersion
	}
	return ""
}

// groupOf returns the API group in the name of a CustomResourceDefinition (<plural>.<group>) or an APIService
// (<version>.<group>, with an empty core group).
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}
