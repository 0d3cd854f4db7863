package adapters

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
)

// TestDefinitionsKeepTheFieldsOfAdapters checks that the CustomResourceDefinition beside an adapter, with which tests run, serves each
// version of the adapter and keeps each field that the adapter reads or writes.
func TestDefinitionsKeepTheFieldsOfAdapters(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if strings.Contains(all[i].Spec.Target.Group, ".") { // others are served by every API server
			t.Run(all[i].Name, func(t *testing.T) { checkDefinition(t, &all[i]) })
		}
	}
}

func checkDefinition(t *testing.T, spec *v1alpha1.Adapter) {
	text, err := os.ReadFile(filepath.Join(folderOf(spec.Spec.Target), "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	compiled, errs := adapter.Compile(spec.Name, spec.Spec, adapter.Keys{Amounts: true, Ready: true, Owned: true})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	schemas := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, v := range crd.Spec.Versions {
		schemas[v.Name] = v.Schema.OpenAPIV3Schema
	}
	for _, use := range compiled.Uses() {
		kept := 0
		for _, version := range spec.Spec.Target.Versions {
			if schemas[version] == nil {
				t.Fatalf("crd.yaml does not serve %s", version)
			}
			if keeps(schemas[version], use.Path.Steps()) {
				kept++
			}
		}
		if kept == 0 {
			t.Errorf("crd.yaml prunes %s of %s", use.Path, use.Field)
		}
	}
}

// keeps reports whether the API server keeps the field at the steps.
func keeps(schema *apiextensionsv1.JSONSchemaProps, steps []path.Step) bool {
	for i, step := range steps {
		if i == 0 && step.Name == "metadata" || schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields {
			return true
		}
		switch inner, ok := schema.Properties[step.Name]; {
		case step.Kind == path.Field && ok:
			schema = &inner
		case step.Kind != path.Field && schema.Items != nil:
			schema = schema.Items.Schema
		case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
			schema = schema.AdditionalProperties.Schema
		default:
			return false
		}
	}
	return true
}
