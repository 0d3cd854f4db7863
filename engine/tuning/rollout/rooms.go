package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// RoomOptions configure Rooms.
type RoomOptions struct {
	Watches *watch.Manager
	Log     logr.Logger
	// Changed is called with a namespace after a possible change of limits; "": all. It must be quick. Nil: no call.
	Changed func(namespace string)
}

// Rooms returns the limits of namespaces for their pods.
type Rooms struct {
	ranges kept[[]corev1.LimitRangeItem]
	quotas kept[corev1.ResourceList]
}

// Follow watches LimitRanges and ResourceQuotas until the context ends or Release is called. It must be called first;
// after an error only Release may be called.
func (r *Rooms) Follow(ctx context.Context, opts RoomOptions) error {
	if opts.Changed == nil {
		opts.Changed = func(string) {}
	}
	if err := r.ranges.follow(ctx, opts, "limitranges", podsize.RangesOf); err != nil {
		return err
	}
	return r.quotas.follow(ctx, opts, "resourcequotas", podsize.Headroom)
}

// AreKnown reports whether all limits are known. Unreadable objects count as no limit.
func (r *Rooms) AreKnown() bool { return r.ranges.isKnown() && r.quotas.isKnown() }

// Of returns the limits of a namespace for its pods.
func (r *Rooms) Of(namespace string) (allowed podsize.Room) {
	r.ranges.each(namespace, func(name string, items []corev1.LimitRangeItem) {
		for _, item := range items {
			allowed.Ranges = append(allowed.Ranges, podsize.Range{Name: name, LimitRangeItem: item})
		}
	})
	r.quotas.each(namespace, func(name string, left corev1.ResourceList) {
		if len(left) > 0 {
			allowed.Quotas = append(allowed.Quotas, podsize.Quota{Name: name, Left: left})
		}
	})
	return allowed
}

// Release ends Follow.
func (r *Rooms) Release() {
	r.ranges.release()
	r.quotas.release()
}

// kept are the kept parts of a kind's objects, by namespace and name.
type kept[T any] struct {
	watch *watch.Watch

	mu  sync.RWMutex
	all map[string]map[string]T
}

func (k *kept[T]) follow(ctx context.Context, opts RoomOptions, resource string, read func([]byte) (T, error)) (err error) {
	k.all = map[string]map[string]T{}
	k.watch, err = opts.Watches.Ensure(ctx, watch.Source{
		GVR: corev1.SchemeGroupVersion.WithResource(resource), ID: "rooms", Projector: bounding{}, OnState: func() { opts.Changed("") },
		Handler: watch.HandlerFunc(func(before, after *workload.Object) {
			if after == nil {
				k.drop(before)
				opts.Changed(before.Namespace)
				return
			}
			if before != nil && slices.Equal(before.Fields, after.Fields) {
				return
			}
			defer opts.Changed(after.Namespace)
			v, err := read([]byte(after.Fields[0].Raw))
			if err != nil {
				opts.Log.Info("Failed to read an object that bounds pods; pods with the recommended requests may be refused", "resource", resource,
					"namespace", after.Namespace, "name", after.Name, "reason", err.Error())
				k.drop(after)
				return
			}
			k.set(after, v)
		}),
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", resource, err)
	}
	return nil
}

func (k *kept[T]) drop(obj *workload.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.all[obj.Namespace], obj.Name); len(k.all[obj.Namespace]) == 0 {
		delete(k.all, obj.Namespace)
	}
}

func (k *kept[T]) set(obj *workload.Object, v T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all[obj.Namespace] == nil {
		k.all[obj.Namespace] = map[string]T{}
	}
	k.all[obj.Namespace][obj.Name] = v
}

// each calls a function with the kept parts of a namespace, in the order of names.
func (k *kept[T]) each(namespace string, call func(name string, v T)) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	all := k.all[namespace]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		call(name, all[name])
	}
}

func (k *kept[T]) isKnown() bool {
	if k.watch == nil || k.watch.HasSynced() {
		return true
	}
	_, err := k.watch.Err()
	return err != nil
}

func (k *kept[T]) release() {
	if k.watch != nil {
		k.watch.Release()
	}
}

var errNoName = errors.New("project a LimitRange or ResourceQuota: it has no name")

// bounding keeps the spec and the status of an object as a document.
type bounding struct{}

// Project implements watch.Projector.
func (bounding) Project(raw []byte) (*workload.Object, error) {
	text := func(path string) string { return rawjson.GetBytes(raw, path).String() }
	obj := &workload.Object{Namespace: text("metadata.namespace"), Name: text("metadata.name"), UID: text("metadata.uid"),
		ResourceVersion: text("metadata.resourceVersion")}
	if obj.Name == "" {
		return nil, errNoName
	}
	part := func(path string) string { return cmp.Or(rawjson.GetBytes(raw, path).Raw, "null") }
	obj.Fields = []workload.Field{{Raw: `{"spec":` + part("spec") + `,"status":` + part("status") + `}`}}
	return obj, nil
}
