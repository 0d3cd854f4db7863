package freeze

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// controlled are kinds, with what their controllers make and follow: who edits that changes what runs.
var controlled = []struct{ kind, made schema.GroupKind }{
	{schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}},
	{schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}},
	{schema.GroupKind{Group: "batch", Kind: "CronJob"}, schema.GroupKind{Group: "batch", Kind: "Job"}},
	{schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}},
}

// Unjudged warns of kinds that the rule does not list, whose objects are made by the controllers of kinds that it lists: an object is
// judged by its own kind, whoever controls it.
func (r *Rule) Unjudged() (warnings []string) {
	for _, c := range controlled {
		if r.reach.selector.MatchesKind(c.kind) && !r.reach.selector.MatchesKind(c.made) {
			warnings = append(warnings, fmt.Sprintf("spec.target.kinds lists %s and not %s: changes of the %ss that a %s controls are not judged", c.kind.Kind, c.made.Kind, c.made.Kind, c.kind.Kind))
		}
	}
	return warnings
}
