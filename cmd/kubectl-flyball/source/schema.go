package source

import (
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/schemas"
)

// admitted validates an object of one of Flyball's kinds against its schema and sets the defaults, as an API server
// does. It does not evaluate the CEL rules that are only in the CRDs. Compiling the object checks these.
func admitted(d *document, kind string) (raw []byte, faults []error) {
	s, err := schemaOf(kind)
	if err != nil {
		return nil, []error{err}
	}
	var obj any
	if err := json.Unmarshal(d.json, &obj); err != nil {
		return nil, []error{d.fault("", "%v", err)}
	}
	for _, err := range s.validator.Validate(obj).Errors {
		at, message := wording(err, kind)
		faults = append(faults, d.fault(at, "%s", message))
	}
	for _, u := range unmetRules(obj, &s.schema, "") {
		faults = append(faults, d.fault(u.at, "%s: %s", u.at, u.message))
	}
	if len(faults) > 0 {
		return nil, faults
	}
	fillIn(obj, &s.schema)
	raw, err = json.Marshal(obj)
	if err != nil {
		return nil, []error{d.fault("", "%v", err)}
	}
	return raw, nil
}

// compiled is a compiled schema. It is cached, because compiling takes longer than validating.
type compiled struct {
	schema    spec.Schema
	validator *validate.SchemaValidator
}

var compiledSchemas sync.Map // values are *compiled, by kind

func schemaOf(kind string) (*compiled, error) {
	if known, ok := compiledSchemas.Load(kind); ok {
		return known.(*compiled), nil
	}
	text, ok := schemas.Of(kind, v1alpha1.GroupVersion.Version)
	if !ok {
		return nil, fmt.Errorf("there is no schema of %s", kind)
	}
	c := &compiled{}
	if err := json.Unmarshal(text, &c.schema); err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", kind, err)
	}
	bare := withoutRules(c.schema)
	c.validator = validate.NewSchemaValidator(&bare, nil, "", strfmt.Default)
	compiledSchemas.Store(kind, c)
	return c, nil
}

// fillIn sets the defaults of a schema in a value. It changes the given value.
func fillIn(value any, s *spec.Schema) {
	switch v := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, there := v[name]; !there && property.Default != nil {
				v[name] = runtime.DeepCopyJSONValue(property.Default)
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
