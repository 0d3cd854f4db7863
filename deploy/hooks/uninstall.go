package hooks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
)

// Uninstall deletes every Adapter and waits until all are gone. The manager, which still runs, restores everything that
// it has changed through an Adapter before that Adapter goes. Then Uninstall removes Flyball's finalizer from the
// policies, so that they and their namespaces can be deleted without a manager. Policies and CRDs stay.
func Uninstall(ctx context.Context, config *rest.Config, say func(line string)) error {
	err := await(ctx, config, say, func(ctx context.Context, c client.Client) (string, error) {
		if left, err := dismiss(ctx, c, say); err != nil || left != "" {
			return left, err
		}
		return free(ctx, c, say)
	})
	if err == nil {
		say("every adapter is gone, and everything it changed is given back; no policy has a finalizer any more")
	}
	return err
}

// dismiss deletes the adapters that are not being deleted yet. left names all remaining adapters, with the reasons of
// the manager; empty: no adapter is left.
func dismiss(ctx context.Context, c client.Client, say func(string)) (left string, err error) {
	var list v1alpha1.AdapterList
	if err := c.List(ctx, &list); err != nil {
		return "", fmt.Errorf("list adapters: %w", err)
	}
	var waits []string
	var errs []error
	for i := range list.Items {
		a := &list.Items[i]
		if !a.DeletionTimestamp.IsZero() {
			waits = append(waits, a.Name+": "+reason(a))
			continue
		}
		waits = append(waits, a.Name)
		err := c.Delete(ctx, a)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			errs = append(errs, fmt.Errorf("delete the adapter %s: %w", a.Name, err))
		default:
			say("deleted the adapter " + a.Name)
		}
	}
	return strings.Join(waits, "; "), errors.Join(errs...)
}

// free removes the finalizer from policies. freed names these policies; empty: no policy had the finalizer. A manager
// that does not know yet that the last adapter is gone may add the finalizer again, so the caller must repeat the call
// until it has nothing to do.
func free(ctx context.Context, c client.Client, say func(string)) (freed string, err error) {
	var names []string
	for _, kind := range kinds.Acting() {
		list := kind.NewList().(client.ObjectList)
		if err := c.List(ctx, list); err != nil {
			return "", fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return "", err
		}
		for _, item := range items {
			obj := item.(client.Object)
			before := obj.DeepCopyObject().(client.Object)
			if !controllerutil.RemoveFinalizer(obj, v1alpha1.FinalizerRestore) {
				continue
			}
			name := strings.TrimPrefix(obj.GetNamespace()+"/"+obj.GetName(), "/")
			if err := c.Patch(ctx, obj, client.MergeFromWithOptions(before,
				client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
				return "", fmt.Errorf("take the finalizer off %s %s: %w", kind.Name, name, err)
			}
			say("took the finalizer off " + kind.Name + " " + name)
			names = append(names, kind.Name+" "+name)
		}
	}
	return strings.Join(names, ", "), nil
}

// reason returns the manager's message about an adapter that is being deleted.
func reason(a *v1alpha1.Adapter) string {
	c := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != "Restoring" {
		return "the manager has not answered yet"
	}
	return c.Message
}
