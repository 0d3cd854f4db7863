package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrHidden is the error for a kind that is not served although its CustomResourceDefinition is established and serves
// a version. The API server has just started.
var ErrHidden = errors.New("the API server does not serve it yet, though its CustomResourceDefinition says so")

// ServeDefined is Serve for callers that drop missing kinds. A starting API server answers requests before it serves
// every custom kind. So if Serve reports a kind as gone, ServeDefined looks for its CustomResourceDefinition by name,
// <plural>.<group>. The error is ErrHidden if the kind should be served according to that CustomResourceDefinition.
func (c *Inspector) ServeDefined(ctx context.Context, definition, group, kind string, versions []string) (Served, error) {
	served, err := c.Serve(ctx, group, kind, versions)
	if err != nil || !served.Absence.IsGone() {
		return served, err
	}
	crd, err := c.definition(ctx, definition, group)
	if err != nil || crd == nil {
		return served, err
	}
	return unserved(crd, kind)
}

// definition returns the CustomResourceDefinition of a group by name, or nil if it does not exist. Flyball holds the
// right to list, not to get.
func (c *Inspector) definition(ctx context.Context, name, group string) (*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := c.definitions.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, fmt.Errorf("look for the CustomResourceDefinition %s: %w", name, err)
	}
	if len(found.Items) == 0 || found.Items[0].Spec.Group != group {
		return nil, nil
	}
	return &found.Items[0], nil
}

// unserved returns the reason why a kind is not served, although a CustomResourceDefinition of the given name exists.
func unserved(crd *apiextensionsv1.CustomResourceDefinition, kind string) (Served, error) {
	if kind != crd.Spec.Names.Kind && kind != crd.Status.AcceptedNames.Kind {
		return Served{Absence: KindNotServed, Message: fmt.Sprintf("%s are of the kind %s, not %s", crd.Name, crd.Spec.Names.Kind, kind)}, nil
	}
	nothing := Served{GVR: schema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}, Absence: NothingServed}
	if why := notEstablished(crd); why != "" {
		nothing.Message = fmt.Sprintf("the CustomResourceDefinition %s is not established: %s", crd.Name, why)
		return nothing, nil
	}
	if !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served }) {
		nothing.Message = fmt.Sprintf("the CustomResourceDefinition %s serves no version: set served: true for one", crd.Name)
		return nothing, nil
	}
	return Served{}, fmt.Errorf("%s: %w", crd.Name, ErrHidden)
}

// notEstablished returns the reason why the API server does not serve the defined kind; empty: it serves the kind.
func notEstablished(crd *apiextensionsv1.CustomResourceDefinition) string {
	why := "its conditions say why"
	for _, c := range crd.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
			return ""
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			why = c.Message
		}
	}
	return why
}
