package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	drafts "flyball.dev/flyball/cmd/kubectl-flyball/adapter"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// TestDraftFindsRequestsBySchema checks that a draft has requests for a kind with .spec.resources, and no requests for
// a kind with a pod template.
func TestDraftFindsRequestsBySchema(t *testing.T) {
	const (
		resources = `"resources":{"type":"object","properties":{"requests":{"type":"object"},"limits":{"type":"object"}}}`
		template  = `"template":{"type":"object","properties":{"spec":{"type":"object","properties":{"containers":{"type":"array"}}}}}`
	)
	for name, test := range map[string]struct {
		properties string
		listed     bool
	}{
		"requests":                {resources, true},
		"requests and a template": {resources + "," + template, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := drafts.Of([]byte(`{"kind":"CustomResourceDefinition","metadata":{"name":"ovens.example.com"},"spec":{
			"group":"example.com","names":{"kind":"Oven"},
				"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{
				"replicas":{"type":"integer"},` + test.properties + `}}}}}}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if listed := len(d.Adapter.Spec.Resources) > 0; listed != test.listed {
				t.Errorf("resources %v", d.Adapter.Spec.Resources)
			}
			a, errs := adapter.Compile(d.Adapter.Name, d.Adapter.Spec, adapter.Keys{Amounts: true})
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			object := `{"metadata":{"name":"stone"},"spec":{"resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1"}},"template":{"spec":{
			"containers":[{"name":"main",
				"resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1"}}}]}}}}`
			obj, err := a.Project([]byte(object))
			if err != nil {
				t.Fatal(err)
			}
			want := workload.Allocation{Component: "main", Requests: workload.Requests{MilliCPU: 500}, Limits: workload.Requests{MilliCPU: 1000}}
			if got := a.Observe(obj).Allocations; len(got) != 1 || got[0] != want {
				t.Errorf("observed %v", got)
			}
			manifest, err := d.Manifest()
			if err != nil || test.listed != strings.Contains(string(manifest), "guessed resources") {
				t.Errorf("%s, %v", manifest, err)
			}
		})
	}
}

// ferries is a CustomResourceDefinition whose levers have unusual names.
const ferries = `{"kind":"CustomResourceDefinition","metadata":{"name":"ferries.harbour.example.com"},"spec":{
	"group":"harbour.example.com","names":{"kind":"Ferry"},
	"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.boats"}},"schema":{
	"openAPIV3Schema":{"properties":{"spec":{"properties":{
	"boats":{"type":"integer"},"hibernate":{"type":"boolean"},"paused":{"type":"boolean"},"minBoats":{"type":"integer"},"maxBoats":{
	"type":"integer"},
	"pools":{"type":"array","items":{"properties":{"name":{"type":"string"},"size":{"type":"integer"},"spare":{"type":"integer"}}}},
	"lanterns":{"type":"object","properties":{"lit":{"type":"boolean"}}},
	"template":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}}]}}`

// TestDraftListsUnrecognizedLevers checks that a draft uses the levers that it recognizes, and lists the other numbers
// and switches as unused.
func TestDraftListsUnrecognizedLevers(t *testing.T) {
	d, err := drafts.Of([]byte(ferries))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := d.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"guessed scale: .spec.boats, which the scale subresource names", "guessed scale: each of .spec.pools[*].size, named by its name",
		"guessed suspend: .spec.hibernate is set to true", "guessed hold: .spec.paused is set to true",
		"guessed bounds: .spec.minBoats and .spec.maxBoats",
		"guessed pods: the template at .spec.template, by its name; its schema is open",
		"not used: .spec.lanterns.lit (boolean)", "not used: .spec.pools[*].spare (integer)",
	} {
		if !strings.Contains(string(manifest), "# "+want) {
			t.Errorf("%q is not said in\n%s", want, manifest)
		}
	}
	if len(d.Unused) != 2 || strings.Contains(string(manifest), "missing: no pod template") {
		t.Errorf("unused %q in\n%s", d.Unused, manifest)
	}
}

// TestFirstCasesPass runs the cases that a draft writes. All pass, and every capability has a case.
func TestFirstCasesPass(t *testing.T) {
	d, err := drafts.Of([]byte(ferries))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files, err := d.WriteTo(dir)
	if err != nil || !slices.Contains(files, filepath.Join(dir, "testdata", "scale", "case.yaml")) {
		t.Fatalf("%q, %v", files, err)
	}
	for _, update := range []bool{true, false} {
		got, err := drafts.RunCases([]string{dir}, update)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Results {
			if len(r.Failures) > 0 {
				t.Errorf("update %t: %s: %q", update, r.Case, r.Failures)
			}
		}
	}
	if _, err := d.WriteTo(dir); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a draft is written over another: %v", err)
	}
}
