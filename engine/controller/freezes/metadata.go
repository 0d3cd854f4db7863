package freezes

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// Metadata reads the metadata of objects from the API server if a review does not contain it. It lists by name, because
// Flyball holds the right to list anyway.
type Metadata struct {
	Client metadata.Interface
	// Objects reads whole objects.
	Objects dynamic.Interface
}

// Whole implements freeze.Objects.
func (m Metadata) Whole(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) ([]byte, error) {
	list, err := m.Objects.Resource(resource).Namespace(namespace).List(ctx, named(name))
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return list.Items[0].MarshalJSON()
}

func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
}

// Metadata implements freeze.Objects.
func (m Metadata) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace,
	name string) (*metav1.PartialObjectMetadata, error) {
	list, err := m.Client.Resource(resource).Namespace(namespace).List(ctx, named(name))
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return &list.Items[0], nil
}

// OwnerReferenceOf returns a function that reads the owner reference to a cluster-scoped object at each call. A recreated object
// has another UID: with the old UID the garbage collector would delete the configuration.
func OwnerReferenceOf(m Metadata, resource schema.GroupVersionResource, kind, name string) (
	read func(context.Context) (*metav1.OwnerReference, error),
) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		object, err := m.Metadata(ctx, resource, "", name)
		if err != nil {
			return nil, fmt.Errorf("find the owner of the webhook configuration of freezes: %w", err)
		}
		return &metav1.OwnerReference{APIVersion: resource.GroupVersion().String(), Kind: kind, Name: name, UID: object.UID}, nil
	}
}
