package wake

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/world"
)

// resource returns a client for the resource and the namespace of a place.
func resource(client dynamic.Interface, p Place) dynamic.ResourceInterface {
	if p.Namespace == "" {
		return client.Resource(p.Resource)
	}
	return client.Resource(p.Resource).Namespace(p.Namespace)
}

// Write sets the mark on places. If until is the zero time, it removes the mark. In a dry run the API
// server only checks the edit.
func (m Mark) Write(ctx context.Context, client dynamic.Interface, places []Place, until time.Time, reason string,
	o metav1.PatchOptions) error {
	for _, p := range places {
		_, err := resource(client, p).Patch(ctx, p.Name, types.MergePatchType, m.Patch(until, reason), o)
		if apierrors.IsForbidden(err) {
			return fmt.Errorf("%w\nto %s it, this right is needed: %s", err, m.verb, p.Right())
		}
		if err != nil {
			return fmt.Errorf("annotate %s: %w", p, err)
		}
	}
	return nil
}

// lookAgain is the interval at which Await reads the objects.
const lookAgain = time.Second

// Await waits until objects are awake and ready. These are the objects among the places, and the objects that the
// places wake at once or keep awake. Await calls the function doing with a text about the present wait, and the
// function ready with each object that has become ready.
func (e *Effect) Await(ctx context.Context, client dynamic.Interface, w *source.World, places []Place, timeout time.Duration, doing,
	ready func(string)) error {
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all := e.toAwait(w, places)
	for _, p := range all {
		for {
			ok, why := e.isReady(ctx, client, memory, p)
			if ok {
				e.Ready = append(e.Ready, p.String())
				ready(p.String())
				break
			}
			doing(fmt.Sprintf("%d of %d ready, waiting for %s: %s", len(e.Ready), len(all), p, why))
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s is kept awake but not ready after %s: %s (%d of %d ready)", p, timeout, why, len(e.Ready), len(all))
			case <-time.After(lookAgain):
			}
		}
	}
	return nil
}

// isReady reports whether an object is awake and ready. If it is not, isReady also returns the reason.
func (e *Effect) isReady(ctx context.Context, client dynamic.Interface, memory *world.Memory, p Place) (bool, string) {
	obj, err := resource(client, p).Get(ctx, p.Name, metav1.GetOptions{})
	if err != nil {
		return false, err.Error()
	}
	raw, err := obj.MarshalJSON()
	if err != nil {
		return false, err.Error()
	}
	if why := e.Unwritten(p.Object, raw); why != "" {
		return false, why
	}
	return memory.Kind(p.Object.GroupKind).Adapter.Ready(raw)
}
