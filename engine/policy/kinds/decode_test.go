package kinds_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
)

// The API server keeps every object accepted by the schema. One object that the manager cannot decode makes every list
// of its kind fail, and with it all policies of the kind. So each value accepted by the schema of a field must decode.
func TestValuesAcceptedByTheSchemaDecode(t *testing.T) {
	resources := map[string]string{"Adapter": "adapters", "Calendar": "calendars", "Recommendation": "recommendations"}
	for _, kind := range kinds.All() {
		resources[kind.Name] = kind.Resource
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	for _, kind := range slices.Sorted(maps.Keys(resources)) {
		t.Run(kind, func(t *testing.T) {
			fields := fieldsOf(t, resources[kind])
			rapid.Check(t, func(r *rapid.T) {
				for _, f := range fields {
					value := values(r, f.schema)
					if !f.accepts(value) {
						continue
					}
					list, err := json.Marshal(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind + "List",
						"items": []any{f.object(value)}})
					if err != nil {
						r.Fatal(err)
					}
					if _, _, err := decoder.Decode(list, nil, nil); err != nil {
						r.Fatalf("the schema of %s accepts %s, which does not decode: %s", f, list, err)
					}
				}
			})
		})
	}
}

// field is one field of the objects of a kind. A step of its path that ends in [] is a list.
type field struct {
	path      []string
	schema    *spec.Schema
	validator *validate.SchemaValidator
}

func (f field) String() string { return strings.Join(f.path, ".") }

// accepts reports whether the schema accepts a value at the field.
func (f field) accepts(value any) bool { return f.validator.Validate(value).IsValid() }

// object returns an object with only this field. Other fields do not matter to decoding.
func (f field) object(value any) any {
	for _, step := range slices.Backward(f.path) {
		name, isList := strings.CutSuffix(step, "[]")
		if isList {
			value = []any{value}
		}
		value = map[string]any{name: value}
	}
	return value
}

// fieldsOf returns the fields of the spec and the status of a kind, by its CRD.
func fieldsOf(t *testing.T, resource string) []field {
	text, err := os.ReadFile("../../../crds/flyball.dev_" + resource + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	var root spec.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	var all []field
	for _, name := range []string{"spec", "status"} {
		part := root.Properties[name]
		applyInstantRule(&part)
		all = append(all, below([]string{name}, &part)...)
	}
	if len(all) < 10 {
		t.Fatalf("found %d fields in the schema of %s", len(all), resource)
	}
	return all
}

// below returns a field with all nested fields.
func below(path []string, s *spec.Schema) []field {
	all := []field{{path, s, validate.NewSchemaValidator(s, nil, "", strfmt.Default)}}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		all = append(all, below(append(slices.Clone(path), name), &property)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		all = append(all, below(append(slices.Clone(path), "some-key"), s.AdditionalProperties.Schema)...)
	}
	if s.Items != nil {
		last := len(path) - 1
		all = append(all, below(append(slices.Clone(path[:last]), path[last]+"[]"), s.Items.Schema)...)
	}
	return all
}

// applyInstantRule adds the CEL rule of an instant, or of a list of conditions, to the schema in another form, because CEL
// is not evaluated here. A test with a real API server proves that the rule refuses the same values.
func applyInstantRule(s *spec.Schema) {
	rules, _ := json.Marshal(s.Extensions["x-kubernetes-validations"])
	isString := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"string"}}}
	if s.Format == "date-time" && strings.Contains(string(rules), instantRule) {
		s.AllOf = append(s.AllOf, isString)
	}
	if s.Items != nil && strings.Contains(string(rules), conditionsRule) {
		last := s.Items.Schema.Properties["lastTransitionTime"]
		last.Pattern, last.AllOf = instantPattern, []spec.Schema{isString}
		s.Items.Schema.Properties["lastTransitionTime"] = last
	}
	for name, property := range s.Properties {
		applyInstantRule(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		applyInstantRule(s.Items.Schema)
	}
}

// instantRule and conditionsRule are the rules as JSON.
var (
	instantRule    = jsonText("self >= timestamp('0001-01-01T00:00:00Z')")
	conditionsRule = jsonText("self.all(c, c.lastTransitionTime >= timestamp('0001-01-01T00:00:00Z'))")
)

func jsonText(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// instantPattern matches the texts that encoding/json reads as a time.
const instantPattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

// values draws a JSON value: mostly of the schema's type, with texts and numbers that are hard to decode.
func values(r *rapid.T, s *spec.Schema) any {
	kind := "any"
	if len(s.Type) == 1 && rapid.IntRange(0, 9).Draw(r, "of the type") > 0 {
		kind = s.Type[0]
	}
	if len(s.Enum) > 0 && rapid.Bool().Draw(r, "of the enum") {
		return rapid.SampledFrom(s.Enum).Draw(r, "enum")
	}
	if isQuantity(s) && rapid.Bool().Draw(r, "a quantity") {
		return quantities.Draw(r, "quantity")
	}
	switch kind {
	case "string":
		return texts(s.Format).Draw(r, "text")
	case "integer", "number":
		return rapid.OneOf(rapid.Int64().AsAny(), rapid.SampledFrom([]any{int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt32) + 1,
			int64(math.MinInt32) - 1, int64(-1), int64(0), 1.0, 1.5, 1e15, 1e21, -1e300})).Draw(r, "number")
	case "boolean":
		return rapid.Bool().Draw(r, "boolean")
	case "object":
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if property := s.Properties[name]; slices.Contains(s.Required, name) || rapid.Bool().Draw(r, "has "+name) {
				out[name] = values(r, &property)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			out[texts("").Draw(r, "key")] = values(r, s.AdditionalProperties.Schema)
		}
		return out
	case "array":
		out := make([]any, rapid.IntRange(0, 2).Draw(r, "length"))
		for i := range out {
			out[i] = values(r, s.Items.Schema)
		}
		return out
	default:
		return rapid.SampledFrom([]any{nil, true, int64(5), 1.5, "text", []any{"a"}, map[string]any{"a": int64(1)}}).Draw(r, "any")
	}
}

// isQuantity reports whether a field is a quantity: controller-gen uses both types only for quantities.
func isQuantity(s *spec.Schema) bool { return s.Extensions["x-kubernetes-int-or-string"] == true }

// quantities draws texts similar to a quantity. An exponent has few digits: longer exponents take too long for a test.
var quantities = rapid.StringMatching(`[-+]?([0-9]{0,3})([.][0-9]{0,3})?([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{0,2}([.][0-9]?)?)?`)

// Quantities are compared digit by digit. So it takes minutes to read 1e-99999999 or to compare 1e99999999. One object
// with such a quantity would block its whole kind, and with it the manager.
func TestQuantitiesHaveNoLongExponents(t *testing.T) {
	found := 0
	for _, resource := range []string{"adapters", "tortoises", "clustertortoises", "recommendations"} {
		for _, f := range fieldsOf(t, resource) {
			if !isQuantity(f.schema) {
				continue
			}
			found++
			for text, accepted := range map[string]bool{
				"250m": true, "1.5": true, "-512Mi": true, ".5": true, "12e6": true, "1E+3": true, "2E": true, "1e-9": true,
				"1e-99999999": false, "1e99999999": false, "1e100": false, "1e1.5": false, "": false, strings.Repeat("9", 1000): false,
			} {
				if f.accepts(text) != accepted {
					t.Errorf("the schema of %s accepts %q: %t", f, text, !accepted)
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d quantities", found)
	}
}

// texts draws texts, many of them similar to a duration or an instant.
func texts(format string) *rapid.Generator[string] {
	instants := rapid.Custom(func(r *rapid.T) string {
		part := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(r, name) }
		return fmt.Sprint(part("date", "2026-12-20", "0000-01-01", "9999-12-31", "2026-02-30"), part("t", "T", "t", " "),
			part("time", "00:00:00", "23:59:59", "24:00:00", "12:00:60"),
			part("fraction", "", ".5", ",5", "x5", ".000000", ".123456", ".0000000001"),
			part("zone", "Z", "z", "+02:00", "-00:00", "+99:99", "+24:00", "+14:60", ""), part("rest", "", "", "", "t", " "))
	})
	if format == "date-time" {
		return instants
	}
	durations := rapid.StringMatching(`[-+]?([0-9]{1,4}(\.[0-9]{0,3})?(w|d|h|m|s|ms|us|ns|y| )?){0,3}`)
	return rapid.OneOf(rapid.SampledFrom([]string{"", "1d", "1w", "1d12h", "forever", "P1D", "99999999999h", "Europe/Berlin", "a", "\x00",
		"é"}),
		durations, durations, instants, rapid.String())
}
