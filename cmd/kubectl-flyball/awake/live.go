package awake

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// resource gives what reads and writes a place.
func resource(client dynamic.Interface, p Place) dynamic.ResourceInterface {
	if p.Namespace == "" {
		return client.Resource(p.Resource)
	}
	return client.Resource(p.Resource).Namespace(p.Namespace)
}

// Write sets or takes away the annotation on places; until is zero where it goes.
func Write(ctx context.Context, client dynamic.Interface, places []Place, until time.Time, reason, manager string) error {
	for _, p := range places {
		_, err := resource(client, p).Patch(ctx, p.Name, types.MergePatchType, Patch(until, reason), metav1.PatchOptions{FieldManager: manager})
		if apierrors.IsForbidden(err) {
			return fmt.Errorf("%w\nto wake it, this right is needed: %s", err, source.Right{Verb: "patch", Resource: p.Resource.GroupResource(), Namespace: p.Namespace})
		}
		if err != nil {
			return fmt.Errorf("annotate %s: %w", p, err)
		}
	}
	return nil
}

// lookAgain is how often Await looks whether objects are ready.
const lookAgain = time.Second

// Await waits until the objects among the places, and those that the places wake at once or keep awake already, are awake and ready. It tells
// what it waits for.
func (e *Effect) Await(ctx context.Context, client dynamic.Interface, w *source.World, places []Place, timeout time.Duration, doing func(string)) (ready []string, err error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, p := range e.toAwait(w, places) {
		adapter := memory.Kind(p.ref.GroupKind).Adapter
		isReady := func() (bool, string) {
			obj, err := resource(client, p).Get(ctx, p.Name, metav1.GetOptions{})
			if err != nil {
				return false, err.Error()
			}
			raw, err := obj.MarshalJSON()
			if err != nil {
				return false, err.Error()
			}
			if why := e.Unwritten(p.ref, raw); why != "" {
				return false, why
			}
			return adapter.Ready(raw)
		}
		for {
			ok, why := isReady()
			if ok {
				ready = append(ready, p.String())
				break
			}
			doing("waiting for " + p.String() + ": " + why)
			select {
			case <-ctx.Done():
				return nil, fmt.Errorf("%s is kept awake but not ready after %s: %s", p, timeout, why)
			case <-time.After(lookAgain):
			}
		}
	}
	return ready, nil
}
