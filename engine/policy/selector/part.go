package selector

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Part compiles a selection among the objects of a policy. By default it excludes nothing. A part without namespaces has
// the namespaces of the policy.
func Part(spec v1alpha1.ClusterTargetSelector, scope Scope, at *field.Path) (*Selector, field.ErrorList) {
	if spec.Exclude == nil {
		spec.Exclude = &metav1.LabelSelector{}
	}
	return inNamespaces(spec, scope, at)
}

// Picks reports whether a selector made by Part selects an object that its policy selects. nsLabels are the labels of
// the object's namespace.
func (s *Selector) Picks(gk schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) bool {
	return s.MatchesKind(gk) && s.picksNamespace(obj.Namespace, nsLabels) && s.matchesObject(obj)
}

func (s *Selector) picksNamespace(namespace string, nsLabels workload.Pairs) bool {
	if s.listed.len() == 0 && s.byLabels == nil {
		return !s.excluded.has(namespace)
	}
	return s.MatchesNamespace(namespace, nsLabels)
}

// Within returns the selector of the objects that also belong to one of the parts. name is the field of the policy with
// the parts.
func (s *Selector) Within(name string, parts ...*Selector) *Selector {
	narrowed := *s
	narrowed.partsName, narrowed.parts = name, parts
	return &narrowed
}

// anyPicks reports whether an object belongs to one of the selector's parts. It is true if the selector has no parts.
func (s *Selector) anyPicks(gk schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) bool {
	return len(s.parts) == 0 || slices.ContainsFunc(s.parts, func(part *Selector) bool { return part.Picks(gk, obj, nsLabels) })
}

// unpicked returns the reasons why an object of a selected kind belongs to none of the parts.
func (s *Selector) unpicked(gk schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) string {
	var texts []string
	for _, part := range s.parts {
		if !part.MatchesKind(gk) {
			continue
		}
		fails := part.objectMismatches(obj)
		if !part.picksNamespace(obj.Namespace, nsLabels) {
			fails = append(part.placeMismatches(gk, obj, nsLabels), fails...)
		}
		for _, fail := range fails {
			texts = append(texts, fail.Term+": "+fail.Why)
		}
	}
	return strings.Join(texts, "; ")
}
