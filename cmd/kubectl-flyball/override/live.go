package override

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/engine/world"
)

// overrides returns a client for the Overrides of a namespace, or for ClusterOverrides.
func overrides(client dynamic.Interface, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(override.ResourceIn(""))
	}
	return client.Resource(override.ResourceIn(namespace)).Namespace(namespace)
}

// Write creates the Overrides of the effect, or deletes them. With dryRun, the API server only checks the request. An error names the
// Overrides written before.
func (e *Effect) Write(ctx context.Context, client dynamic.Interface, manager string, dryRun []string) error {
	verb, done := "create", "created"
	if e.order.End {
		verb, done = "delete", "deleted"
	}
	for i, obj := range e.Overrides {
		at := overrides(client, obj.GetNamespace())
		var err error
		if e.order.End {
			uid := obj.GetUID()
			err = at.Delete(ctx, obj.GetName(), metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{UID: &uid}})
		} else {
			err = e.create(ctx, at, i, metav1.CreateOptions{FieldManager: manager, DryRun: dryRun})
		}
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s %s: %w", verb, idOf(obj), err)
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w\nthis right is needed: %s", err, Place{Namespace: obj.GetNamespace()}.Right(verb))
		}
		if names := e.Names()[:i]; len(names) > 0 && len(dryRun) == 0 {
			err = fmt.Errorf("%w\n%s already: %s", err, done, strings.Join(names, ", "))
		}
		return err
	}
	return nil
}

// create creates one of the Overrides, and replaces it in the effect by the created object.
func (e *Effect) create(ctx context.Context, at dynamic.ResourceInterface, i int, o metav1.CreateOptions) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Overrides[i])
	if err != nil {
		return err
	}
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	created, err := at.Create(ctx, &unstructured.Unstructured{Object: fields}, o)
	if err != nil {
		return err
	}
	obj := e.Overrides[i].DeepCopyObject().(policy.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, obj); err != nil {
		return err
	}
	e.Overrides[i] = obj
	return nil
}

// lookAgain is the interval at which Await reads the objects.
const lookAgain = time.Second

// Await waits until objects are awake and ready. These are the objects among the places, and the objects that the
// places wake at once or keep awake. It fails at once if a limit keeps an object from the effect. Await calls the
// function doing with a text about the present wait, and the function ready with each object that has become ready.
func (e *Effect) Await(ctx context.Context, client dynamic.Interface, w *source.World, places []Place, timeout time.Duration, doing,
	ready func(string)) error {
	if len(e.Limits) > 0 {
		return fmt.Errorf("it is not kept awake: %s: %s", e.Limits[0].Object, e.Limits[0].Reason)
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all := e.toAwait(w, places)
	for _, p := range all {
		for {
			ok, why := e.isReady(waiting, client, memory, p)
			if ok {
				e.Ready = append(e.Ready, p.String())
				ready(p.String())
				break
			}
			doing(fmt.Sprintf("%d of %d ready, waiting for %s: %s", len(e.Ready), len(all), p, why))
			select {
			case <-waiting.Done():
				if ctx.Err() != nil {
					return fmt.Errorf("%s stays awake, but the wait for it has ended: %w (%d of %d ready)", p, context.Cause(ctx), len(e.Ready), len(all))
				}
				return fmt.Errorf("%s is kept awake but not ready after %s: %s (%d of %d ready)", p, timeout, why, len(e.Ready), len(all))
			case <-time.After(lookAgain):
			}
		}
	}
	return nil
}

// isReady reports whether an object is awake and ready. If it is not, isReady also returns the reason.
func (e *Effect) isReady(ctx context.Context, client dynamic.Interface, memory *world.Memory, p Place) (bool, string) {
	var at dynamic.ResourceInterface = client.Resource(p.Resource)
	if p.Namespace != "" {
		at = client.Resource(p.Resource).Namespace(p.Namespace)
	}
	obj, err := at.Get(ctx, p.Object.Name, metav1.GetOptions{})
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
