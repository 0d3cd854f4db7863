package source

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Allowed reports whether the user of the connection has a right on an object. It asks with a SelfSubjectAccessReview.
// An empty name means all objects.
func (c Cluster) Allowed(ctx context.Context, r Right, name string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: r.Resource.Group, Resource: r.Resource.Resource, Verb: r.Verb, Namespace: r.Namespace, Name: name}},
	}
	asked, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, fmt.Errorf("encode the question about rights: %w", err)
	}
	resource := authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
	answer, err := c.Client.Resource(resource).Create(ctx, &unstructured.Unstructured{Object: asked}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether you may %s: %w", r, err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}
