package schemas_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/schemas"
)

// fromCRDs returns the schemas of the CRDs by file. All tests share them, because their rules take half a second.
var fromCRDs = sync.OnceValues(func() (map[string][]byte, error) { return schemas.FromCRDs("../crds") })

// TestSchemasAreUpToDate compares the schema files with the schemas of the CRDs. make generate writes the files.
func TestSchemasAreUpToDate(t *testing.T) {
	want, err := fromCRDs()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for _, file := range files {
		if got[filepath.ToSlash(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run make generate; CRDs (-) and files (+) differ:\n%s", diff)
	}
}

// load compiles the schema files, by kind.
func load(t *testing.T) map[string]*validate.SchemaValidator {
	t.Helper()
	made, err := fromCRDs()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*validate.SchemaValidator{}
	for name, text := range made {
		if strings.Contains(name, "/all_") {
			continue
		}
		var s spec.Schema
		if err := s.UnmarshalJSON(text); err != nil {
			t.Fatalf("decode %s: %v", name, err)
		}
		all[s.Title] = validate.NewSchemaValidator(&s, nil, "", strfmt.Default)
	}
	return all
}

// objects yields Flyball's objects in the YAML files below a directory.
func objects(t *testing.T, dir string, visit func(file string, obj *unstructured.Unstructured)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".yaml" || strings.Contains(file, "testdata") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			obj := &unstructured.Unstructured{}
			if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if strings.HasPrefix(obj.GetAPIVersion(), "flyball.dev/") {
				visit(file, obj)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSamplesAndAdaptersAreValid checks that every object in samples and adapters is valid, and that the same object is invalid with an
// additional field that the CRD does not have.
func TestSamplesAndAdaptersAreValid(t *testing.T) {
	validators := load(t)
	seen := 0
	for _, dir := range []string{"../samples", "../adapters"} {
		objects(t, dir, func(file string, obj *unstructured.Unstructured) {
			seen++
			v := validators[obj.GetKind()]
			if v == nil {
				t.Errorf("%s: there is no schema of %s", file, obj.GetKind())
				return
			}
			for _, err := range v.Validate(obj.Object).Errors {
				t.Errorf("%s: %s %s: %v", file, obj.GetKind(), obj.GetName(), err)
			}
			if err := unstructured.SetNestedField(obj.Object, "Europe/Berlin", "spec", "timezone"); err != nil {
				t.Fatal(err)
			}
			if v.Validate(obj.Object).IsValid() {
				t.Errorf("%s: %s %s passes with spec.timezone, which the CRD would drop", file, obj.GetKind(), obj.GetName())
			}
		})
	}
	if seen < 20 {
		t.Fatalf("found only %d objects", seen)
	}
}

// TestDocumentsShowValidObjects checks that every object in a YAML block of the documents is valid.
func TestDocumentsShowValidObjects(t *testing.T) {
	validators := load(t)
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	seen := 0
	for _, pattern := range []string{"../README.md", "../docs/*.md", "../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range block.FindAllSubmatch(text, -1) {
				for _, err := range invalid(m[1], validators, &seen) {
					t.Errorf("%s: %v in\n%s", file, err, m[1])
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("found only %d objects", seen)
	}
}

// invalid returns the errors of Flyball's objects in a text. It skips other YAML.
func invalid(text []byte, validators map[string]*validate.SchemaValidator, seen *int) []error {
	var errs []error
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return errs
		} else if err != nil {
			return append(errs, err)
		}
		if !strings.HasPrefix(obj.GetAPIVersion(), "flyball.dev/") {
			continue
		}
		*seen++
		if v := validators[obj.GetKind()]; v != nil {
			errs = append(errs, v.Validate(obj.Object).Errors...)
		} else {
			errs = append(errs, errors.New("there is no schema of "+obj.GetKind()))
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	validators := load(t)
	good := func() map[string]any {
		return map[string]any{
			"apiVersion": "flyball.dev/v1alpha1", "kind": "Schedule", "metadata": map[string]any{"name": "nights"},
			"spec": map[string]any{"upscale": "0 8 * * *", "downscale": "0 20 * * *", "asleepAs": map[string]any{"percent": int64(50)}},
		}
	}
	tests := []struct {
		reason string
		change func(map[string]any)
		says   string
	}{
		{"nothing is wrong", func(map[string]any) {}, ""},
		{"another kind", func(o map[string]any) { o["kind"] = "Shedule" }, "kind"},
		{"another version", func(o map[string]any) { o["apiVersion"] = "flyball.dev/v1" }, "apiVersion"},
		{"no spec", func(o map[string]any) { delete(o, "spec") }, "spec"},
		{"a field of a namespaced policy that only a cluster policy has", func(o map[string]any) {
			o["spec"].(map[string]any)["target"] = map[string]any{"namespaces": []any{"shop"}}
		}, "namespaces"},
		{"percent over 100", func(o map[string]any) {
			o["spec"].(map[string]any)["asleepAs"] = map[string]any{"percent": int64(101)}
		}, "percent"},
		{"an unknown weekday", func(o map[string]any) {
			o["spec"].(map[string]any)["asleep"] = []any{map[string]any{"days": []any{"Monday"}, "from": "20:00", "to": "08:00"}}
		}, "days"},
		{"annotations are free", func(o map[string]any) {
			o["metadata"].(map[string]any)["annotations"] = map[string]any{"team": "shop"}
		}, ""},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			o := good()
			tc.change(o)
			errs := validators["Schedule"].Validate(o).Errors
			if (len(errs) == 0) != (tc.says == "") {
				t.Fatalf("errors %v, want them to be about %q", errs, tc.says)
			}
			if tc.says != "" && !strings.Contains(errors.Join(errs...).Error(), tc.says) {
				t.Errorf("errors %v do not name %q", errs, tc.says)
			}
		})
	}
}

// TestSchemasRefuseInvalidMetadata checks that the schemas refuse invalid metadata, such as a namespace of a
// cluster-scoped object.
func TestSchemasRefuseInvalidMetadata(t *testing.T) {
	all := load(t)
	for _, test := range []struct {
		kind, metadata string
		ok             bool
	}{
		{"Schedule", `{"name":"nights","namespace":"shop","labels":{"a":"b"},"annotations":{"c":"d"}}`, true},
		{"Schedule", `{"generateName":"nights-"}`, true},
		{"Schedule", `{"name":"nights","uid":"1","resourceVersion":"2","creationTimestamp":null}`, true},
		{"Schedule", `{}`, false},
		{"Schedule", `{"name":"Nights"}`, false},
		{"Schedule", `{"name":"nights","labels":{"on":true}}`, false},
		{"Schedule", `{"name":"nights","namespace":"shop/web"}`, false},
		{"ClusterSchedule", `{"name":"nights"}`, true},
		{"ClusterSchedule", `{"name":"nights","namespace":"shop"}`, false},
	} {
		obj := map[string]any{"apiVersion": "flyball.dev/v1alpha1", "kind": test.kind,
			"spec": map[string]any{"upscale": "0 8 * * *", "downscale": "0 20 * * *"}}
		if test.kind == "ClusterSchedule" {
			obj["spec"].(map[string]any)["target"] = map[string]any{"namespaces": []any{"shop"}}
		}
		var metadata any
		if err := json.Unmarshal([]byte(test.metadata), &metadata); err != nil {
			t.Fatal(err)
		}
		obj["metadata"] = metadata
		if result := all[test.kind].Validate(obj); result.IsValid() != test.ok {
			t.Errorf("%s with metadata %s: valid %t, want %t: %v", test.kind, test.metadata, result.IsValid(), test.ok, result.Errors)
		}
	}
}

// TestOneSchemaForAllKinds checks that the schema for mixed files has the same schema of each kind as the kind's own
// file, and needs no other file.
func TestOneSchemaForAllKinds(t *testing.T) {
	made, err := fromCRDs()
	if err != nil {
		t.Fatal(err)
	}
	text := made["flyball.dev/all_v1alpha1.json"]
	var all struct {
		Definitions map[string]map[string]any
		Then        struct {
			Properties struct{ Kind struct{ Enum []string } }
			AllOf      []struct {
				If struct {
					Properties struct{ Kind struct{ Const string } }
				}
				Then struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Definitions) != len(made)-1 || len(all.Then.AllOf) != len(made)-1 || len(all.Then.Properties.Kind.Enum) != len(made)-1 {
		t.Fatalf("%d definitions, %d choices and %d names for %d kinds", len(all.Definitions), len(all.Then.AllOf),
			len(all.Then.Properties.Kind.Enum), len(made)-1)
	}
	for _, choice := range all.Then.AllOf {
		kind := choice.If.Properties.Kind.Const
		if choice.Then.Ref != "#/definitions/"+kind {
			t.Errorf("%s leads to %s", kind, choice.Then.Ref)
		}
		var one map[string]any
		if err := json.Unmarshal(made["flyball.dev/"+strings.ToLower(kind)+"_v1alpha1.json"], &one); err != nil {
			t.Fatal(err)
		}
		delete(one, "$schema")
		if diff := cmp.Diff(one, all.Definitions[kind]); diff != "" {
			t.Errorf("%s differs from its own file:\n%s", kind, diff)
		}
	}
	if refs := regexp.MustCompile(`"\$ref": "([^#][^"]*)"`).FindAllSubmatch(text, -1); len(refs) > 0 {
		t.Errorf("it needs other files: %q", refs)
	}
}

// TestFieldsThatGoTogether checks that the schemas refuse combinations of fields that CEL rules of the CRDs refuse.
func TestFieldsThatGoTogether(t *testing.T) {
	all := load(t)
	const window = `{"days":["Mon"],"from":"20:00","to":"08:00"}`
	for _, test := range []struct {
		kind, spec string
		ok         bool
	}{
		{"Schedule", `{"upscale":"0 8 * * *","downscale":"0 20 * * *"}`, true},
		{"Schedule", `{"asleep":[` + window + `]}`, true},
		{"Schedule", `{}`, false},
		{"Schedule", `{"upscale":"0 8 * * *"}`, false},
		{"Schedule", `{"upscale":"0 8 * * *","downscale":"0 20 * * *","asleep":[` + window + `]}`, false},
		{"Schedule", `{"asleep":[` + window + `],"awake":[` + window + `]}`, false},
		{"Schedule", `{"asleep":[{"from":"20:00"}]}`, false},
		{"Schedule", `{"asleep":[{"cron":"0 2 * * 6"}]}`, false},
		{"Schedule", `{"asleep":[{"cron":"0 2 * * 6","duration":"4h","from":"20:00","to":"21:00"}]}`, false},
		{"Schedule", `{"asleep":[` + window + `],"asleepAs":{"replicas":1}}`, true},
		{"Schedule", `{"asleep":[` + window + `],"asleepAs":{"replicas":1,"percent":10}}`, false},
		{"Schedule", `{"asleep":[` + window + `],"asleepAs":{}}`, false},
		{"Calendar", `{"dates":[{"date":"2037-12-25"}]}`, true},
		{"Calendar", `{}`, false},
		{"Calendar", `{"dates":[{"date":"2037-12-25","start":"2037-12-25","end":"2037-12-26"}]}`, false},
	} {
		obj := map[string]any{"apiVersion": "flyball.dev/v1alpha1", "kind": test.kind, "metadata": map[string]any{"name": "x"}}
		var spec any
		if err := json.Unmarshal([]byte(test.spec), &spec); err != nil {
			t.Fatal(err)
		}
		obj["spec"] = spec
		if result := all[test.kind].Validate(obj); result.IsValid() != test.ok {
			t.Errorf("%s %s: valid %t, want %t: %v", test.kind, test.spec, result.IsValid(), test.ok, result.Errors)
		}
	}
}

// TestSchemasAreWhereKubeconformLooks checks the names of the files against kubeconform's
// {group}/{kind}_{version}.json, in lower case.
func TestSchemasAreWhereKubeconformLooks(t *testing.T) {
	files, err := filepath.Glob("../crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d CRDs, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct{ Name string }
			}
		}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			if _, err := os.Stat(strings.ToLower(crd.Spec.Group + "/" + crd.Spec.Names.Kind + "_" + v.Name + ".json")); err != nil {
				t.Errorf("%s: %v", crd.Spec.Names.Kind, err)
			}
		}
	}
}
