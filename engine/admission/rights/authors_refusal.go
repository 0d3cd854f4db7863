package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// refuseLacking returns the refusal for missing rights: the rights per kind, and the ways to get the policy admitted.
func refuseLacking(req review.Request, row policy.Row, id workload.Policy, lacking []claim) error {
	where := "in all namespaces"
	if id.Namespace != "" {
		where = "in namespace " + id.Namespace
	}
	var parts []string
	for len(lacking) > 0 {
		first := lacking[0]
		like := func(c claim) bool {
			return c.verb == first.verb && c.field == first.field && c.use == first.use && c.named == first.named
		}
		var resources, adapters []string
		for _, c := range lacking {
			if like(c) {
				resources = append(resources, c.text())
				if c.use {
					adapters = append(adapters, c.adapter.Name())
				}
			}
		}
		lacking = slices.DeleteFunc(lacking, like)
		parts = append(parts, fmt.Sprintf("may not %s %s %s, and this policy would have Flyball do it: %s",
			first.verb, few(resources), where, waysOut(first, adapters)))
	}
	message := fmt.Sprintf("user %q %s", workload.OneLine(req.User.Username, review.MaxUser), strings.Join(parts, "; and "))
	return apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: row.Resource}, id.Name,
		errors.New(workload.OneLine(message, review.MaxRefusal)))
}

// waysOut returns advice for similar claims.
func waysOut(c claim, adapters []string) string {
	out := "list the kinds you mean in " + c.field
	switch {
	case !c.selected:
		out = "leave out " + c.field
	case c.named:
		out = fmt.Sprintf("list only kinds that you may %s in %s", c.verb, c.field)
	}
	if len(adapters) == 0 {
		return out + ", or be granted that right"
	}
	return fmt.Sprintf("%s, or be granted the verb %q on adapters.%s %s", out, VerbUse, v1alpha1.GroupVersion.Group, few(adapters))
}

// few returns the first names and the number of the rest.
func few(names []string) string {
	names = slices.Compact(names)
	if more := len(names) - review.MaxListed; more > 0 {
		names = append(slices.Clone(names[:review.MaxListed]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// askForAnnotations refuses annotations that make Kubernetes or a controller act, unless the user holds the verb
// override on the policy.
func (a *Authors) askForAnnotations(ctx context.Context, req review.Request, row policy.Row, id workload.Policy, rights []policy.Right,
	claims []claim) ([]string, field.ErrorList, error) {
	var errs field.ErrorList
	var keys []string
	for _, r := range rights {
		for _, key := range r.Annotations {
			if why := actingBecause(key, claims); why != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
				errs = append(errs, field.Forbidden(pathOfField(r.AnnotationsField).Key(key),
					fmt.Sprintf("%s; user %q needs the verb %q on %s", why, workload.OneLine(req.User.Username, review.MaxUser), VerbOverride, id)))
			}
		}
	}
	if len(errs) == 0 {
		return nil, nil, nil
	}
	held, err := May(ctx, a.Reviews, req.User, authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Resource: row.Resource, Verb: VerbOverride, Namespace: id.Namespace, Name: id.Name,
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("%w; nothing is changed, try again", err)
	case !held:
		return nil, errs, nil
	}
	what := "sets annotations that controllers act on: " + few(keys)
	if a.Note != nil && !req.DryRun {
		a.Note(Guarded{Verb: VerbOverride, Policy: id, User: workload.OneLine(req.User.Username, review.MaxUser),
			What: workload.OneLine(what, review.MaxRefusal), At: a.Clock.Now()})
	}
	return []string{fmt.Sprintf("%s %s", id, what)}, nil, nil
}

// actingBecause returns the reason why an annotation makes a controller act, or "" if no controller is known to use it.
func actingBecause(key string, claims []claim) string {
	if domain := policy.KubernetesDomain(key); domain != "" {
		return "keys under " + domain + " make Kubernetes act"
	}
	var by []string
	for _, c := range claims {
		if c.adapter == nil {
			continue
		}
		if means := c.adapter.AnnotationMeans(key); means != 0 {
			by = append(by, fmt.Sprintf("%s (%s)", c.adapter.Name(), strings.Join(means.Names(), ", ")))
		}
	}
	if len(by) == 0 {
		return ""
	}
	slices.Sort(by)
	return "it is a change by the adapters " + few(by)
}

// pathOfField returns the path of a field given as text.
func pathOfField(text string) *field.Path {
	first, rest, more := strings.Cut(text, ".")
	if !more {
		return field.NewPath(first)
	}
	return field.NewPath(first, strings.Split(rest, ".")...)
}
