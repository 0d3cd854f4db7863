package source

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// unmet is a broken rule of a CRD. at is the field with the rule, and message is the text of the rule.
type unmet struct{ at, message string }

// unmetRules returns the rules that a value breaks. The rules are in allOf of the schema, each with its message.
func unmetRules(value any, s *spec.Schema, at string) (all []unmet) {
	for i := range s.AllOf {
		rule := &s.AllOf[i]
		if fulfils(value, rule) {
			continue
		}
		u := unmet{at, rule.Description}
		if text, ok := value.(string); ok {
			u.message += ", and not " + text
		}
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if property, ok := s.Properties[name]; ok {
				all = append(all, unmetRules(v[name], &property, strings.TrimPrefix(at+"."+name, "."))...)
			} else if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
				all = append(all, unmetRules(v[name], s.AdditionalProperties.Schema, at+"."+name)...)
			}
		}
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for i := range v {
				all = append(all, unmetRules(v[i], s.Items.Schema, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	}
	return all
}

// fulfils reports whether a value fulfils a rule about the fields of an object, or about the form of a text.
func fulfils(value any, rule *spec.Schema) bool {
	switch v := value.(type) {
	case map[string]any:
		lacks := func(name string) bool { _, ok := v[name]; return !ok }
		return len(rule.AnyOf) == 0 || slices.ContainsFunc(rule.AnyOf, func(choice spec.Schema) bool {
			if choice.Not != nil {
				return slices.ContainsFunc(choice.Not.Required, lacks)
			}
			return !slices.ContainsFunc(choice.Required, lacks)
		})
	case string:
		return rule.Pattern == "" || pattern(rule.Pattern).MatchString(v)
	}
	return true
}

var patterns sync.Map // values are *regexp.Regexp

func pattern(text string) *regexp.Regexp {
	if known, ok := patterns.Load(text); ok {
		return known.(*regexp.Regexp)
	}
	re := regexp.MustCompile(text)
	patterns.Store(text, re)
	return re
}

// withoutRules returns a schema from which allOf is removed everywhere.
func withoutRules(s spec.Schema) spec.Schema {
	s.AllOf = nil
	if s.Properties != nil {
		s.Properties = maps.Clone(s.Properties)
		for name, property := range s.Properties {
			s.Properties[name] = withoutRules(property)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		inner := withoutRules(*s.Items.Schema)
		s.Items = &spec.SchemaOrArray{Schema: &inner}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		inner := withoutRules(*s.AdditionalProperties.Schema)
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: s.AdditionalProperties.Allows, Schema: &inner}
	}
	return s
}

// wording returns the field of a fault, and the message that an API server would give for the fault.
func wording(err error, kind string) (at, message string) {
	message = err.Error()
	v, ok := err.(*openapierrors.Validation) //nolint:errorlint // the library gives it so
	if !ok {
		return "", strings.TrimPrefix(message, ".")
	}
	at = strings.TrimPrefix(v.Name, ".")
	if v.Code() == openapierrors.EnumFailCode {
		var allowed []string
		for _, one := range v.Values {
			allowed = append(allowed, fmt.Sprintf("%q", fmt.Sprint(one)))
		}
		return at, fmt.Sprintf("%s: Unsupported value: %q: supported values: %s", at, fmt.Sprint(v.Value), strings.Join(allowed, ", "))
	}
	if word, _, _ := strings.Cut(strings.TrimPrefix(message, "."), " "); strings.HasPrefix(word, at) {
		at = word // the library names the parent, and at becomes the field itself
	}
	message = strings.TrimSuffix(strings.Replace(message, " in body", "", 1), ".")
	if v.Code() == openapierrors.InvalidTypeCode && strings.Contains(message, "must be of type string") {
		message += ": put it in quotes" // ON and NO without quotes are truth values in YAML, and 67 is a number
	}
	return at, strings.Replace(strings.TrimPrefix(message, "."), "is a forbidden property", "is no field of "+kind, 1)
}
