package draft

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// TestRequestsAreFound drafts what a kind requests by its schema, and leaves the containers of a template to the default.
func TestRequestsAreFound(t *testing.T) {
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
			d, err := Of([]byte(`{"kind":"CustomResourceDefinition","metadata":{"name":"ovens.example.com"},"spec":{"group":"example.com","names":{"kind":"Oven"},
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
			object := `{"metadata":{"name":"stone"},"spec":{"resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1"}},"template":{"spec":{"containers":[{"name":"main",
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
