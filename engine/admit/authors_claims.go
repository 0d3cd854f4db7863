package admit

import (
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
)

// claim is one right on one kind.
type claim struct {
	verb  string
	kind  schema.GroupKind
	field string
	// resource is what the kind is served as; empty: there is no adapter to say so.
	resource schema.GroupResource
	adapter  *adapter.Adapter
	// selected is true where the objects are those that the policy selects, named where it names the kind. Of kinds that are not named
	// only those count that are served.
	selected, named bool
	// namespace is where the right is used; empty: in all of them.
	namespace string
	// scale and use say that the right on /scale, and that to use the adapter, do as well.
	scale, use bool
}

// onPast are those of the rights that are rights on what was selected before, too.
func onPast(rights []policy.Right) []policy.Right {
	return slices.DeleteFunc(slices.Clone(rights), func(r policy.Right) bool { return !r.Past })
}

// addClaims adds the rights on each kind concerned to a list. Where the policy names no kinds, those are the kinds of all adapters that
// can do what the policy needs; of a policy that cannot be read, the kinds of all adapters.
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
		// What a template or an annotation says is the author's own and not the adapter's. Nor is how much a pod requests: who may put a kind
		// to sleep need not be allowed to restart it with less.
		if c.adapter != nil && c.selected && len(r.Annotations) == 0 && !setsAmounts(p.Needs) {
			c.use, c.scale = true, c.adapter.OnlyScales(p.Needs)
		}
		all = addClaim(all, c)
	}
	for _, r := range rights {
		switch named := p.Target.Kinds(); {
		case r.Governors:
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

// addClaim adds a claim to a list. Of two for the same, what makes one good must make the other good as well.
func addClaim(all []claim, c claim) []claim {
	same := slices.IndexFunc(all, func(o claim) bool { return o.verb == c.verb && o.kind == c.kind })
	if same < 0 {
		return append(all, c)
	}
	scale, use, named := all[same].scale && c.scale, all[same].use && c.use, all[same].named || c.named
	if all[same].use && !c.use {
		all[same] = c // its field is where the stricter one comes from
	}
	all[same].scale, all[same].use, all[same].named = scale, use, named
	return all
}

// setsAmounts says whether a policy sets requests or target utilisations.
func setsAmounts(needs []v1alpha1.Capability) bool {
	return slices.Contains(needs, v1alpha1.CapabilityResources) || slices.Contains(needs, v1alpha1.CapabilityUtilisation)
}

func canAny(by *adapter.Adapter, needs []v1alpha1.Capability) bool {
	return len(needs) == 0 || slices.ContainsFunc(needs, by.Can)
}

// attributes are the rights any of which makes the claim good. Of a kind of which nothing is known only who may do it to all kinds of the
// group is known to hold it.
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

// text names the kind of a claim.
func (c *claim) text() string {
	if c.resource.Resource == "" {
		return c.kind.String() + " (neither served nor adapted yet)"
	}
	return c.resource.String()
}
