package freeze

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// Metadata reads the metadata of objects from the API server, for what a review does not carry. It lists by name, which needs
// no right that Flyball does not hold anyway.
type Metadata struct{ Client metadata.Interface }

// Metadata implements admit.Objects.
func (m Metadata) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()}
	list, err := m.Client.Resource(resource).Namespace(namespace).List(ctx, only)
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return &list.Items[0], nil
}

// OwnerOf finds an object outside namespaces that the webhook configuration is to go with, as it is now: one that was made anew
// has another UID, and the garbage collector would take the configuration for the old one's.
func OwnerOf(m Metadata, resource schema.GroupVersionResource, kind, name string) func(context.Context) (*metav1.OwnerReference, error) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		object, err := m.Metadata(ctx, resource, "", name)
		if err != nil {
			return nil, fmt.Errorf("find what the webhook configuration of freezes goes with: %w", err)
		}
		return &metav1.OwnerReference{APIVersion: resource.GroupVersion().String(), Kind: kind, Name: name, UID: object.UID}, nil
	}
}
