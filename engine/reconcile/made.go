package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"
)

// makerOf names the Trigger that controls an object, and so has made it; false if none does.
func makerOf(obj *workload.Object) (workload.Policy, bool) {
	if obj.Owner == nil || obj.Owner.GroupKind != (schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: trigger.KindName}) {
		return workload.Policy{}, false
	}
	return workload.Policy{Kind: trigger.KindName, Namespace: obj.Namespace, Name: obj.Owner.Name}, true
}

// madeFor lists the objects that were made for a policy and are not being deleted.
func (e *Engine) madeFor(id workload.Policy) []workload.Ref {
	if id.Kind != trigger.KindName {
		return nil
	}
	var made []workload.Ref
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, k := range e.kinds {
		k.watch.RangeNamespace(id.Namespace, func(o *workload.Object) bool {
			if by, ok := makerOf(o); ok && by == id && !o.Deleting {
				made = append(made, k.ref(o))
			}
			return true
		})
	}
	return made
}

// removeMade deletes what was made for a policy that is going. The garbage collector would do so too, where there is one: so
// what may not be deleted by Flyball, because of a freeze or missing rights, is left to it, and the policy goes all the same.
func (e *Engine) removeMade(ctx context.Context, id workload.Policy, obj client.Object) error {
	for _, ref := range e.madeFor(id) {
		e.mu.RLock()
		k := e.kinds[ref.GroupKind]
		e.mu.RUnlock()
		if k == nil {
			continue
		}
		_, err := e.deleteMade(ctx, k, ref, obj.GetUID())
		switch {
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err): // an admission policy may answer with either
			e.leaveMade(id, obj, ref, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// leaveMade says that an object outlives the policy that it was made for.
func (e *Engine) leaveMade(id workload.Policy, obj client.Object, ref workload.Ref, why error) {
	e.log.Info("left to the garbage collector", "policy", id.String(), "object", ref.String(), "reason", why.Error())
	if e.recorder != nil {
		e.recorder.Eventf(obj, nil, corev1.EventTypeWarning, "NotRemoved", "Delete",
			"%s was made for this %s and is left to the garbage collector: %s", ref, id.Kind, truncate(why.Error(), 512))
	}
}

// removeDropped deletes an object that was made for a policy whose template does not ask for it any more, because it is of
// another name or kind, or gone. A policy that cannot be read drops nothing.
func (e *Engine) removeDropped(ctx context.Context, k *kind, obj *workload.Object) (removed bool, err error) {
	if obj == nil || obj.Deleting {
		return false, nil
	}
	maker, ok := makerOf(obj)
	if !ok {
		return false, nil
	}
	ref := k.ref(obj)
	e.mu.RLock()
	en := e.index.all[maker]
	e.mu.RUnlock()
	if en == nil || en.deleting || en.policy.Frozen() || en.policy.Template.Is(ref) {
		return false, nil
	}
	return e.deleteMade(ctx, k, ref, en.object.GetUID())
}

// deleteMade deletes an object if the owner of that UID still controls it.
func (e *Engine) deleteMade(ctx context.Context, k *kind, ref workload.Ref, owner types.UID) (deleted bool, err error) {
	live, err := e.templater.Get(ctx, k.resource, ref.Namespace, ref.Name)
	if err != nil || live == nil {
		return false, err
	}
	if by := metav1.GetControllerOf(live); by == nil || by.UID != owner {
		return false, nil
	}
	if err := e.templater.Delete(ctx, k.resource, ref.Namespace, ref.Name, live.GetUID()); err != nil {
		return false, err
	}
	return true, nil
}
