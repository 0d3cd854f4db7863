package except

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/kinds"
)

// Rights returns the rights that a user needs to create an exception in a namespace. An empty namespace means a cluster
// exception.
func Rights(namespace string) (all []source.Right) {
	e, _, _ := freeze.NewException(namespace, "", nil)
	kind, _ := kinds.Find(source.IDOf(e).Kind)
	for _, verb := range []string{"create", "except"} {
		resource := v1alpha1.GroupVersion.WithResource(kind.Resource).GroupResource()
		all = append(all, source.Right{Verb: verb, Resource: resource, Namespace: namespace})
	}
	return all
}

// Create creates the exception in a cluster. In a dry run the API server only checks it.
func (p *Preview) Create(ctx context.Context, client dynamic.Interface, o metav1.CreateOptions) error {
	text, err := p.Manifest()
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &obj.Object); err != nil {
		return fmt.Errorf("encode the exception: %w", err)
	}
	kind, _ := kinds.Find(obj.GetKind())
	resource := v1alpha1.GroupVersion.WithResource(kind.Resource)
	_, err = client.Resource(resource).Namespace(obj.GetNamespace()).Create(ctx, obj, o)
	if apierrors.IsForbidden(err) {
		where := "in the whole cluster"
		if obj.GetNamespace() != "" {
			where = "in namespace " + obj.GetNamespace()
		}
		return fmt.Errorf("%w\nto make an exception, the verbs create and except on %s are needed %s", err, resource.GroupResource(), where)
	}
	if err != nil {
		return fmt.Errorf("make the exception: %w", err)
	}
	return nil
}
