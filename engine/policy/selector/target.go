// Package selector decides which objects a policy selects. It compiles the target section of a policy once and then
// matches an object without allocating: by kind, namespace, name, labels and annotations. A policy never reaches into a
// foreign namespace.
package selector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Scope has the facts about the cluster used by selections besides the object.
type Scope struct {
	// Protected are the namespaces reached only by selectors naming them: those of Kubernetes and Flyball's own.
	Protected sets.Set[string]
	// ClusterScoped reports whether a kind is cluster-scoped; nil: no kind is.
	ClusterScoped func(schema.GroupKind) bool
}

// IsClusterScoped reports whether a kind is known to be cluster-scoped.
func (s Scope) IsClusterScoped(gk schema.GroupKind) bool {
	return s.ClusterScoped != nil && s.ClusterScoped(gk)
}

// Selector is a compiled target section.
type Selector struct {
	scope Scope
	// namespace is the only namespace of a namespaced policy.
	namespace string
	kinds     []schema.GroupKind // sorted; a slice, because a set of so few takes far more memory
	names     names
	notNames  names
	labels    labels.Selector
	exclude   labels.Selector
	annotated []annotation
	listed    names
	byLabels  labels.Selector
	excluded  names
	// parts narrow the selection to the objects that belong to one of the parts; empty: the selection is not narrowed.
	// partsName is the field of the policy with the parts.
	parts     []*Selector
	partsName string
	nothing   bool
}

var nothing = &Selector{nothing: true}

// Nothing returns a Selector that selects no object.
func Nothing() *Selector { return nothing }

// Namespaced compiles the target of a namespaced policy. Without exclude, objects with the label flyball.dev/exclude=true
// are excluded. An empty exclude excludes nothing.
func Namespaced(spec v1alpha1.TargetSelector, namespace string, scope Scope, at *field.Path) (*Selector, field.ErrorList) {
	s, errs := compile(spec, scope, at)
	s.namespace = namespace
	return s, errs
}

// Cluster compiles the target of a cluster-scoped policy. The default of exclude is the same as in Namespaced. The target
// must select namespaces explicitly, unless every listed kind is cluster-scoped.
func Cluster(spec v1alpha1.ClusterTargetSelector, scope Scope, at *field.Path) (*Selector, field.ErrorList) {
	s, errs := inNamespaces(spec, scope, at)
	if len(spec.Namespaces) == 0 && spec.NamespaceSelector == nil && !s.onlyClusterScoped() {
		errs = append(errs, field.Required(at.Child("namespaces"),
			"name namespaces or give a namespaceSelector ({} is every namespace); only a policy whose kinds are all cluster-scoped needs neither"))
	}
	return s, errs
}

func inNamespaces(spec v1alpha1.ClusterTargetSelector, scope Scope, at *field.Path) (*Selector, field.ErrorList) {
	s, errs := compile(spec.TargetSelector, scope, at)
	s.listed, errs = listed(spec.Namespaces, false, at.Child("namespaces"), errs)
	s.excluded, errs = listed(spec.ExcludeNamespaces, true, at.Child("excludeNamespaces"), errs)
	if spec.NamespaceSelector != nil {
		var err error
		if s.byLabels, err = metav1.LabelSelectorAsSelector(spec.NamespaceSelector); err != nil {
			errs = append(errs, field.Invalid(at.Child("namespaceSelector"), spec.NamespaceSelector, err.Error()))
		}
	}
	return s, errs
}

func compile(spec v1alpha1.TargetSelector, scope Scope, at *field.Path) (*Selector, field.ErrorList) {
	s := &Selector{scope: scope}
	var errs field.ErrorList
	s.annotated, errs = annotationsOf(spec, at)
	s.names, errs = listed(spec.Names, false, at.Child("names"), errs)
	s.notNames, errs = listed(spec.ExcludeNames, true, at.Child("excludeNames"), errs)
	for i, k := range spec.Kinds {
		gk := k.GroupKind()
		if slices.Contains(s.kinds, gk) {
			errs = append(errs, field.Duplicate(at.Child("kinds").Index(i), gk.String()))
		}
		s.kinds = append(s.kinds, gk)
	}
	slices.SortFunc(s.kinds, func(a, b schema.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	s.kinds = slices.Compact(s.kinds)
	s.labels, errs = selector(spec.Selector, at.Child("selector"), errs)
	if s.exclude = excluded; spec.Exclude != nil {
		s.exclude, errs = selector(spec.Exclude, at.Child("exclude"), errs)
		if s.exclude != nil && sameLabels(s.exclude, excluded) {
			s.exclude = excluded
		}
	}
	return s, errs
}

// excluded is the default of exclude. All policies with it share it, because a copy in each would take memory.
var excluded = labels.SelectorFromSet(labels.Set{v1alpha1.LabelExclude: "true"})

func listed(list []string, excluded bool, at *field.Path, errs field.ErrorList) (names, field.ErrorList) {
	n, es := namesOf(list, excluded, at)
	return n, append(errs, es...)
}

func selector(spec *metav1.LabelSelector, at *field.Path, errs field.ErrorList) (labels.Selector, field.ErrorList) {
	if spec == nil || len(spec.MatchLabels)+len(spec.MatchExpressions) == 0 {
		return nil, errs
	}
	s, err := metav1.LabelSelectorAsSelector(spec)
	if err != nil {
		return nil, append(errs, field.Invalid(at, metav1.FormatLabelSelector(spec), err.Error()))
	}
	return s, errs
}

func (s *Selector) onlyClusterScoped() bool {
	return len(s.kinds) > 0 && !slices.ContainsFunc(s.kinds, func(gk schema.GroupKind) bool { return !s.scope.IsClusterScoped(gk) })
}

// Kinds returns the kinds named by the policy, sorted; empty: every adapted kind with a needed capability.
func (s *Selector) Kinds() []schema.GroupKind {
	return slices.Clone(s.kinds)
}

// MatchesKind reports whether objects of a kind can be selected.
func (s *Selector) MatchesKind(gk schema.GroupKind) bool {
	return !s.nothing && (len(s.kinds) == 0 || slices.Contains(s.kinds, gk))
}

// ListsKind reports whether the policy names the kind itself.
func (s *Selector) ListsKind(gk schema.GroupKind) bool { return slices.Contains(s.kinds, gk) }

// ListsObject reports whether the policy lists the kind and the exact name of an object.
func (s *Selector) ListsObject(gk schema.GroupKind, name string) bool {
	return s.ListsKind(gk) && s.names.exact.Has(name)
}

// AnnotationKeys returns the annotations used by matching, each once.
func (s *Selector) AnnotationKeys() []string {
	var keys []string
	for i := range s.annotated {
		if key := s.annotated[i].key; !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Namespaces returns the namespaces that the policy names. others is true if the policy can also reach other namespaces,
// by labels or by globs.
func (s *Selector) Namespaces() (named []string, others bool) {
	if s.namespace != "" {
		return []string{s.namespace}, false
	}
	return sets.List(s.listed.exact), s.byLabels != nil || len(s.listed.globs) > 0
}

// ByNamespaceLabels reports whether the policy selects namespaces by their labels.
func (s *Selector) ByNamespaceLabels() bool {
	return s.byLabels != nil || slices.ContainsFunc(s.parts, (*Selector).ByNamespaceLabels)
}

// LosesNamespace reports whether the policy, or one of its parts, reaches a namespace by its old labels and not by its new
// ones.
func (s *Selector) LosesNamespace(namespace string, old, relabelled workload.Pairs) bool {
	return s.MatchesNamespace(namespace, old) && (!s.MatchesNamespace(namespace, relabelled) ||
		slices.ContainsFunc(s.parts, func(part *Selector) bool {
			return part.picksNamespace(namespace, old) && !part.picksNamespace(namespace, relabelled)
		}))
}

// MayReach reports whether the policy reaches a namespace if the namespace has suitable labels.
func (s *Selector) MayReach(namespace string) bool {
	if s.nothing || s.namespace != "" || s.excluded.has(namespace) {
		return !s.nothing && s.namespace == namespace
	}
	return s.byLabels != nil && !s.scope.Protected.Has(namespace) || s.lists(namespace)
}

// MatchesNamespace reports whether the policy reaches a namespace; nsLabels are the namespace's labels.
func (s *Selector) MatchesNamespace(namespace string, nsLabels workload.Pairs) bool {
	switch {
	case s.nothing:
		return false
	case s.namespace != "":
		return namespace == s.namespace
	case s.excluded.has(namespace):
		return false
	case s.lists(namespace):
		return true
	case s.byLabels == nil || s.scope.Protected.Has(namespace):
		return false
	default:
		return s.byLabels.Matches(nsLabels)
	}
}

// lists reports whether a namespace is in the list of namespaces or matches a glob in it. A protected namespace must be in
// the list itself.
func (s *Selector) lists(namespace string) bool {
	return s.listed.exact.Has(namespace) || len(s.listed.globs) > 0 && !s.scope.Protected.Has(namespace) && s.listed.has(namespace)
}

// Matches reports whether the policy selects an object of a kind. nsLabels are the labels of the object's namespace.
func (s *Selector) Matches(gk schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) bool {
	if !s.MatchesKind(gk) {
		return false
	}
	if obj.Namespace == "" {
		// Cluster-scoped objects are selected only by cluster policies that list their kind.
		if s.namespace != "" || !s.ListsKind(gk) {
			return false
		}
	} else if !s.MatchesNamespace(obj.Namespace, nsLabels) {
		return false
	}
	return s.matchesObject(obj) && s.anyPicks(gk, obj, nsLabels)
}

// matchesObject reports whether the terms about the object itself hold.
func (s *Selector) matchesObject(obj *workload.Object) bool {
	if s.names.len() > 0 && !s.names.has(obj.Name) || s.notNames.has(obj.Name) {
		return false
	}
	if s.labels != nil && !s.labels.Matches(&obj.Labels) { // the pointer needs no allocation
		return false
	}
	if s.exclude != nil && s.exclude.Matches(&obj.Labels) {
		return false
	}
	for i := range s.annotated {
		if !s.annotated[i].matches(obj.Annotations) {
			return false
		}
	}
	return true
}

// String returns the selection for traces.
func (s *Selector) String() string {
	switch {
	case s.nothing:
		return "nothing"
	case s.namespace != "":
		return fmt.Sprintf("namespace %s", s.namespace)
	default:
		return fmt.Sprintf("namespaces %v, by labels: %t", s.listed.list(), s.byLabels != nil)
	}
}
