// Package schemas turns Flyball's CustomResourceDefinitions into JSON Schemas for editors and CI: one file for each kind
// and version, and one for files with objects of several kinds. A schema refuses every field that the CRD would drop,
// has no rules of its own for the spec, and is the same text for the same CRD. It has the CEL rules of the CRD about
// fields that go together; the API server and the webhook check the other CEL rules.
package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// draft is the dialect that every common editor and CI tool understands.
const draft = "http://json-schema.org/draft-07/schema#"

// schema is a JSON Schema as a tree; encoding/json writes the keys of a map in order.
type schema = map[string]any

// FromCRDs returns the schemas of all CRDs in a directory. The keys are file names below the schemas' directory:
// <group>/<kind>_<version>.json, in lower case. Tools such as kubeconform look for files with these names.
func FromCRDs(dir string) (map[string][]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find CRDs in %s: %d files, %w", dir, len(files), err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a CRD: %w", err)
		}
		made, err := FromCRD(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		maps.Copy(all, made)
	}
	return all, mix(all)
}

// mixed stands for the kind in the name of the file for objects of several kinds.
const mixed = "all"

// mix adds one schema for each group and version. This schema checks objects of every kind in the group and version, and
// accepts all objects of other groups. It refers to no other file, so a copy of it works anywhere.
func mix(all map[string][]byte) error {
	kinds := map[string]schema{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var one schema
		if err := json.Unmarshal(all[name], &one); err != nil {
			return fmt.Errorf("read the schema %s: %w", name, err)
		}
		delete(one, "$schema")
		kind := one["title"].(string)
		dir, file, _ := strings.Cut(name, "/")
		_, version, _ := strings.Cut(file, "_")
		to := dir + "/" + mixed + "_" + version
		if kinds[to] == nil {
			kinds[to] = schema{"apiVersion": one["properties"].(schema)["apiVersion"], "definitions": schema{}}
		}
		kinds[to]["definitions"].(schema)[kind] = one
	}
	for to, found := range kinds {
		definitions := found["definitions"].(schema)
		ours := schema{"properties": schema{"apiVersion": found["apiVersion"]}, "required": []string{"apiVersion"}}
		var choices []schema
		names := slices.Sorted(maps.Keys(definitions))
		for _, kind := range names {
			choices = append(choices, schema{
				"if": schema{"properties": schema{"kind": schema{"const": kind}}}, "then": schema{"$ref": "#/definitions/" + kind},
			})
		}
		text, err := encode(schema{
			"$schema": draft, "title": "Objects of " + strings.TrimSuffix(strings.Replace(to, mixed+"_", "", 1), ".json"),
			"type": "object", "definitions": definitions, "if": ours,
			"then": schema{"required": []string{"kind"}, "properties": schema{"kind": schema{"enum": names}}, "allOf": choices},
		})
		if err != nil {
			return fmt.Errorf("encode the schema %s: %w", to, err)
		}
		all[to] = text
	}
	return nil
}

// metadata returns the schema of the fields of an object's metadata that people write. It accepts all other fields,
// because the API server adds some.
func metadata(namespaced bool) schema {
	name := schema{"type": "string", "maxLength": 253, "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"}
	texts := func(what string) schema {
		return schema{"type": "object", "description": what, "additionalProperties": schema{"type": "string"}}
	}
	properties := schema{
		"name": name, "generateName": schema{"type": "string", "maxLength": 253},
		"labels": texts("Labels, by which objects are selected."), "annotations": texts("Annotations."),
		"finalizers": schema{"type": "array", "items": schema{"type": "string"}},
	}
	s := schema{"type": "object", "properties": properties, "allOf": []schema{
		{"anyOf": []schema{{"required": []string{"name"}}, {"required": []string{"generateName"}}}, "description": "give name or generateName"},
	}}
	if namespaced {
		properties["namespace"] = schema{"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
			"description": "Default: the current namespace."}
	} else {
		properties["namespace"] = schema{"enum": []string{""}, "description": "The kind lives outside namespaces."}
	}
	return s
}

// FromCRD returns the schemas of one CRD, one for each version. The keys are file names as in FromCRDs.
func FromCRD(text []byte) (map[string][]byte, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		return nil, fmt.Errorf("decode the CRD: %w", err)
	}
	all := map[string][]byte{}
	for _, v := range crd.Spec.Versions {
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, fmt.Errorf("version %s of %s has no schema", v.Name, crd.Name)
		}
		root, err := convert(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("convert the schema of %s %s: %w", v.Name, crd.Name, err)
		}
		identify(root, crd.Spec.Group+"/"+v.Name, crd.Spec.Names.Kind, v.Schema.OpenAPIV3Schema.Required)
		root["properties"].(schema)["metadata"] = metadata(crd.Spec.Scope == apiextensionsv1.NamespaceScoped)
		out, err := encode(root)
		if err != nil {
			return nil, fmt.Errorf("encode the schema of %s %s: %w", v.Name, crd.Name, err)
		}
		all[fmt.Sprintf("%s/%s_%s.json", crd.Spec.Group, strings.ToLower(crd.Spec.Names.Kind), v.Name)] = out
	}
	return all, nil
}

// identify fixes apiVersion and kind, so that a file with a different kind does not pass by chance. It adds no
// requirement of a spec, because the CRD has that itself.
func identify(root schema, apiVersion, kind string, required []string) {
	root["$schema"] = draft
	root["title"] = kind
	properties, _ := root["properties"].(schema)
	properties["apiVersion"] = schema{"type": "string", "enum": []string{apiVersion}}
	properties["kind"] = schema{"type": "string", "enum": []string{kind}}
	root["required"] = sets.List(sets.New(required...).Insert("apiVersion", "kind", "metadata"))
}

// convert returns a JSON Schema for a structural OpenAPI v3 schema.
func convert(p *apiextensionsv1.JSONSchemaProps) (s schema, err error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // keeps all digits of limits
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	adapt(s)
	return s, nil
}

// adapt changes an OpenAPI v3 schema into a JSON Schema, in place. An object with listed properties may have no others,
// unless its schema preserves unknown fields. The metadata may have any property, because a CRD lists none.
func adapt(s schema) {
	delete(s, "allOf") // in a quantity it repeats other rules of the quantity
	require(s)
	if s["x-kubernetes-int-or-string"] == true {
		s["anyOf"] = []schema{{"type": "integer"}, {"type": "string"}}
	}
	if s["type"] != nil && s["nullable"] == true {
		s["type"] = []any{s["type"], "null"}
	}
	if s["x-kubernetes-list-type"] == "set" {
		s["uniqueItems"] = true
	}
	properties, listed := s["properties"].(schema)
	if listed && s["x-kubernetes-preserve-unknown-fields"] != true {
		s["additionalProperties"] = false
	}
	maps.DeleteFunc(s, func(key string, _ any) bool { return key == "nullable" || strings.HasPrefix(key, "x-kubernetes-") })
	for _, part := range append(slices.Collect(maps.Values(properties)), s["items"], s["additionalProperties"]) {
		if inner, ok := part.(schema); ok {
			adapt(inner)
		}
	}
}

// encode indents by one space, because the schema of all kinds would have more than a megabyte with two.
func encode(s schema) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(s)
	return b.Bytes(), err
}
