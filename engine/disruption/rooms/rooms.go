// Package rooms knows what namespaces allow their pods, and what nodes have for them: it has LimitRanges, ResourceQuotas and nodes watched while
// somebody needs them, and keeps of each only what it says of CPU and memory.
package rooms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"

	"flyball.dev/flyball/engine/fleet/room"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Options say how Rooms work.
type Options struct {
	Watches *watch.Manager
	Log     logr.Logger
	// Changed hears of a namespace that may allow something else; "": of all of them. It must be quick. Nil: nobody hears.
	Changed func(namespace string)
}

// Rooms knows what namespaces allow their pods.
type Rooms struct {
	ranges kept[[]corev1.LimitRangeItem]
	quotas kept[corev1.ResourceList]
}

// Follow has LimitRanges and ResourceQuotas watched until the context ends or Release is called. It must be called before all else, and after an
// error nothing else may be called but Release.
func (r *Rooms) Follow(ctx context.Context, opts Options) error {
	if opts.Changed == nil {
		opts.Changed = func(string) {}
	}
	if err := r.ranges.follow(ctx, opts, "limitranges", room.RangesOf); err != nil {
		return err
	}
	return r.quotas.follow(ctx, opts, "resourcequotas", room.LeftOf)
}

// AreKnown reports whether nothing more is to be waited for: what cannot be read bounds nothing here.
func (r *Rooms) AreKnown() bool { return r.ranges.isKnown() && r.quotas.isKnown() }

// Of returns what a namespace allows its pods.
func (r *Rooms) Of(namespace string) (allowed room.Room) {
	r.ranges.each(namespace, func(name string, items []corev1.LimitRangeItem) {
		for _, item := range items {
			allowed.Ranges = append(allowed.Ranges, room.Range{Name: name, LimitRangeItem: item})
		}
	})
	r.quotas.each(namespace, func(name string, left corev1.ResourceList) {
		if len(left) > 0 {
			allowed.Quotas = append(allowed.Quotas, room.Quota{Name: name, Left: left})
		}
	})
	return allowed
}

// Release ends what Follow began.
func (r *Rooms) Release() {
	r.ranges.release()
	r.quotas.release()
}

// kept are the objects of a kind, each as what is read of it, by namespace and name.
type kept[T any] struct {
	watch *watch.Watch

	mu  sync.RWMutex
	all map[string]map[string]T
}

func (k *kept[T]) follow(ctx context.Context, opts Options, resource string, read func([]byte) (T, error)) (err error) {
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
				opts.Log.Info("pods may be refused that have what is recommended", "resource", resource, "namespace", after.Namespace, "name", after.Name, "reason", err.Error())
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

// each calls with what is kept of a namespace, in the order of names.
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

var errNoName = errors.New("project what bounds pods: it has no name")

// bounding keeps the spec and the status of an object, as a document of their own.
type bounding struct{}

// Project implements watch.Projector.
func (bounding) Project(raw []byte) (*workload.Object, error) {
	text := func(path string) string { return gjson.GetBytes(raw, path).String() }
	obj := &workload.Object{Namespace: text("metadata.namespace"), Name: text("metadata.name"), UID: text("metadata.uid"), ResourceVersion: text("metadata.resourceVersion")}
	if obj.Name == "" {
		return nil, errNoName
	}
	part := func(path string) string { return cmp.Or(gjson.GetBytes(raw, path).Raw, "null") }
	obj.Fields = []workload.Field{{Raw: `{"spec":` + part("spec") + `,"status":` + part("status") + `}`}}
	return obj, nil
}
