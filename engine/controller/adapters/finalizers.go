package adapters

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/decide"
)

// Finalizers keeps the finalizer on adapters through which something has to be restored.
type Finalizers struct {
	client client.Client
	// changing serializes additions and removals of the finalizer.
	changing sync.Mutex

	mu sync.RWMutex
	// added has the adapters with a finalizer added by this process.
	added map[string]bool
}

// NewFinalizers returns Finalizers. cached reads Flyball's own objects from a cache and writes them.
func NewFinalizers(cached client.Client) *Finalizers {
	return &Finalizers{client: cached, added: map[string]bool{}}
}

// PutFinalizer adds the finalizer to an adapter before the first write for the kind, so the adapter stays until
// everything is restored. An adapter that cannot be read or marked is an error, so the write must not follow.
func (f *Finalizers) PutFinalizer(ctx context.Context, k *decide.Kind) error {
	name := k.Adapter.Name()
	if f.has(name) {
		return nil
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	if f.has(name) {
		return nil
	}
	var a v1alpha1.Adapter
	if err := f.client.Get(ctx, client.ObjectKey{Name: name}, &a); err != nil {
		return fmt.Errorf("mark the adapter %s as in use: %w", name, err)
	}
	if a.DeletionTimestamp.IsZero() {
		if err := f.confirm(ctx, &a); err != nil {
			return fmt.Errorf("mark the adapter %s as in use: %w", name, err)
		}
	}
	f.set(name, true)
	return nil
}

// confirm makes sure that an adapter has the finalizer now, even if the cache is stale. It applies the finalizer on the
// server, which changes nothing if the finalizer is present. The UID prevents the write from recreating a deleted
// adapter.
func (f *Finalizers) confirm(ctx context.Context, a *v1alpha1.Adapter) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Adapter"))
	u.SetName(a.Name)
	u.SetUID(a.UID)
	u.SetFinalizers([]string{v1alpha1.FinalizerRestore})
	return f.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(apply.FieldManager), client.ForceOwnership)
}

// remove removes the finalizer of an adapter. The next write first adds it again. A write that is already in flight
// causes another reconciliation.
func (f *Finalizers) remove(ctx context.Context, a *v1alpha1.Adapter) error {
	f.changing.Lock()
	defer f.changing.Unlock()
	f.set(a.Name, false)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return controller.RemoveFinalizer(ctx, f.client, a)
}

func (f *Finalizers) has(name string) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.added[name]
}

func (f *Finalizers) set(name string, has bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if has {
		f.added[name] = true
		return
	}
	delete(f.added, name)
}
