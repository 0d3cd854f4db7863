package selector

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/engine/workload"
)

// Inventory is the objects to select from.
type Inventory interface {
	// Adapted returns the kinds with an adapter.
	Adapted() []schema.GroupKind
	// Namespaces yields every namespace with its labels.
	Namespaces(yield func(name string, labels workload.Pairs) bool)
	// Objects yields the objects of a kind in a namespace. For a cluster-scoped kind, the empty name yields all
	// of them.
	Objects(gk schema.GroupKind, namespace string, yield func(*workload.Object) bool)
}

// Reasons why a term of a selection matches nothing.
const (
	NoAdapter          = "NoAdapter"
	KindUnknown        = "KindUnknown"
	KindClusterScoped  = "KindClusterScoped"
	SuspendUnknown     = "SuspendUnknown"
	NamespaceUnknown   = "NamespaceUnknown"
	NamespacesUnlike   = "NamespacesUnlike"
	NameUnknown        = "NameUnknown"
	LabelsUnlike       = "LabelsUnlike"
	AnnotationsUnlike  = "AnnotationsUnlike"
	EverythingExcluded = "EverythingExcluded"
	NoObjects          = "NoObjects"
)

// Unmatched is a term of a selection that matches nothing.
type Unmatched struct {
	// Reason is one of the constants above.
	Reason string
	// Message names the term and the probably intended name.
	Message string
}

// UnknownTerms returns the unknown kinds and namespaces of the selection, and kinds that it cannot select.
func (s *Selector) UnknownTerms(c Inventory) []Unmatched {
	if s.nothing {
		return nil
	}
	adapted := c.Adapted()
	if len(adapted) == 0 {
		return []Unmatched{{NoAdapter, "there is no adapter, so no object of any kind is selected"}}
	}
	return append(s.unknownKinds(adapted, "kinds"), s.unknownNamespaces(c)...)
}

// UnknownSuspends returns the unknown kinds, and kinds that cannot be selected, of a selection that a freeze puts to sleep.
func (s *Selector) UnknownSuspends(c Inventory) []Unmatched {
	adapted := c.Adapted()
	if len(adapted) == 0 {
		return nil
	}
	all := s.unknownKinds(adapted, "suspend")
	for i := range all {
		all[i].Reason = SuspendUnknown
	}
	return all
}

// unknownKinds returns the listed kinds without an adapter, and kinds that the policy cannot select.
func (s *Selector) unknownKinds(adapted []schema.GroupKind, term string) (all []Unmatched) {
	for _, gk := range s.kinds {
		switch {
		case s.namespace != "" && s.scope.IsClusterScoped(gk):
			all = append(all, Unmatched{KindClusterScoped,
				fmt.Sprintf("%s: %s lives outside namespaces; only a policy outside namespaces selects it", term, gk)})
		case !slices.Contains(adapted, gk):
			all = append(all, Unmatched{KindUnknown, fmt.Sprintf("%s: there is no adapter for %s%s", term, gk,
				meant(gk.String(), kindNames(adapted)))})
		}
	}
	return all
}

func (s *Selector) unknownNamespaces(c Inventory) (all []Unmatched) {
	if s.namespace != "" || s.listed.len() == 0 && s.byLabels == nil {
		return nil
	}
	var names []string
	alike := false
	c.Namespaces(func(name string, have workload.Pairs) bool {
		names = append(names, name)
		alike = alike || !s.listed.has(name) && s.MatchesNamespace(name, have)
		return true
	})
	for _, name := range sets.List(s.listed.exact) {
		if !slices.Contains(names, name) {
			all = append(all, Unmatched{NamespaceUnknown, fmt.Sprintf("namespaces: there is no namespace %s%s", name, meant(name, names))})
		}
	}
	for _, glob := range s.listed.globs {
		called := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !globMatches(glob, name) })
		switch {
		case len(called) == 0:
			all = append(all, Unmatched{NamespaceUnknown, fmt.Sprintf("namespaces: no namespace is called %s%s", glob, regular(glob))})
		case s.scope.Protected.HasAll(called...):
			all = append(all, Unmatched{NamespaceUnknown,
				fmt.Sprintf("namespaces: %s matches only %s, which a policy reaches by the whole name and not by a glob",
					glob, strings.Join(called, ", "))})
		}
	}
	if s.byLabels != nil && !alike && s.listed.len() == 0 {
		all = append(all, Unmatched{NamespacesUnlike, fmt.Sprintf("namespaceSelector: no namespace has %s", s.byLabels)})
	}
	return all
}

// NamesListed returns the number of object names and globs in the selection.
func (s *Selector) NamesListed() int { return s.names.len() }

// ListsName reports whether the selection lists a name, or a glob that matches the name.
func (s *Selector) ListsName(name string) bool { return s.names.has(name) }

// UnknownNames returns the listed names and globs that no reachable object has.
func (s *Selector) UnknownNames(c Inventory) (all []Unmatched) {
	if s.names.len() == 0 {
		return nil
	}
	missing, globs := s.names.exact.Clone(), slices.Clone(s.names.globs)
	s.eachInReach(c, func(obj *workload.Object) {
		missing.Delete(obj.Name)
		globs = slices.DeleteFunc(globs, func(glob string) bool { return globMatches(glob, obj.Name) })
	})
	for _, glob := range globs {
		all = append(all, Unmatched{NameUnknown, fmt.Sprintf("names: no object is called %s%s", glob, regular(glob))})
	}
	if missing.Len() == 0 {
		return all
	}
	there := sets.New[string]()
	s.eachInReach(c, func(obj *workload.Object) { there.Insert(obj.Name) })
	for _, name := range sets.List(missing) {
		all = append(all, Unmatched{NameUnknown, fmt.Sprintf("names: there is no object %s%s", name, meant(name, there.UnsortedList()))})
	}
	return all
}

// MatchesNothing reports whether no term of some field matches anything, so that the selection is empty.
func (s *Selector) MatchesNothing(unmatched []Unmatched) bool {
	count := map[string]int{}
	for _, u := range unmatched {
		count[u.Reason]++
	}
	all := func(n, listed int) bool { return listed > 0 && n == listed }
	return count[NoAdapter]+count[NamespacesUnlike] > 0 ||
		all(count[KindUnknown]+count[KindClusterScoped], len(s.kinds)) || all(count[NameUnknown], s.names.len()) ||
		s.byLabels == nil && all(count[NamespaceUnknown], s.listed.len())
}

// EmptyTerm returns the term that makes the selection empty although its kinds, namespaces and names exist.
func (s *Selector) EmptyTerm(c Inventory) Unmatched {
	annotated := func(term string) func(*workload.Object) bool {
		return func(obj *workload.Object) bool { return len(s.unmetAnnotations(term, obj.Annotations)) == 0 }
	}
	// The order of the terms is the order in which an object has to pass them.
	terms := []struct {
		Unmatched
		passes func(*workload.Object) bool
	}{
		{Unmatched{NoObjects, "there is no object of the kinds and namespaces selected"},
			func(obj *workload.Object) bool { return s.names.len() == 0 || s.names.has(obj.Name) }},
		{Unmatched{EverythingExcluded, "excludeNames: every object is called " + strings.Join(s.notNames.list(), " or ")},
			func(obj *workload.Object) bool { return !s.notNames.has(obj.Name) }},
		{Unmatched{LabelsUnlike, fmt.Sprintf("selector: no object has %s", s.labels)},
			func(obj *workload.Object) bool { return s.labels == nil || s.labels.Matches(obj.Labels) }},
		{Unmatched{AnnotationsUnlike, "annotations: no object has " + s.annotationText("annotations")}, annotated("annotations")},
		{Unmatched{AnnotationsUnlike, "annotationSelector: no object has " + s.annotationText("annotationSelector")},
			annotated("annotationSelector")},
	}
	passed := 0
	s.eachInReach(c, func(obj *workload.Object) {
		for i, term := range terms {
			if !term.passes(obj) {
				return
			}
			passed = max(passed, i+1)
		}
	})
	switch {
	case passed < len(terms):
		return terms[passed].Unmatched
	case s.exclude != nil:
		return Unmatched{EverythingExcluded, fmt.Sprintf("exclude: every object has %s, or is controlled by another target", s.exclude)}
	}
	return Unmatched{NoObjects, "every object is controlled by another target"}
}

// eachInReach yields the objects of the selected kinds and namespaces.
func (s *Selector) eachInReach(c Inventory, yield func(*workload.Object)) {
	kinds := s.kinds
	if len(kinds) == 0 {
		kinds = c.Adapted()
	}
	each := func(obj *workload.Object) bool { yield(obj); return true }
	for _, gk := range kinds {
		switch {
		case s.scope.IsClusterScoped(gk):
			if s.namespace == "" && s.ListsKind(gk) {
				c.Objects(gk, "", each)
			}
		case s.namespace != "":
			c.Objects(gk, s.namespace, each)
		default:
			c.Namespaces(func(name string, have workload.Pairs) bool {
				if s.MatchesNamespace(name, have) {
					c.Objects(gk, name, each)
				}
				return true
			})
		}
	}
}

// regular returns a hint for a glob that is written as a regular expression; empty: the glob is not.
func regular(glob string) string {
	if !strings.Contains(glob, ".*") {
		return ""
	}
	return "; * alone stands for any text: did you mean " + strings.ReplaceAll(glob, ".*", "*") + "?"
}

// meant returns a suggestion with the nearest candidate; empty: no candidate is near.
func meant(name string, candidates []string) string {
	if near := workload.Nearest(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
