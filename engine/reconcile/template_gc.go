package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// makerOf returns the policy that controls an object, and so has created it. It returns false if no policy controls the
// object.
func makerOf(obj *workload.Object) (workload.Policy, bool) {
	if obj.OwnerReference == nil || obj.OwnerReference.Group != v1alpha1.GroupVersion.Group {
		return workload.Policy{}, false
	}
	kind, ok := kinds.Find(obj.OwnerReference.Kind)
	return workload.Policy{Kind: kind.Name, Namespace: obj.Namespace, Name: obj.OwnerReference.Name}, ok && !kind.ClusterScoped
}

// madeFor returns the objects that were created for a policy and are not being deleted. Only policies in a namespace
// create objects.
func madeFor(s *world.Snapshot, id workload.Policy) []workload.Ref {
	if id.Namespace == "" {
		return nil
	}
	var made []workload.Ref
	for _, k := range s.Kinds() {
		k.Live.RangeNamespace(id.Namespace, func(o *workload.Object) bool {
			if by, ok := makerOf(o); ok && by == id && !o.Deleting {
				made = append(made, k.Ref(o))
			}
			return true
		})
	}
	return made
}

// RemoveAll deletes the objects of a policy that is being deleted. The garbage collector would delete them too. So an
// object that Flyball may not delete, because of a freeze or missing rights, is left to the garbage collector, and does
// not delay the deletion of the policy. An error is that of the API server.
func (k *TemplateKeeper) RemoveAll(ctx context.Context, p *world.Policy) error {
	snapshot := k.World.Snapshot()
	for _, ref := range madeFor(snapshot, p.ID) {
		kind := snapshot.InUse(ref.GroupKind)
		if kind == nil {
			continue
		}
		_, err := k.remove(ctx, kind, ref, p)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err): // an admission policy may answer with either error
			k.leave(p, ref, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// leave reports that an object outlives its policy.
func (k *TemplateKeeper) leave(p *world.Policy, ref workload.Ref, why error) {
	k.Log.Info("Left an object of a template to the garbage collector", "policy", p.ID.String(), "object", ref.String(), "reason", why.Error())
	if k.Recorder != nil {
		k.Recorder.Eventf(p.Object, nil, corev1.EventTypeWarning, "NotRemoved", "Delete",
			"%s was made for this %s and is left to the garbage collector: %s", ref, p.ID.Kind, workload.OneLine(why.Error(), 512))
	}
}

// removeUnwanted deletes an object if its policy has no template any more, or if the template names another object or
// kind. Objects of a policy that cannot be read stay.
func (k *TemplateKeeper) removeUnwanted(ctx context.Context, s *world.Snapshot, kind *world.LiveKind, obj *workload.Object) (
	removed bool, err error) {
	if obj == nil || obj.Deleting {
		return false, nil
	}
	maker, ok := makerOf(obj)
	if !ok {
		return false, nil
	}
	ref := kind.Ref(obj)
	p := s.Find(maker)
	if p == nil || p.Deleting || p.IsBroken() || p.Template.Is(ref) {
		return false, nil
	}
	return k.remove(ctx, kind, ref, p)
}

// remove deletes an object, or removes its owner reference, if the policy still controls it.
func (k *TemplateKeeper) remove(ctx context.Context, kind *world.LiveKind, ref workload.Ref, p *world.Policy) (changed bool, err error) {
	live, err := k.Client.Get(ctx, kind.Resource, ref.Namespace, ref.Name)
	if err != nil || live == nil {
		return false, err
	}
	if by := metav1.GetControllerOf(live); by == nil || by.UID != p.Object.GetUID() {
		return false, nil
	}
	if p.LeavesMade {
		err := k.Client.Disown(ctx, kind.Resource, live, p.Object.GetUID())
		return err == nil, err
	}
	if err := k.Client.Delete(ctx, kind.Resource, ref.Namespace, ref.Name, live.GetUID()); err != nil {
		return false, err
	}
	return true, nil
}
