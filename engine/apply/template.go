package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// TemplateManager is the field manager of objects made from templates.
const TemplateManager = "flyball-template"

// Templates creates whole objects and keeps their fields, by server-side apply.
type Templates struct {
	client dynamic.Interface
	dry    bool
}

// NewTemplates returns Templates that use the configuration unchanged. In a dry run they only read.
// An error means that the configuration gives no client.
func NewTemplates(config *rest.Config, dry bool) (*Templates, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for templates: %w", err)
	}
	return &Templates{client: client, dry: dry}, nil
}

// Get returns the present object, or nil if it does not exist. A refused read is an error.
func (t *Templates) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured,
	error) {
	obj, err := t.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", resource.GroupResource(), namespace, name, err)
	}
	return obj, nil
}

// Apply creates or updates the object with the given fields, and returns the result. If the object has a resourceVersion
// and has changed since, the outcome is Stale. In a dry run it returns the present object, or nil. A refused write is an
// error, with the outcome.
func (t *Templates) Apply(ctx context.Context, resource schema.GroupVersionResource,
	obj *unstructured.Unstructured) (*unstructured.Unstructured, Outcome, error) {
	if t.dry {
		live, err := t.Get(ctx, resource, obj.GetNamespace(), obj.GetName())
		if err != nil {
			return nil, Failed, err
		}
		return live, Applied, nil
	}
	got, err := t.client.Resource(resource).Namespace(obj.GetNamespace()).
		Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: TemplateManager, Force: true})
	if err != nil {
		return nil, classify(err, types.ApplyPatchType), fmt.Errorf("apply the template of %s %s/%s: %w", resource.GroupResource(),
			obj.GetNamespace(), obj.GetName(), err)
	}
	return got, Applied, nil
}

// Disown removes an owner reference of an object, if the object has not changed since it was read. A missing object is no
// error. A refused write is an error.
func (t *Templates) Disown(ctx context.Context, resource schema.GroupVersionResource, obj *unstructured.Unstructured,
	owner types.UID) error {
	if t.dry {
		return nil
	}
	owners := slices.DeleteFunc(obj.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": owners,
		"resourceVersion": obj.GetResourceVersion()}})
	if err == nil {
		_, err = t.client.Resource(resource).Namespace(obj.GetNamespace()).
			Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: TemplateManager})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("leave %s %s/%s: %w", resource.GroupResource(), obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}

// Delete deletes an object, if it still has the UID. A missing object and a different UID are no errors. A refused delete
// is an error.
func (t *Templates) Delete(ctx context.Context, resource schema.GroupVersionResource, namespace, name string, uid types.UID) error {
	if t.dry {
		return nil
	}
	background := metav1.DeletePropagationBackground
	err := t.client.Resource(resource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s %s/%s: %w", resource.GroupResource(), namespace, name, err)
	}
	return nil
}
