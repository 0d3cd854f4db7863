package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/status"
)

// Cache keeps the objects of Flyball's own kinds in memory, without managedFields. It implements cache.Cache. The cache of
// controller-runtime (v0.25.2) takes thirteen goroutines for each kind with two handlers, because handlers may be slow and kinds may end
// alone; here a kind takes four.
type Cache struct {
	objects  client.WithWatch
	listings *status.Listings

	mu        sync.Mutex
	informers map[schema.GroupVersionKind]*informer
	// start starts an informer; nil: the cache has not been started.
	start func(*informer)
}

var _ cache.Cache = (*Cache)(nil)

// NewCache returns a Cache of objects that a client lists and watches. listings records the outcome of lists.
func NewCache(objects client.WithWatch, listings *status.Listings) *Cache {
	return &Cache{objects: objects, listings: listings, informers: map[schema.GroupVersionKind]*informer{}}
}

// newCache returns the function that makes the cache of a manager.
func newCache(listings *status.Listings) cache.NewCacheFunc {
	return func(config *rest.Config, opts cache.Options) (cache.Cache, error) {
		objects, err := client.NewWithWatch(config, client.Options{HTTPClient: opts.HTTPClient, Scheme: opts.Scheme, Mapper: opts.Mapper})
		if err != nil {
			return nil, fmt.Errorf("make the client of the cache: %w", err)
		}
		return NewCache(objects, listings), nil
	}
}

// Start reads all kinds until the context ends, and returns when all informers have ended.
func (c *Cache) Start(ctx context.Context) error {
	running, logged := sync.WaitGroup{}, logr.NewContext(ctx, ctrl.Log.WithName("cache"))
	c.begin(func(f *informer) { running.Go(func() { f.run(logged) }) })
	<-ctx.Done()
	c.begin(func(*informer) {})
	running.Wait()
	return nil
}

func (c *Cache) begin(start func(*informer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.start = start
	for _, f := range c.informers {
		start(f)
	}
}

// WaitForCacheSync waits until all requested kinds have been read. It returns false if the context ends first.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.informers))
	c.mu.Unlock()
	return !slices.ContainsFunc(all, func(f *informer) bool { return f.wait(ctx) != nil })
}

// GetInformer returns the informer of a kind. It does not wait for the first list. A kind that is not served is an error.
func (c *Cache) GetInformer(_ context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.objects.Scheme())
	if err != nil {
		return nil, err
	}
	return c.informer(gvk)
}

// GetInformerForKind implements cache.Cache.
func (c *Cache) GetInformerForKind(_ context.Context, gvk schema.GroupVersionKind, _ ...cache.InformerGetOption) (cache.Informer, error) {
	return c.informer(gvk)
}

func (c *Cache) informer(gvk schema.GroupVersionKind) (*informer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.informers[gvk]; f != nil {
		return f, nil
	}
	if gvk.Group != v1alpha1.GroupVersion.Group {
		return nil, fmt.Errorf("the cache has only Flyball's own kinds, and %s is none", gvk.GroupKind())
	}
	if _, err := c.objects.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		return nil, fmt.Errorf("find the resource of %s: %w", gvk.Kind, err)
	}
	f, err := newInformer(gvk, c.objects, c.listings)
	if err != nil {
		return nil, err
	}
	c.informers[gvk] = f
	if c.start != nil {
		c.start(f)
	}
	return f, nil
}

// read returns the informer of an object's or a list's kind, once it has been read.
func (c *Cache) read(ctx context.Context, obj runtime.Object) (*informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.objects.Scheme())
	if err != nil {
		return nil, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	f, err := c.informer(gvk)
	if err != nil {
		return nil, err
	}
	return f, f.wait(ctx)
}

// Get copies an object of the cache.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	f, err := c.read(ctx, out)
	if err != nil {
		return err
	}
	obj := f.find(key)
	if obj == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: f.gvk.Group, Resource: f.gvk.Kind}, key.Name)
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
	out.GetObjectKind().SetGroupVersionKind(f.gvk)
	return nil
}

// List copies the objects of the cache, or those of a namespace. Other options are refused.
func (c *Cache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if o.LabelSelector != nil || o.FieldSelector != nil || o.Limit > 0 || o.Continue != "" {
		return fmt.Errorf("list the cache with other options than a namespace: %w", errors.ErrUnsupported)
	}
	f, err := c.read(ctx, out)
	if err != nil {
		return err
	}
	var objects []runtime.Object
	for _, obj := range f.in(o.Namespace) {
		if o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
			obj = obj.DeepCopyObject().(client.Object)
			obj.GetObjectKind().SetGroupVersionKind(f.gvk)
		}
		objects = append(objects, obj)
	}
	return meta.SetList(out, objects)
}

// RemoveInformer implements cache.Cache. Nothing removes a kind.
func (c *Cache) RemoveInformer(context.Context, client.Object) error { return errors.ErrUnsupported }

// IndexField implements cache.Cache. Nothing needs an index.
func (c *Cache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return errors.ErrUnsupported
}
