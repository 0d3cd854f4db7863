package evaluate

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Resource is the resource that callers need the right to create. Objects of it are never stored.
const Resource = "freezereviews"

// authorize returns an error if the caller has no right to ask about objects in the target's namespace.
func (a *api) authorize(ctx context.Context, caller *authenticationv1.UserInfo, target Target) error {
	in := ""
	if target.Namespace != "" {
		in = " in namespace " + target.Namespace
	}
	return a.callers.Need(ctx, caller, authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: Resource, Verb: "create",
		Namespace: target.Namespace,
	}, "create "+Resource+"."+v1alpha1.GroupVersion.Group+in)
}

// subject returns the author of the change: the caller, or a user that the caller may impersonate.
func (a *api) subject(ctx context.Context, caller *authenticationv1.UserInfo, s *Spec) (User, error) {
	if s.User == "" || s.User == caller.Username && s.Groups == nil {
		return User{Name: caller.Username, Groups: caller.Groups}, nil
	}
	if s.User != caller.Username {
		attributes := authorizationv1.ResourceAttributes{Resource: "users", Name: s.User}
		if namespace, name, ok := ServiceAccount(s.User); ok {
			attributes = authorizationv1.ResourceAttributes{Resource: "serviceaccounts", Namespace: namespace, Name: name}
		}
		if err := a.needImpersonate(ctx, caller, attributes); err != nil {
			return User{}, err
		}
	}
	groups := slices.Clone(s.Groups)
	for _, group := range groups {
		if slices.Contains(caller.Groups, group) && s.User == caller.Username {
			continue
		}
		if err := a.needImpersonate(ctx, caller, authorizationv1.ResourceAttributes{Resource: "groups", Name: group}); err != nil {
			return User{}, err
		}
	}
	return Impersonated(s.User, groups...), nil
}

func (a *api) needImpersonate(ctx context.Context, caller *authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) error {
	what.Verb, what.Version = "impersonate", "v1"
	return a.callers.Need(ctx, caller, what, fmt.Sprintf("impersonate %s %q", what.Resource, what.Name))
}
