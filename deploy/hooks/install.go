package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	library "flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
)

// Install applies the library's Adapters of the given names. It exists because kubectl cannot create a CRD and objects
// of its kind in one command. A refused request is repeated, because the API server may not serve the kind yet, or the
// manager may not serve its webhook yet. An adapter that is being deleted is applied again once it is gone.
func Install(ctx context.Context, config *rest.Config, adapters []string, say func(line string)) error {
	all, err := library.All()
	if err != nil {
		return err
	}
	missing := slices.Clone(adapters)
	for i := range all {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == all[i].Name })
	}
	if len(missing) > 0 {
		return fmt.Errorf("the library has no adapter %s", strings.Join(missing, ", "))
	}
	all = slices.DeleteFunc(all, func(a v1alpha1.Adapter) bool { return !slices.Contains(adapters, a.Name) })
	err = await(ctx, config, say, func(ctx context.Context, c client.Client) (string, error) {
		left, err := apply(ctx, c, all)
		if meta.IsNoMatchError(err) {
			return "the API server does not serve Adapters yet", nil
		}
		return left, err
	})
	if err == nil {
		say("applied the adapters " + strings.Join(adapters, ", "))
	}
	return err
}

// apply applies adapters with server-side apply. left names the adapters that are being deleted.
func apply(ctx context.Context, c client.Client, all []v1alpha1.Adapter) (left string, err error) {
	var waits []string
	var errs []error
	for i := range all {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&all[i])
		if err != nil {
			return "", fmt.Errorf("convert the adapter %s: %w", all[i].Name, err)
		}
		delete(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		applied := &unstructured.Unstructured{Object: content}
		err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("flyball-install"), client.ForceOwnership)
		switch {
		case meta.IsNoMatchError(err):
			return "", err
		case err != nil:
			errs = append(errs, fmt.Errorf("apply the adapter %s: %w", all[i].Name, err))
		case applied.GetDeletionTimestamp() != nil:
			waits = append(waits, all[i].Name+" is being deleted")
		}
	}
	return strings.Join(waits, "; "), errors.Join(errs...)
}
