package app

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// memberOptions returns the options of package pods.
func memberOptions(mgr ctrl.Manager, config *rest.Config, w *world.World, dry *apply.DryRun, log logr.Logger) (o pods.Options, err error) {
	watches, err := watch.NewManager(config)
	if err != nil {
		return o, err
	}
	if dry != nil {
		watches.ShowOver(dry)
		dry.ShowBy(watches.Show)
	}
	inspector, err := inspect.New(config)
	if err != nil {
		return o, fmt.Errorf("set up the pods of targets: %w", err)
	}
	return pods.Options{
		Watches: watches, Own: apply.FieldManager, Log: log,
		Cluster: ownerReferences{world: w, mapper: mgr.GetRESTMapper(), inspector: inspector},
	}, nil
}

// ownerReferences implements pods.Cluster.
type ownerReferences struct {
	world     *world.World
	mapper    meta.RESTMapper
	inspector *inspect.Inspector
}

// OwnerReferenceOf implements pods.Cluster. Kinds in use have a watch already.
func (o ownerReferences) OwnerReferenceOf(ref workload.Ref) (owner *workload.OwnerReference, watched bool) {
	k := o.world.Snapshot().InUse(ref.GroupKind)
	if k == nil {
		return nil, false
	}
	if obj := k.Live.Get(ref.Namespace, ref.Name); obj != nil {
		owner = obj.OwnerReference
	}
	return owner, true
}

// Ends implements pods.Cluster. The search for owners ends at a controller that ignores deletion costs, and at a Node.
func (o ownerReferences) Ends(gk schema.GroupKind) bool {
	if gk.Group == "" && gk.Kind == "Node" {
		return true
	}
	known, ok := o.world.Snapshot().AdaptedKind(gk)
	return ok && !known.HeedsCosts
}

// Resource implements pods.Cluster.
func (o ownerReferences) Resource(ctx context.Context, gk schema.GroupKind) (schema.GroupVersionResource, bool, error) {
	mapping, err := o.mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return schema.GroupVersionResource{}, false, nil
	}
	if err != nil {
		return schema.GroupVersionResource{}, false, fmt.Errorf("find the resource of %s: %w", gk, err)
	}
	missing, err := o.inspector.Authorize(ctx, []rbacv1.PolicyRule{inspect.RuleOf(mapping.Resource.GroupResource(), "list", "watch")})
	if err != nil {
		return schema.GroupVersionResource{}, false, err
	}
	return mapping.Resource, len(missing) == 0, nil
}
