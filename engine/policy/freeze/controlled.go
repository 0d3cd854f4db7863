package freeze

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

type pair struct{ kind, made schema.GroupKind }

// controlled lists kinds together with the kinds that their controllers generate. An edit of a generated object also
// changes the running pods.
var controlled = []pair{
	{schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}},
	{schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}},
	{schema.GroupKind{Group: "batch", Kind: "CronJob"}, schema.GroupKind{Group: "batch", Kind: "Job"}},
	{schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}},
}

// finishing lists kinds with the kind of the objects that their controllers generate. The controller rolls out by
// scaling the generated objects, and freezes judge this controller.
var finishing = []pair{
	{schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}},
}

// Finishes reports whether the controller of a kind finishes a roll-out by scaling the objects that it has generated.
// made is the kind of the generated objects.
func Finishes(kind, made schema.GroupKind) bool {
	return slices.Contains(finishing, pair{kind, made})
}

// Unjudged returns warnings about generated kinds that the rule does not list although it lists the generating kind. The
// changes of such objects are not judged, because each object is judged by its own kind, regardless of its controller.
func (r *Rule) Unjudged() (warnings []string) {
	for _, c := range controlled {
		if r.reach.selector.MatchesKind(c.kind) && !r.reach.selector.MatchesKind(c.made) {
			warnings = append(warnings, fmt.Sprintf("spec.target.kinds lists %s and not %s: changes of the %ss that a %s controls are not judged",
				c.kind.Kind, c.made.Kind, c.made.Kind, c.kind.Kind))
		}
	}
	return warnings
}
