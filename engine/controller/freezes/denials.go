package freezes

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// addDenials adds counts to the status of a policy. The write is conditional on the object's version, because other
// replicas add their counts too.
func (n *Recorder) addDenials(ctx context.Context, id workload.Policy, d *denied) error {
	obj, err := n.get(ctx, id)
	if err != nil || obj == nil {
		return err
	}
	before := obj.DeepCopyObject().(client.Object)
	st := freeze.StatusOf(obj)
	if st.Denied == nil {
		st.Denied = &v1alpha1.DeniedCounts{}
	}
	st.Denied.Create += d.counts.Create
	st.Denied.Delete += d.counts.Delete
	st.Denied.RollOut += d.counts.RollOut
	st.Denied.Scale += d.counts.Scale
	if st.LastDenial == nil || !d.last.Time.Before(&st.LastDenial.Time) {
		st.LastDenial = d.last.DeepCopy()
	}
	err = n.client.Status().Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// get reads a policy object. It returns nil if the object does not exist.
func (n *Recorder) get(ctx context.Context, id workload.Policy) (policy.Object, error) {
	kind, ok := kinds.Find(id.Kind)
	if !ok {
		return nil, nil
	}
	obj := kind.New()
	err := n.client.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, obj)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

// recordCreator writes the creator of an exception and overwrites other values of the field. there reports whether
// the exception exists. A new exception of the same name has another UID and is not changed.
func (n *Recorder) recordCreator(ctx context.Context, uid types.UID, c creator) (there bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error { // other writers of the status report at the same moment
		obj, err := n.get(ctx, c.exception)
		there = err == nil && obj != nil && obj.GetUID() == uid
		if !there {
			return err
		}
		before := obj.DeepCopyObject().(client.Object)
		st := freeze.ExceptionStatusOf(obj)
		st.CreatedBy, st.CreatedAt = c.user, status.TimeOf(c.at)
		return n.client.Status().Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	return there, err
}
