package app

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller/adapter"
	"flyball.dev/flyball/engine/cost"
	"flyball.dev/flyball/engine/disruption"
	"flyball.dev/flyball/engine/members"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/target"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// newMembers makes what knows the pods of targets, and which of them may be restarted.
func newMembers(mgr ctrl.Manager, config *rest.Config, w *world.World, metadatas metadata.Interface, loop *target.Loop, log logr.Logger) (*members.Members, *disruption.Budgets, error) {
	watches, err := watch.NewManager(config)
	if err != nil {
		return nil, nil, err
	}
	authorization, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("set up the pods of targets: %w", err)
	}
	belonging := members.New(members.Options{
		Watches: watches, Own: apply.FieldManager, Log: log,
		Cluster: owners{world: w, mapper: mgr.GetRESTMapper(), reviews: authorization.SelfSubjectAccessReviews()},
	})
	budgets := disruption.New(disruption.Options{Watches: watches, Members: belonging, Pods: metadatas, Again: loop.Queue})
	loop.FollowBudgets(budgets)
	return belonging, budgets, nil
}

// newCosts makes what orders the pods of targets for deletion, and joins it to what works on targets and tells of them.
func newCosts(belonging *members.Members, w *world.World, writer *apply.Writer, loop *target.Loop, statuses *status.Writer, adapters *adapter.Controller,
	m *cost.Metrics, log logr.Logger,
) *cost.Loop {
	costs := cost.New(w, belonging, writer, cost.Audience{Requeue: loop.Queue, Dirty: statuses.Dirty, Fault: loop.CountFault}, adapters, m, log)
	belonging.Follow(costs)
	loop.FollowPods(costs)
	statuses.FollowPods(costs)
	return costs
}

// owners implements members.Cluster.
type owners struct {
	world   *world.World
	mapper  meta.RESTMapper
	reviews authorizationclient.SelfSubjectAccessReviewInterface
}

// OwnerOf implements members.Cluster: kinds that are in use are watched anyway.
func (o owners) OwnerOf(ref workload.Ref) (owner *workload.Owner, watched bool) {
	k := o.world.Snapshot().InUse(ref.GroupKind)
	if k == nil {
		return nil, false
	}
	if obj := k.Live.Get(ref.Namespace, ref.Name); obj != nil {
		owner = obj.Owner
	}
	return owner, true
}

// Ends implements members.Cluster. What decides by itself which of its pods go belongs to nothing that heeds costs.
func (o owners) Ends(gk schema.GroupKind) bool {
	if gk.Group == "" && gk.Kind == "Node" {
		return true
	}
	known, ok := o.world.Snapshot().AdaptedKind(gk)
	return ok && !known.HeedsCosts
}

// Resource implements members.Cluster.
func (o owners) Resource(ctx context.Context, gk schema.GroupKind) (schema.GroupVersionResource, bool, error) {
	mapping, err := o.mapper.RESTMapping(gk)
	if meta.IsNoMatchError(err) {
		return schema.GroupVersionResource{}, false, nil
	}
	if err != nil {
		return schema.GroupVersionResource{}, false, fmt.Errorf("find the resource of %s: %w", gk, err)
	}
	for _, verb := range []string{"list", "watch"} {
		answer, err := o.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: mapping.Resource.Group, Resource: mapping.Resource.Resource},
		}}, metav1.CreateOptions{})
		if err != nil {
			return schema.GroupVersionResource{}, false, fmt.Errorf("ask whether %s may be watched: %w", mapping.Resource, err)
		}
		if !answer.Status.Allowed {
			return schema.GroupVersionResource{}, false, nil
		}
	}
	return mapping.Resource, true, nil
}
