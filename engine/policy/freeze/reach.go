package freeze

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// selection is the target section of a namespaced or cluster-scoped policy.
type selection struct {
	spec v1alpha1.ClusterTargetSelector
	// namespace is the namespace of a namespaced policy; empty: the policy is cluster-scoped.
	namespace string
}

func inNamespace(spec v1alpha1.TargetSelector, namespace string) selection {
	s := inCluster(v1alpha1.ClusterTargetSelector{TargetSelector: spec})
	s.namespace = namespace
	return s
}

// inCluster removes the default of exclude. Otherwise a label on an object could exempt it from every freeze.
func inCluster(spec v1alpha1.ClusterTargetSelector) selection {
	if spec.Exclude == nil {
		spec.Exclude = &metav1.LabelSelector{}
	}
	return selection{spec: spec}
}

// byObjectMetadata reports whether the selection depends on an object's labels or annotations.
func (s selection) byObjectMetadata() bool {
	return given(s.spec.Selector) || given(s.spec.Exclude) || given(s.spec.AnnotationSelector) || len(s.spec.Annotations) > 0
}

// given reports whether a selector restricts anything.
func given(l *metav1.LabelSelector) bool {
	return l != nil && len(l.MatchLabels)+len(l.MatchExpressions) > 0
}

func (s selection) compile(scope selector.Scope, at *field.Path) (reach, field.ErrorList) {
	var r reach
	var errs field.ErrorList
	if s.namespace != "" {
		r.selector, errs = selector.Namespaced(s.spec.TargetSelector, s.namespace, scope, at)
	} else {
		r.selector, errs = selector.Cluster(s.spec, scope, at)
	}
	return r, errs
}

// reach is the selector of a policy.
type reach struct{ selector *selector.Selector }

// subject is an object before and after a change, with the label sets of its namespace.
type subject struct{ selector.Query }

// anySelected reports whether the policy selects the object before or after the change, under any of the namespace's label sets.
func (r *reach) anySelected(s *subject) bool {
	for i := range s.Sides {
		if r.selects(s, s.Sides[i]) {
			return true
		}
	}
	return false
}

// isLeftBy reports whether a selection of the rule has the object before the change and not after it.
func (r *Rule) isLeftBy(s *subject) bool {
	return slices.ContainsFunc(r.held, func(h reach) bool { return h.isLeftBy(s) })
}

// isOnlyWokenBy reports whether the change takes the object out of spec.suspend, and not out of the judged objects.
func (r *Rule) isOnlyWokenBy(s *subject) bool {
	return r.isLeftBy(s) && (r.deny == 0 || !r.reach.isLeftBy(s))
}

// isLeftBy reports whether the policy selects the object before the change and not after it.
func (r *reach) isLeftBy(s *subject) bool {
	return len(s.Sides) == 2 && r.selects(s, s.Sides[0]) && !r.selects(s, s.Sides[1])
}

// selects reports whether the policy selects one side of the subject, under any of the namespace's label sets.
func (r *reach) selects(s *subject, side *workload.Object) bool {
	for _, labels := range s.Spaces {
		if r.selector.Matches(s.Kind, side, labels) {
			return true
		}
	}
	return false
}

// allSelected reports whether the policy selects the object both before and after the change, under all of the
// namespace's label sets.
func (r *reach) allSelected(s *subject) bool {
	for i := range s.Sides {
		for _, labels := range s.Spaces {
			if !r.selector.Matches(s.Kind, s.Sides[i], labels) {
				return false
			}
		}
	}
	return true
}
