package app

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/admission/serve"
)

// evaluate serves the evaluate API on the webhook's server. It uses the same judge as the webhook.
func (j *judging) evaluate(config *rest.Config, s *serve.Server) error {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up the evaluate API: %w", err)
	}
	log := j.opts.Log.WithName("evaluate")
	s.HandlePublic(evaluate.Path, evaluate.New(evaluate.Options{
		Court:  &evaluate.Evaluator{Judge: j.judge(nil, log), Objects: liveObjects{objects}, Exempt: j.exempt()},
		KindOf: j.kindOf,
		Tokens: j.clients.people.TokenReviews(), Rights: j.clients.rights.SubjectAccessReviews(),
		Audiences: j.opts.Webhook.Evaluate.Audiences, Rate: j.opts.Webhook.Evaluate.Rate,
		Clock: j.clock, Pace: clock.RealClock{}, Ready: j.world.Ready, Log: log,
	}))
	return nil
}

// kindOf returns the resource of an adapted kind and whether it is namespaced.
func (j *judging) kindOf(gk schema.GroupKind) (evaluate.Served, bool) {
	resource, adapted := j.world.Resource(gk)
	if !adapted {
		return evaluate.Served{}, false
	}
	outside := j.world.Scope().ClusterScoped
	return evaluate.Served{Resource: resource, Namespaced: outside == nil || !outside(gk)}, true
}

// liveObjects reads objects from the API server.
type liveObjects struct{ client dynamic.Interface }

// Object implements evaluate.ObjectReader.
func (l liveObjects) Object(ctx context.Context, t evaluate.Target) ([]byte, error) {
	object, err := l.client.Resource(t.Resource).Namespace(t.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Ref, err)
	}
	raw, err := object.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", t.Ref, err)
	}
	return raw, nil
}
