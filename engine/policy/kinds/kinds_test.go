package kinds_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
)

func crd(t *testing.T, resource string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "crds", "flyball.dev_"+resource+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var def apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &def); err != nil {
		t.Fatal(err)
	}
	return def
}

// The names in each row are those of the scheme and of the definition of the resource.
func TestRowsEqualTheAPI(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds.All() {
		t.Run(k.Name, func(t *testing.T) {
			for name, obj := range map[string]runtime.Object{k.Name: k.New(), k.Name + "List": k.NewList()} {
				registered, err := scheme.New(v1alpha1.GroupVersion.WithKind(name))
				if err != nil {
					t.Fatal(err)
				}
				if got, want := reflect.TypeOf(obj), reflect.TypeOf(registered); got != want {
					t.Errorf("the row makes %s of %s, the scheme %s", name, got, want)
				}
			}
			def := crd(t, k.Resource)
			if def.Spec.Names.Kind != k.Name || def.Spec.Names.Plural != k.Resource || def.Spec.Group != v1alpha1.GroupVersion.Group {
				t.Errorf("the definition is of %s %s in %s", def.Spec.Names.Kind, def.Spec.Names.Plural, def.Spec.Group)
			}
			if !slices.Equal(def.Spec.Names.ShortNames, []string{k.Short}) {
				t.Errorf("short by the row: %s, by the definition: %s", k.Short, def.Spec.Names.ShortNames)
			}
			if cluster := def.Spec.Scope == apiextensionsv1.ClusterScoped; cluster != k.ClusterScoped {
				t.Errorf("outside namespaces by the row: %t, by the definition: %t", k.ClusterScoped, cluster)
			}
			if found, ok := kinds.Find(k.Name); !ok || found.Resource != k.Resource {
				t.Errorf("by its name, %q is found: %t", found.Resource, ok)
			}
			a, b := k.New(), k.New()
			if a == b {
				t.Error("two objects are one")
			}
			if a.SetName("x"); b.GetName() != "" {
				t.Error("two objects share what they say")
			}
		})
	}
	if _, ok := kinds.Find("Calendar"); ok {
		t.Error("a kind that is no policy is found")
	}
}

// A value written to a row's status must appear in the object.
func TestRowsReturnTheObjectsStatus(t *testing.T) {
	acting := map[string]bool{}
	for _, k := range kinds.Acting() {
		acting[k.Name] = true
		obj := k.New()
		k.Status(obj).State = "Asleep"
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			t.Fatal(err)
		}
		status, _ := fields["status"].(map[string]any)
		if status["state"] != "Asleep" {
			t.Errorf("%s: what was written to its status is not in the object: %v", k.Name, status)
		}
		if other := k.Status(k.New()); other.State != "" {
			t.Errorf("%s: another object has that status too", k.Name)
		}
	}
	for _, k := range kinds.All() {
		if says := k.Meta(k.New()).Rights != nil; k.ActsOnTargets() != says {
			t.Errorf("%s acts: %t, and says which rights that takes: %t", k.Name, k.ActsOnTargets(), says)
		}
		if k.ActsOnTargets() != acting[k.Name] {
			t.Errorf("%s acts: %t, and is listed among those that do: %t", k.Name, k.ActsOnTargets(), acting[k.Name])
		}
		if !k.ActsOnTargets() && k.NeedsFinalizer(k.New()) {
			t.Errorf("%s acts on nothing and is to be held by a finalizer", k.Name)
		}
	}
}

// Every kind of the API has a row, except the listed kinds that are no policies.
func TestEveryPolicyOfTheAPIHasARow(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../crds/flyball.dev_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, file := range files {
		var plural string
		if _, err := fmt.Sscanf(filepath.Base(file), "flyball.dev_%s", &plural); err != nil {
			t.Fatal(err)
		}
		def := crd(t, plural[:len(plural)-len(".yaml")])
		name := def.Spec.Names.Kind
		if _, ok := kinds.Find(name); ok {
			rows++
		} else if !slices.Contains([]string{"Adapter", "Calendar", "Recommendation", "UsageCheckpoint", "Notification",
			"ClusterNotification"}, name) {
			t.Errorf("%s has no row", name)
		}
	}
	if rows != len(kinds.All()) {
		t.Errorf("%d of %d rows have a definition", rows, len(kinds.All()))
	}
}
