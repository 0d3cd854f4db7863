package selector

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Mismatch is one term of a selection that an object does not meet.
type Mismatch struct {
	// Term is the field of the target section, such as names or selector; namespace stands for the policy's own
	// namespace.
	Term string `json:"term"`
	// Why describes the difference between the object and the value of the term.
	Why string `json:"why"`
}

// Mismatches returns the terms that an object does not meet, in the order of the target section; none: Matches is true.
// nsLabels are the labels of the object's namespace.
func (s *Selector) Mismatches(gk schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) []Mismatch {
	if s.nothing {
		return []Mismatch{{"target", "the policy selects nothing"}}
	}
	var all []Mismatch
	add := func(term, format string, args ...any) {
		all = append(all, Mismatch{term, fmt.Sprintf(format, args...)})
	}
	if !s.MatchesKind(gk) {
		add("kinds", "%s is not among %s", gk, strings.Join(kindNames(s.kinds), ", "))
	}
	all = append(all, s.placeMismatches(gk, obj, nsLabels)...)
	all = append(all, s.objectMismatches(obj)...)
	if s.MatchesKind(gk) && !s.anyPicks(gk, obj, nsLabels) {
		add(s.partsName, "%s", s.unpicked(gk, obj, nsLabels))
	}
	return all
}

// objectMismatches returns the terms about the object itself that do not hold.
func (s *Selector) objectMismatches(obj *workload.Object) (all []Mismatch) {
	add := func(term, format string, args ...any) {
		all = append(all, Mismatch{term, fmt.Sprintf(format, args...)})
	}
	if s.names.len() > 0 && !s.names.has(obj.Name) {
		add("names", "%s is not among %s", obj.Name, strings.Join(s.names.list(), ", "))
	}
	if s.notNames.has(obj.Name) {
		add("excludeNames", "%s is among %s", obj.Name, strings.Join(s.notNames.list(), ", "))
	}
	if s.labels != nil && !s.labels.Matches(obj.Labels) {
		add("selector", "%s", unmet(s.labels, obj.Labels))
	}
	for _, a := range s.unmetAnnotations("", obj.Annotations) {
		add(a.term, "%s", a.mismatch(obj.Annotations))
	}
	if s.exclude != nil && s.exclude.Matches(obj.Labels) {
		add("exclude", "%s holds", s.exclude)
	}
	return all
}

// placeMismatches returns the reasons why the policy does not reach the object's namespace.
func (s *Selector) placeMismatches(gk schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) []Mismatch {
	at := obj.Namespace
	switch {
	case at == "" && s.namespace != "":
		return []Mismatch{{"namespace", "the object lives outside namespaces, and the policy acts in " + s.namespace}}
	case at == "" && !s.ListsKind(gk):
		return []Mismatch{{"kinds", fmt.Sprintf("%s lives outside namespaces, so the policy has to list it", gk)}}
	case at == "" || s.MatchesNamespace(at, nsLabels):
		return nil
	case s.namespace != "":
		return []Mismatch{{"namespace", fmt.Sprintf("the policy acts in %s, the object is in %s", s.namespace, at)}}
	case s.excluded.exact.Has(at):
		return []Mismatch{{"excludeNamespaces", at + " is listed"}}
	case s.excluded.has(at):
		return []Mismatch{{"excludeNamespaces", fmt.Sprintf("%s is among %s", at, strings.Join(s.excluded.list(), ", "))}}
	case s.byLabels == nil && len(s.listed.list()) == 0:
		return nil // all its kinds live outside namespaces, so its kinds do not match
	case s.byLabels == nil && !s.listed.has(at):
		return []Mismatch{{"namespaces", fmt.Sprintf("%s is not among %s", at, strings.Join(s.listed.list(), ", "))}}
	case s.scope.Protected.Has(at):
		return []Mismatch{{"namespaces", at + " is protected: only a policy that names it reaches it"}}
	}
	return []Mismatch{{"namespaceSelector", fmt.Sprintf("namespace %s: %s", at, unmet(s.byLabels, nsLabels))}}
}

// unmet returns the requirements of a selector that labels do not meet, with the values that the labels have.
func unmet(selector labels.Selector, have workload.Pairs) string {
	requirements, _ := selector.Requirements()
	var texts []string
	for _, r := range requirements {
		if r.Matches(have) {
			continue
		}
		text := fmt.Sprintf("%s does not hold", r.String())
		if v, ok := have.Lookup(r.Key()); ok {
			text += fmt.Sprintf(" (%s is %q)", r.Key(), v)
		} else {
			text += fmt.Sprintf(" (there is no label %s)", r.Key())
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

func kindNames(kinds []schema.GroupKind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.String()
	}
	return names
}
