package selector

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// maxAnnotations is the maximum number of annotations that a policy reads. Each of their values is kept in memory for
// every object.
const maxAnnotations = 16

// annotation is one requirement on an object's annotations. The type labels.Selector does not fit, because the value of an
// annotation may be any text.
type annotation struct {
	// term is the field of the target section.
	term   string
	key    string
	op     metav1.LabelSelectorOperator
	values []string
}

// annotationsOf compiles the fields annotations and annotationSelector.
func annotationsOf(spec v1alpha1.TargetSelector, at *field.Path) (all []annotation, errs field.ErrorList) {
	exact := func(term string, want map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			all = append(all, annotation{term, key, metav1.LabelSelectorOpIn, []string{want[key]}})
		}
	}
	exact("annotations", spec.Annotations)
	if by := spec.AnnotationSelector; by != nil {
		const term = "annotationSelector"
		exact(term, by.MatchLabels)
		for i, e := range by.MatchExpressions {
			all = append(all, annotation{term, e.Key, e.Operator, e.Values})
			errs = append(errs, expressionErrors(e, at.Child(term, "matchExpressions").Index(i))...)
		}
	}
	keys := map[string]bool{}
	for _, a := range all {
		keys[a.key] = true
		for _, why := range validation.IsQualifiedName(strings.ToLower(a.key)) {
			if a.term != "annotations" { // the field annotations has always accepted any key
				errs = append(errs, field.Invalid(at.Child(a.term), a.key, "is no key of an annotation: "+why))
			}
		}
	}
	if len(keys) > maxAnnotations {
		errs = append(errs, field.TooMany(at.Child("annotationSelector"), len(keys), maxAnnotations))
	}
	return all, errs
}

func expressionErrors(e metav1.LabelSelectorRequirement, at *field.Path) field.ErrorList {
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			return field.ErrorList{field.Required(at.Child("values"),
				fmt.Sprintf("%s compares with values: list at least one, or write Exists or DoesNotExist", e.Operator))}
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			return field.ErrorList{field.Forbidden(at.Child("values"),
				fmt.Sprintf("%s compares with no values: leave them out, or write In or NotIn", e.Operator))}
		}
	default:
		return field.ErrorList{field.NotSupported(at.Child("operator"), e.Operator, []metav1.LabelSelectorOperator{
			metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist})}
	}
	return nil
}

func (a *annotation) matches(have workload.Pairs) bool {
	value, ok := have.Lookup(a.key)
	switch a.op {
	case metav1.LabelSelectorOpIn:
		return ok && slices.Contains(a.values, value)
	case metav1.LabelSelectorOpNotIn:
		return !ok || !slices.Contains(a.values, value)
	case metav1.LabelSelectorOpExists:
		return ok
	}
	return !ok
}

// String returns the requirement in the form of a label selector.
func (a *annotation) String() string {
	switch a.op {
	case metav1.LabelSelectorOpIn:
		if len(a.values) == 1 {
			return a.key + "=" + a.values[0]
		}
		return a.key + " in (" + strings.Join(a.values, ",") + ")"
	case metav1.LabelSelectorOpNotIn:
		return a.key + " notin (" + strings.Join(a.values, ",") + ")"
	case metav1.LabelSelectorOpExists:
		return a.key
	}
	return "!" + a.key
}

// mismatch returns the reason why annotations do not meet the requirement.
func (a *annotation) mismatch(have workload.Pairs) string {
	value, ok := have.Lookup(a.key)
	switch {
	case !ok:
		return "there is no annotation " + a.key
	case a.op == metav1.LabelSelectorOpDoesNotExist:
		return "there is an annotation " + a.key
	case a.op == metav1.LabelSelectorOpNotIn:
		return fmt.Sprintf("%s is %q", a.key, value)
	case len(a.values) == 1:
		return fmt.Sprintf("%s is %q, not %q", a.key, value, a.values[0])
	}
	return fmt.Sprintf("%s is %q, not among %q", a.key, value, a.values)
}

// unmetAnnotations returns the requirements that annotations do not meet. term is the field of the requirements; empty:
// all fields.
func (s *Selector) unmetAnnotations(term string, have workload.Pairs) (unmet []*annotation) {
	for i := range s.annotated {
		if a := &s.annotated[i]; (term == "" || a.term == term) && !a.matches(have) {
			unmet = append(unmet, a)
		}
	}
	return unmet
}

// annotationText returns the requirements of a field as text; empty: the field has no requirements.
func (s *Selector) annotationText(term string) string {
	var texts []string
	for i := range s.annotated {
		if a := &s.annotated[i]; a.term == term {
			texts = append(texts, a.String())
		}
	}
	return strings.Join(texts, ",")
}
