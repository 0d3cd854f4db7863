package app

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// own finds the objects that control the manager's own Pod, and excludes them from all policies. If the manager put
// itself to sleep, it could wake nothing any more, not even itself.
type own struct {
	objects        client.Reader
	world          *world.World
	namespace, pod string
	log            logr.Logger
}

// exclude passes these objects to the world. It retries until the API server answers, because no target may be worked
// on before. Outside a cluster it does nothing.
func (o own) exclude(ctx context.Context) {
	if o.pod == "" {
		return
	}
	_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (done bool, err error) {
		refs, err := o.find(ctx)
		switch {
		case err == nil:
			o.world.Update(func(tx *world.Tx) { tx.SetOwn(refs) })
			o.log.Info("Policies do not act on the objects that Flyball itself runs in", "objects", fmt.Sprint(refs))
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			o.log.Error(err, "Failed to find the objects that Flyball itself runs in: a policy that selects them can put Flyball to sleep",
				"namespace", o.namespace, "pod", o.pod)
		default:
			o.log.V(1).Info("Failed to find the objects that Flyball itself runs in; will retry", "reason", err.Error())
			return false, nil
		}
		return true, nil
	}) // the only error is the end of the context
}

// maxOwners limits the length of a chain of owner references.
const maxOwners = 8

// find follows the owner references of the Pod, usually to its ReplicaSet and Deployment. The chain ends at an owner
// that is missing or may not be read.
func (o own) find(ctx context.Context) ([]workload.Ref, error) {
	kind, name := corev1.SchemeGroupVersion.WithKind("Pod"), o.pod
	var refs []workload.Ref
	for range maxOwners {
		obj := &metav1.PartialObjectMetadata{}
		obj.SetGroupVersionKind(kind)
		err := o.objects.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, obj)
		unreadable := apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
		if err != nil && (len(refs) == 0 || !unreadable) {
			return nil, fmt.Errorf("read %s %s/%s: %w", kind.Kind, o.namespace, name, err)
		}
		ref := workload.Ref{GroupKind: kind.GroupKind(), Namespace: o.namespace, Name: name}
		if err == nil {
			ref.Namespace = obj.Namespace // empty if the kind is cluster-scoped
		}
		refs = append(refs, ref)
		owner := metav1.GetControllerOf(obj)
		if owner == nil {
			break
		}
		kind, name = schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), owner.Name
	}
	return refs, nil
}
