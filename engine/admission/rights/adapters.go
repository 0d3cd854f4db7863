package rights

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/admission/review"
)

// Resources maps kinds to the resources that the API server serves.
type Resources interface {
	// Resource returns the plural name of a kind in any served version, or "" if the kind is not served.
	Resource(ctx context.Context, kind schema.GroupKind) (plural string, err error)
}

// Adapters is the Validator of Adapters. An adapter makes Flyball write objects of a kind with Flyball's rights. To
// prevent privilege escalation, the author of a new adapter or a changed spec must hold patch on the kind in all
// namespaces, and on its /scale if the adapter writes through /scale. Edits of metadata only, such as Flyball's own
// finalizer, are exempt.
type Adapters struct {
	Resources Resources
	Reviews   AccessReviewer
}

// Validate implements Validator.
func (v Adapters) Validate(ctx context.Context, req review.Request) (warnings []string, errs field.ErrorList, err error) {
	if req.Operation != admissionv1.Create && (req.Operation != admissionv1.Update || !req.SpecChanged) {
		return nil, nil, nil
	}
	object, ok := req.New.(*v1alpha1.Adapter)
	if !ok {
		return nil, nil, fmt.Errorf("judge an Adapter: got a %T", req.New)
	}
	target := object.Spec.Target.GroupKind()
	plural, err := v.Resources.Resource(ctx, target)
	if err != nil {
		return nil, nil, fmt.Errorf("find the resource of %s: %w", target, err)
	}
	if plural == "" {
		warnings = append(warnings, fmt.Sprintf("%s is not served by this API server yet: the adapter waits for it", target))
	}
	resource, nameErr := resourceOf(object.Name, target, plural)
	if nameErr != nil {
		errs = append(errs, nameErr)
	}
	compiled, specErrs := adapter.Compile(object.Name, object.Spec, adapter.Keys{})
	errs = append(errs, specErrs...)
	if resource == "" {
		return nil, errs, nil
	}
	if err := v.authorize(ctx, req, target.Group, resource, usesScale(compiled, object)); err != nil {
		return nil, nil, err
	}
	return warnings, errs, nil
}

// usesScale reports whether an adapter writes through /scale, also for a spec that does not compile.
func usesScale(compiled *adapter.Adapter, object *v1alpha1.Adapter) bool {
	if compiled != nil {
		return compiled.UsesScale()
	}
	return slices.ContainsFunc(object.Spec.Scale, func(c v1alpha1.ScaleComponent) bool { return c.Via == v1alpha1.ViaScale })
}

// resourceOf returns the resource whose rights are checked: the served resource of the kind, or the resource in the
// adapter's name if the kind is not served.
func resourceOf(name string, target schema.GroupKind, plural string) (resource string, fault *field.Error) {
	at := field.NewPath("metadata", "name")
	suffix := ""
	if target.Group != "" {
		suffix = "." + target.Group
	}
	if plural != "" {
		if want := plural + suffix; name != want {
			return plural, field.Invalid(at, name, fmt.Sprintf("must be %s, the plural name and the group of %s", want, target.Kind))
		}
		return plural, nil
	}
	prefix, ok := strings.CutSuffix(name, suffix)
	if !ok || len(validation.IsDNS1035Label(prefix)) > 0 {
		return "", field.Invalid(at, name, fmt.Sprintf("must be <plural>%s, with the plural name of %s", suffix, target.Kind))
	}
	return prefix, nil
}

// authorize returns an error if the user lacks a right that the adapter would use.
func (v Adapters) authorize(ctx context.Context, req review.Request, group, resource string, scale bool) error {
	subresources := []string{""}
	if scale {
		subresources = append(subresources, "scale")
	}
	var lacking []string
	for _, subresource := range subresources {
		attributes := authorizationv1.ResourceAttributes{Group: group, Resource: resource, Subresource: subresource, Verb: "patch"}
		allowed, err := May(ctx, v.Reviews, req.User, attributes)
		if err != nil {
			return err
		}
		if !allowed {
			lacking = append(lacking, schema.GroupResource{Group: group, Resource: strings.TrimSuffix(resource+"/"+subresource, "/")}.String())
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: "adapters"}, req.Name, fmt.Errorf(
		"user %q must be allowed to patch %s in all namespaces, because an adapter makes Flyball do it",
		req.User.Username, strings.Join(lacking, " and ")))
}
