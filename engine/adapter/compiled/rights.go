package compiled

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// OnlyScales reports whether a policy that needs any of the capabilities writes only counts through /scale on objects
// of the kind, besides the ledger.
func (a *Spec) OnlyScales(needs []v1alpha1.Capability) bool {
	used := slices.DeleteFunc(slices.Clone(needs), func(c v1alpha1.Capability) bool { return !a.Can(c) })
	byPatch := func(c Component) bool { return !c.viaScale }
	return len(used) > 0 && !slices.ContainsFunc(used, func(c v1alpha1.Capability) bool { return c != v1alpha1.CapabilityScale }) &&
		!slices.ContainsFunc(a.Components, byPatch)
}

// AnnotationMeans returns the actions of an annotation in the adapter's place for annotations, by the rules for
// changes.
func (a *Spec) AnnotationMeans(key string) workload.Change {
	return a.Changes.ActionsAt(a.annotations.Append(key).Tokens())
}

// judgedByRights are the groups whose objects the API server, or Flyball, judges by the rights of their author. If
// Flyball wrote such an object, its own rights would count instead of the rights of the policy's author.
var judgedByRights = map[string]string{
	v1alpha1.GroupVersion.Group: "who writes a policy must hold the rights that it takes, and Flyball holds them all",
	"rbac.authorization.k8s.io": "nobody may grant more than they hold, and Flyball holds a lot",
}

// group refuses the groups whose objects Flyball must not write.
func (c *compiler) group(at *field.Path, group string) {
	if why, judged := judgedByRights[group]; judged {
		c.errs = append(c.errs, field.Forbidden(at, "Flyball writes no objects of "+group+": "+why))
	}
}
