package selector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Part compiles a selection among the objects of a policy, by kinds, names and labels.
func Part(kinds []v1alpha1.KindRef, names []string, selector *metav1.LabelSelector, at *field.Path) (*Selector, field.ErrorList) {
	spec := v1alpha1.TargetSelector{Kinds: kinds, Names: names, Selector: selector, Exclude: &metav1.LabelSelector{}}
	return compile(spec, Scope{}, at)
}

// Picks reports whether a part has an object, wherever the object is.
func (s *Selector) Picks(gk schema.GroupKind, obj *workload.Object) bool {
	return s.MatchesKind(gk) && (s.names.len() == 0 || s.names.has(obj.Name)) && (s.labels == nil || s.labels.Matches(obj.Labels))
}
