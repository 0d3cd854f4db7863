package verdict

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
)

// Create makes the exception in a cluster.
func (p *Preview) Create(ctx context.Context, client dynamic.Interface, manager string) error {
	text, err := p.Manifest()
	if err != nil {
		return err
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &obj.Object); err != nil {
		return fmt.Errorf("encode the exception: %w", err)
	}
	kind, _ := kinds.Find(p.Exception.Kind)
	resource := v1alpha1.GroupVersion.WithResource(kind.Resource)
	_, err = client.Resource(resource).Namespace(p.Exception.Namespace).Create(ctx, obj, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\nto make an exception, the verbs create and except on freezeexceptions.flyball.dev are needed in namespace %s", err, p.Exception.Namespace)
	}
	if err != nil {
		return fmt.Errorf("make the exception: %w", err)
	}
	return nil
}
