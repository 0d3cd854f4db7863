package newpods

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"

	"flyball.dev/flyball/engine/fleet/room"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// rooms knows what namespaces allow their pods.
type rooms struct {
	ranges kept[[]corev1.LimitRangeItem]
	quotas kept[corev1.ResourceList]
}

// follow has LimitRanges and ResourceQuotas watched until the context ends or release is called.
func (r *rooms) follow(ctx context.Context, opts Options) error {
	if err := r.ranges.follow(ctx, opts, "limitranges", room.RangesOf); err != nil {
		return err
	}
	return r.quotas.follow(ctx, opts, "resourcequotas", room.LeftOf)
}

// areKnown says that nothing more is to be waited for: what cannot be read bounds nothing here.
func (r *rooms) areKnown() bool { return r.ranges.isKnown() && r.quotas.isKnown() }

func (r *rooms) of(namespace string) room.Room {
	left := slices.DeleteFunc(r.quotas.in(namespace), func(left corev1.ResourceList) bool { return len(left) == 0 })
	return room.Room{Ranges: slices.Concat(r.ranges.in(namespace)...), Left: left}
}

func (r *rooms) release() {
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
		GVR: corev1.SchemeGroupVersion.WithResource(resource), ID: "new pods", Projector: bounding{},
		Handler: watch.HandlerFunc(func(before, after *workload.Object) {
			if after == nil {
				k.drop(before)
				return
			}
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

func (k *kept[T]) in(namespace string) (all []T) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, v := range k.all[namespace] {
		all = append(all, v)
	}
	return all
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
