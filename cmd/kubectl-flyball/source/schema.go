package source

import (
	"encoding/json"
	"fmt"
	"strings"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/schemas"
)

// admitted checks an object of Flyball's own against its schema, as an API server does, and fills in the defaults. What CRDs say in
// CEL is left to compiling the object.
func admitted(d *document, kind string) (raw []byte, faults []error) {
	text, ok := schemas.Of(kind, v1alpha1.GroupVersion.Version)
	if !ok {
		return nil, []error{fmt.Errorf("there is no schema of %s", kind)}
	}
	var s spec.Schema
	var obj any
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, []error{fmt.Errorf("read the schema of %s: %w", kind, err)}
	}
	if err := json.Unmarshal(d.json, &obj); err != nil {
		return nil, []error{d.fault("", "%v", err)}
	}
	for _, err := range validate.NewSchemaValidator(&s, nil, "", strfmt.Default).Validate(obj).Errors {
		at, message := "", err.Error()
		if v, ok := err.(*openapierrors.Validation); ok { //nolint:errorlint // the library gives it so
			at = strings.TrimPrefix(v.Name, ".")
			if word, _, _ := strings.Cut(strings.TrimPrefix(message, "."), " "); strings.HasPrefix(word, at) {
				at = word // the field itself, where the library names what holds it
			}
			message = strings.TrimSuffix(strings.Replace(message, " in body", "", 1), ".")
		}
		message = strings.Replace(strings.TrimPrefix(message, "."), "is a forbidden property", "is no field of "+kind, 1)
		faults = append(faults, d.fault(at, "%s", message))
	}
	if len(faults) > 0 {
		return nil, faults
	}
	fillIn(obj, &s)
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, []error{d.fault("", "%v", err)}
	}
	return raw, nil
}

// fillIn puts the defaults of a schema into a value, in place.
func fillIn(value any, s *spec.Schema) {
	switch v := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, there := v[name]; !there && property.Default != nil {
				v[name] = copied(property.Default)
			}
			if child, there := v[name]; there {
				fillIn(child, &property)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for _, child := range v {
				fillIn(child, s.AdditionalProperties.Schema)
			}
		}
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for _, child := range v {
				fillIn(child, s.Items.Schema)
			}
		}
	}
}

// copied is a default as a value of its own.
func copied(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var own any
	if err := json.Unmarshal(text, &own); err != nil {
		return v
	}
	return own
}
