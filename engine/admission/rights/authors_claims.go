package rights

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
)

// claim is one right on a kind.
type claim struct {
	verb  string
	kind  schema.GroupKind
	field string
	// resource is the served resource. It is empty if no adapter names it.
	resource schema.GroupResource
	adapter  *adapter.Adapter
	// selected is true if the right is needed on the objects that the policy selects. named is true if the policy names
	// the kind. A kind that is not named counts only if it is served.
	selected, named bool
	// namespace is the namespace in which the right is used. Empty means all namespaces.
	namespace string
	// scale means that the right on /scale is sufficient too. use means that the right to use the adapter is sufficient
	// too.
	scale, use bool
}

// onPast returns the rights that also apply to the previous selection.
func onPast(rights []policy.Right) []policy.Right {
	return slices.DeleteFunc(slices.Clone(rights), func(r policy.Right) bool { return !r.Past })
}

// addClaims adds the rights on each affected kind to a list. If the policy names no kinds, all kinds whose adapters
// have a needed capability are affected; if the policy cannot be compiled, all adapted kinds are.
func (a *Authors) addClaims(all []claim, p *policy.Policy, rights []policy.Right) []claim {
	adapters, resources := map[schema.GroupKind]*adapter.Adapter{}, map[schema.GroupKind]schema.GroupResource{}
	a.Adapted.EachAdapter(func(resource schema.GroupResource, by *adapter.Adapter) bool {
		adapters[by.GroupKind()], resources[by.GroupKind()] = by, resource
		return true
	})
	add := func(r policy.Right, kind schema.GroupKind, named bool) {
		c := claim{
			verb: r.Verb, kind: kind, field: r.Field, resource: resources[kind], adapter: adapters[kind],
			selected: r.OnSelected(), named: named, namespace: p.ID.Namespace,
		}
		// The right to use an adapter is not sufficient for templates and annotations, because the author of the policy
		// writes their content. It is not sufficient for requests either: a permission to put objects to sleep is not a
		// permission to restart them with lower requests.
		if c.adapter != nil && c.selected && len(r.Annotations) == 0 && !setsAmounts(p.Needs) {
			c.use, c.scale = true, c.adapter.OnlyScales(p.Needs)
		}
		all = addClaim(all, c)
	}
	for _, r := range rights {
		switch named := p.Target.Kinds(); {
		case r.Owners:
			for kind, by := range adapters {
				if by.CanOwn() {
					add(r, kind, false)
				}
			}
		case r.Autoscalers:
			for kind, by := range adapters {
				if by.CanGovern() && !a.Context.Scope.IsClusterScoped(kind) {
					add(r, kind, false)
				}
			}
		case !r.OnSelected():
			add(r, r.Kind, true)
		case len(named) > 0:
			for _, kind := range named {
				if p.ID.Namespace == "" || !a.Context.Scope.IsClusterScoped(kind) {
					add(r, kind, true)
				}
			}
		default:
			for kind, by := range adapters {
				if p.IsBroken() || p.Target.MatchesKind(kind) && canAny(by, p.Needs) && !a.Context.Scope.IsClusterScoped(kind) {
					add(r, kind, false)
				}
			}
		}
	}
	return all
}

// addClaim adds a claim to a list. Of two claims on the same kind and verb, the stricter one is kept, so every
// accepted right satisfies both.
func addClaim(all []claim, c claim) []claim {
	same := slices.IndexFunc(all, func(o claim) bool { return o.verb == c.verb && o.kind == c.kind })
	if same < 0 {
		return append(all, c)
	}
	scale, use, named := all[same].scale && c.scale, all[same].use && c.use, all[same].named || c.named
	if all[same].use && !c.use {
		all[same] = c // a refusal names the field of the stricter claim
	}
	all[same].scale, all[same].use, all[same].named = scale, use, named
	return all
}

// setsAmounts reports whether a policy sets requests or target utilisations.
func setsAmounts(needs []v1alpha1.Capability) bool {
	return slices.Contains(needs, v1alpha1.CapabilityResources) || slices.Contains(needs, v1alpha1.CapabilityUtilisation)
}

func canAny(by *adapter.Adapter, needs []v1alpha1.Capability) bool {
	return len(needs) == 0 || slices.ContainsFunc(needs, by.Can)
}

// attributes returns the rights of which the author of the policy needs one. If the resource of the kind is unknown, the
// resource is *: all resources of the group.
func (c *claim) attributes() []authorizationv1.ResourceAttributes {
	whole := authorizationv1.ResourceAttributes{Verb: c.verb, Group: c.resource.Group, Resource: c.resource.Resource, Namespace: c.namespace}
	if whole.Resource == "" {
		whole.Resource = "*"
	}
	all := []authorizationv1.ResourceAttributes{whole}
	if c.scale {
		scale := whole
		scale.Subresource = "scale"
		all = append(all, scale)
	}
	if c.use {
		all = append(all, authorizationv1.ResourceAttributes{
			Verb: VerbUse, Group: v1alpha1.GroupVersion.Group, Resource: "adapters", Name: c.adapter.Name(), Namespace: c.namespace,
		})
	}
	return all
}

// text returns the kind of a claim for messages.
func (c *claim) text() string {
	if c.resource.Resource == "" {
		return c.kind.String() + " (neither served nor adapted yet)"
	}
	return c.resource.String()
}
