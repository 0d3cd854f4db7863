package adapters

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
)

// returning finds the adapters of the installation whose deletion began before this process. A former installation
// was then removed without restoring, and this installation has adopted the remaining objects. Such an adapter is
// recreated after its deletion. A deletion that begins while this process runs is intended, and the adapter stays
// deleted.
type returning struct {
	enabled []string
	// alive has the UIDs of adapters that this process has seen before their deletion, by name.
	alive map[string]types.UID
	// back has the adapters to recreate, by name.
	back map[string]comeback
}

// comeback is an adapter to recreate.
type comeback struct {
	adapter *v1alpha1.Adapter
	// applier is the field manager that applied the former adapter. The recreated adapter is applied under the same
	// name, so that an upgrade of the installation can apply the adapter as before. Empty means that the adapter was
	// created without apply.
	applier string
}

func newReturning(enabled []string) returning {
	return returning{enabled: enabled, alive: map[string]types.UID{}, back: map[string]comeback{}}
}

// see records the current state of an adapter. If the adapter is to be recreated, it calls applier for the field
// manager.
func (r *returning) see(a *v1alpha1.Adapter, applier func() (string, error)) error {
	switch {
	case a.DeletionTimestamp.IsZero():
		r.alive[a.Name] = a.UID
		delete(r.back, a.Name)
	case r.alive[a.Name] != a.UID && slices.Contains(r.enabled, a.Name) && r.back[a.Name].adapter == nil:
		by, err := applier()
		if err != nil {
			return err
		}
		r.back[a.Name] = comeback{applier: by, adapter: &v1alpha1.Adapter{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Adapter"},
			ObjectMeta: metav1.ObjectMeta{Name: a.Name, Labels: a.Labels, Annotations: a.Annotations},
			Spec:       *a.Spec.DeepCopy(),
		}}
	}
	return nil
}

// applierOf returns the field manager that has applied the spec of an adapter, or "" if the spec was not applied. It
// reads from the API server, because the cache has no managed fields.
func (c *Controller) applierOf(ctx context.Context, name string) (string, error) {
	var list v1alpha1.AdapterList
	if err := c.Reader.List(ctx, &list, client.MatchingFields{"metadata.name": name}); err != nil {
		return "", fmt.Errorf("read the field manager of the adapter %s: %w", name, err)
	}
	for i := range list.Items {
		for _, m := range list.Items[i].ManagedFields {
			if m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == "" && m.FieldsV1 != nil &&
				strings.Contains(m.FieldsV1.GetRawString(), `"f:spec"`) {
				return m.Manager, nil
			}
		}
	}
	return "", nil
}

// makeAgain recreates a deleted adapter if it is in returning.back.
func (c *Controller) makeAgain(ctx context.Context, name string) error {
	delete(c.returning.alive, name)
	back := c.returning.back[name]
	if back.adapter == nil {
		return nil
	}
	var err error
	if back.applier != "" {
		err = c.applyAs(ctx, back.adapter, back.applier)
	} else {
		err = client.IgnoreAlreadyExists(c.Client.Create(ctx, back.adapter.DeepCopy(), client.FieldOwner(apply.FieldManager)))
	}
	if err != nil {
		return fmt.Errorf("make the adapter %s again, which the installation brings: %w", name, err)
	}
	c.Log.Info("Recreated an adapter whose deletion began before this installation", "adapter", name)
	delete(c.returning.back, name)
	return nil
}

// applyAs applies an adapter as a field manager.
func (c *Controller) applyAs(ctx context.Context, a *v1alpha1.Adapter, manager string) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: object}
	unstructured.RemoveNestedField(object, "status")
	unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	return c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager))
}
