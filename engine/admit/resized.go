package admit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admit/registration"
	"flyball.dev/flyball/engine/workload"
)

// ownersAtMost is how many owners lie above a pod at most, as far as anybody looks.
const ownersAtMost = 8

// ownersOf lists what a pod belongs to that is changed in place: the adapted kinds among the objects that own it, however far above it. Such a
// change scales them. It is empty for all other reviews, and for a pod that belongs to nothing.
func (j *Judge) ownersOf(ctx context.Context, r *review) (refs []workload.Ref, err error) {
	if r.resource.Group != "" || r.resource.Resource != "pods" || r.subresource != registration.Resize {
		return nil, nil
	}
	owner := controllerIn(r)
	for range ownersAtMost {
		if owner == nil {
			return refs, nil
		}
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil {
			return refs, nil //nolint:nilerr // somebody has made it up: it leads nowhere
		}
		ref := workload.Ref{GroupKind: gv.WithKind(owner.Kind).GroupKind(), Namespace: r.namespace, Name: owner.Name}
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
			return refs, nil // what is above it is not known to anybody here
		}
		if err != nil {
			return nil, fmt.Errorf("read what owns %s: %w", ref, err)
		}
		owner = metav1.GetControllerOf(object)
	}
	return refs, nil
}

// controllerIn is the controlling owner of the object of a review before the change; nil: it has none.
func controllerIn(r *review) *metav1.OwnerReference {
	for _, ref := range r.oldObject.Get("metadata.ownerReferences").Array() {
		if ref.Get("controller").Bool() {
			return &metav1.OwnerReference{APIVersion: ref.Get("apiVersion").String(), Kind: ref.Get("kind").String(), Name: ref.Get("name").String()}
		}
	}
	return nil
}
