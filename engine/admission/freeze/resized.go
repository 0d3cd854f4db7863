package freeze

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/workload"
)

// ownersAtMost limits the length of a chain of owner references above a pod.
const ownersAtMost = 8

// ownersOf returns the adapted objects that own a pod, directly or indirectly, if the review resizes the pod in place.
// Such a change counts as a scale of these owners. It returns no owners for any other review.
func (j *Judge) ownersOf(ctx context.Context, r *review.Review) (refs []workload.Ref, err error) {
	if r.Resource.Group != "" || r.Resource.Resource != "pods" || r.Subresource != register.Resize {
		return nil, nil
	}
	owner := controllerIn(r)
	for range ownersAtMost {
		if owner == nil {
			return refs, nil
		}
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil {
			return refs, nil //nolint:nilerr // an invented owner leads nowhere
		}
		ref := workload.Ref{GroupKind: gv.WithKind(owner.Kind).GroupKind(), Namespace: r.Namespace, Name: owner.Name}
		resource, found := j.Freezes.Resource(ref.GroupKind)
		if found {
			refs = append(refs, ref)
		} else if j.Served != nil {
			resource, found = j.Served(ref.GroupKind)
		}
		if !found {
			return refs, nil
		}
		object, err := j.Objects.Metadata(ctx, resource, ref.Namespace, ref.Name)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return refs, nil // without this owner, the owners above it are unknown
		}
		if err != nil {
			return nil, fmt.Errorf("read the owner of %s: %w", ref, err)
		}
		owner = metav1.GetControllerOf(object)
	}
	return refs, nil
}

// controllerIn returns the controlling owner of the review's object before the change, or nil.
func controllerIn(r *review.Review) *metav1.OwnerReference {
	for _, ref := range r.OldObject.Get("metadata.ownerReferences").Array() {
		if ref.Get("controller").Bool() {
			return &metav1.OwnerReference{APIVersion: ref.Get("apiVersion").String(), Kind: ref.Get("kind").String(), Name: ref.Get("name").String(),
				UID: types.UID(ref.Get("uid").String())}
		}
	}
	return nil
}
