package adapter

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
)

// returning are the adapters that the installation brings and that were being deleted already when this process saw them first: an
// installation before this one was removed without giving back, and this one has adopted what was left. They come back once they are
// gone. One that is deleted before the eyes of this process is meant to go.
type returning struct {
	enabled []string
	// alive holds, by name, the adapters that this process has seen and that were not being deleted.
	alive map[string]types.UID
	// back holds what is to be made again.
	back map[string]*v1alpha1.Adapter
}

func newReturning(enabled []string) returning {
	return returning{enabled: enabled, alive: map[string]types.UID{}, back: map[string]*v1alpha1.Adapter{}}
}

// see takes note of an adapter as it is.
func (r *returning) see(a *v1alpha1.Adapter) {
	switch {
	case a.DeletionTimestamp.IsZero():
		r.alive[a.Name] = a.UID
		delete(r.back, a.Name)
	case r.alive[a.Name] != a.UID && slices.Contains(r.enabled, a.Name):
		r.back[a.Name] = &v1alpha1.Adapter{
			ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: a.Labels, Annotations: a.Annotations},
			Spec:       *a.Spec.DeepCopy(),
		}
	}
}

// makeAgain makes an adapter that is gone and is to come back.
func (c *Controller) makeAgain(ctx context.Context, name string) error {
	delete(c.returning.alive, name)
	a := c.returning.back[name]
	if a == nil {
		return nil
	}
	if err := c.Client.Create(ctx, a.DeepCopy(), client.FieldOwner(apply.FieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the adapter %s again, which the installation brings: %w", name, err)
	}
	c.Log.Info("made an adapter again that was being deleted when Flyball was installed", "adapter", name)
	delete(c.returning.back, name)
	return nil
}
