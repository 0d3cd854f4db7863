package inspect_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/path"
)

var errNotYet = errors.New("not yet")

// deploymentSpec is an adapter as written by a user.
const deploymentSpec = `
target: {group: apps, kind: Deployment, versions: [v1]}
scale:
- {name: main, replicas: .spec.replicas, default: 1}
hold: [{set: [{path: .spec.paused, value: true}]}]
bounds:
  min: {path: ".metadata.annotations['example.com/min']"}
  encoding: String
pods: {selector: .spec.selector, template: .spec.template, deletionCost: true}
ready:
- {path: .status.observedGeneration, op: Ge, valueFrom: .metadata.generation}
- {path: .status.availableReplicas, default: 0, op: Ge, valueFrom: .spec.replicas}
- {path: '.status.conditions[?(@.type=="Available")].status', op: Eq, value: "True"}
suspend:
- when: [{path: ".spec.template.spec.containers[0].image", op: Exists}]
  set: [{path: ".spec.template.spec.nodeSelector['example.com/none']", value: "true"}]
annotate: {path: .metadata.annotations}
changes: {rollout: [.spec.template], scale: [.spec.replicas], ignore: [.status]}
`

func compile(t *testing.T, text string) *adapter.Adapter {
	t.Helper()
	var spec v1alpha1.AdapterSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	compiled, errs := adapter.Compile("test", spec, adapter.Keys{})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return compiled
}

func deploymentUses(t *testing.T) []adapter.Use {
	t.Helper()
	return compile(t, deploymentSpec).Uses()
}

// use is one path with its allowed types.
func use(p string, types ...path.Type) adapter.Use {
	return adapter.Use{Path: path.MustParse(p), Field: "spec.scale[0].replicas", Types: types}
}

func TestMatchSchemaOfDeployments(t *testing.T) {
	inspector := newInspector(t, api.Config())
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	report, err := inspector.MatchSchema(t.Context(), deployment, deploymentUses(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inspect.SchemaReport{}, report); diff != "" {
		t.Errorf("a correct adapter (-want +got):\n%s", diff)
	}
	tests := []struct {
		use  adapter.Use
		want string
	}{
		{use(".spec.replcias", path.Number),
			"spec.scale[0].replicas: .spec.replcias is not in the schema of apps/v1 Deployment; did you mean .spec.replicas?"},
		{use(".spec.Template"),
			"spec.scale[0].replicas: .spec.Template is not in the schema of apps/v1 Deployment; did you mean .spec.template?"},
		{use(".spec.nothingLikeIt.count"), "spec.scale[0].replicas: .spec.nothingLikeIt is not in the schema of apps/v1 Deployment"},
		{use(".spec.paused", path.Number),
			"spec.scale[0].replicas: .spec.paused is a boolean in the schema of apps/v1 Deployment, the adapter needs a number"},
		{use(".spec.replicas.count"),
			"spec.scale[0].replicas: .spec.replicas is an integer in the schema of apps/v1 Deployment and has no field count"},
		{use(".spec.template.spec.containers.image"),
			"spec.scale[0].replicas: .spec.template.spec.containers is an array in the schema of apps/v1 Deployment and has no field image; " +
				"did you mean .spec.template.spec.containers[*].image?"},
		{use(".spec.replicas[0]"),
			"spec.scale[0].replicas: .spec.replicas is an integer in the schema of apps/v1 Deployment, so [0] selects nothing"},
		{use(`.spec.template.spec.containers[?(@.nane=="web")].image`),
			"spec.scale[0].replicas: in the filter: .spec.template.spec.containers[?(@.nane==\"web\")].nane is not in the schema of apps/v1 " +
				"Deployment"},
		{use(".spec.strategy.rollingUpdate.maxSurge", path.Number), ""},
		{use(".spec.strategy.rollingUpdate.maxSurge", path.String), ""},
		{use(".spec.strategy.rollingUpdate.maxSurge", path.Boolean),
			"spec.scale[0].replicas: .spec.strategy.rollingUpdate.maxSurge is an integer or a string in the schema of apps/v1 Deployment, the " +
				"adapter needs a boolean"},
		{use(".spec.template.spec.nodeSelector['a/b']", path.String), ""},
		{use(".metadata.labels.app", path.String), ""},
		{use(".status.replicas", path.Number), ""},
		{adapter.Use{Path: path.MustParse(".status.replicas"), Field: "spec.scale[0].replicas", Write: true},
			"spec.scale[0].replicas: .status.replicas cannot be written: apps/v1 Deployment has a status subresource, so a write of the object " +
				"does not change .status"},
		{use(".spec.template.spec.containers[*].resources.limits.cpu", path.String), ""},
		{use(".spec.template.spec.volumes[0].emptyDir.sizeLimit", path.String), ""},
	}
	for _, tt := range tests {
		t.Run(tt.use.Path.String(), func(t *testing.T) {
			report, err := inspector.MatchSchema(t.Context(), deployment, []adapter.Use{tt.use})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, oneLine(report)); diff != "" {
				t.Errorf("MatchSchema (-want +got):\n%s", diff)
			}
		})
	}
}

func oneLine(report inspect.SchemaReport) string {
	line := ""
	for _, f := range report.Missing {
		line += f.String()
	}
	for _, p := range report.Unknown {
		line += "unknown " + p
	}
	return line
}

func TestMatchSchemaOfCRD(t *testing.T) {
	install(t, readCRD(t, "schema.example.com"))
	inspector := newInspector(t, api.Config())
	widget := schema.GroupVersionKind{Group: "schema.example.com", Version: "v1", Kind: "Widget"}
	tests := []struct {
		use  adapter.Use
		want string
	}{
		{use(".spec.replicas", path.Number), ""},
		{use(".spec.ratio", path.Number), ""},
		{use(".spec.paused", path.Boolean), ""},
		{use(".spec.surge", path.String), ""},
		{use(".spec.mode", path.Number),
			"spec.scale[0].replicas: .spec.mode is a string in the schema of schema.example.com/v1 Widget, the adapter needs a number"},
		{use(".spec.pools[*].count", path.Number), ""},
		{use(`.spec.pools[?(@.name=="a")].count`, path.Number), ""},
		{use(".spec.pools[0].cont", path.Number),
			"spec.scale[0].replicas: .spec.pools[0].cont is not in the schema of schema.example.com/v1 Widget; did you mean .spec.pools[0].count?"},
		{use(".spec.limits.cpu", path.String), ""},
		{use(".spec.limits[*]", path.String), ""},
		{use(".spec.values.replicaCount", path.Number), "unknown .spec.values.replicaCount"},
		{use(".spec.values", path.Object), ""},
		{use(".spec.anything", path.Number), "unknown .spec.anything"},
		{use(".spec.anything[0].deep"), "unknown .spec.anything[0].deep"},
		{use(".spec.template.spec.count"), "unknown .spec.template.spec.count"},
		{use(".spec.closed.field"), "spec.scale[0].replicas: .spec.closed.field is not in the schema of schema.example.com/v1 Widget"},
		{use(".metadata.generation", path.Number), ""},
		{use(".metadata.annotations['x']", path.String), ""},
		{use(".status.replicas", path.Number), ""},
		{adapter.Use{Path: path.MustParse(".status.replicas"), Field: "spec.scale[0].replicas", Write: true},
			"spec.scale[0].replicas: .status.replicas cannot be written: schema.example.com/v1 Widget has a status subresource, so a write of " +
				"the object does not change .status"},
		{use(".status.ready"), "spec.scale[0].replicas: .status.ready is not in the schema of schema.example.com/v1 Widget"},
	}
	for _, tt := range tests {
		t.Run(tt.use.Path.String(), func(t *testing.T) {
			report, err := inspector.MatchSchema(t.Context(), widget, []adapter.Use{tt.use})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, oneLine(report)); diff != "" {
				t.Errorf("MatchSchema (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a version without fields in its schema", func(t *testing.T) {
		beta := schema.GroupVersionKind{Group: "schema.example.com", Version: "v1beta1", Kind: "Widget"}
		report, err := inspector.MatchSchema(t.Context(), beta,
			[]adapter.Use{use(".spec.replicas", path.Number), use(".spec.replicas", path.Number)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(inspect.SchemaReport{Unknown: []string{".spec.replicas"}}, report); diff != "" {
			t.Errorf("MatchSchema (-want +got):\n%s", diff)
		}
	})
	t.Run("a kind that is not there", func(t *testing.T) {
		_, err := inspector.MatchSchema(t.Context(), schema.GroupVersionKind{Group: "schema.example.com", Version: "v1", Kind: "Gadget"}, nil)
		if !errors.Is(err, inspect.ErrNotPublished) {
			t.Errorf("error %v, want ErrNotPublished", err)
		}
		_, err = inspector.MatchSchema(t.Context(), schema.GroupVersionKind{Group: "nowhere.example.com", Version: "v1", Kind: "Widget"}, nil)
		if !errors.Is(err, inspect.ErrNotPublished) {
			t.Errorf("error %v, want ErrNotPublished", err)
		}
	})
}

// A field added by a new release of the CRD is found without a restart: the answer is not older than the schema's hash.
func TestSchemaChangesAreFoundWithoutARestart(t *testing.T) {
	crd := readCRD(t, "change.example.com")
	install(t, crd)
	inspector := newInspector(t, api.Config())
	widget := schema.GroupVersionKind{Group: crd.Spec.Group, Version: "v1", Kind: "Widget"}
	uses := []adapter.Use{use(".spec.shards", path.Number)}
	for range 2 {
		report, err := inspector.MatchSchema(t.Context(), widget, uses)
		if err != nil || report.Matched() {
			t.Fatalf("before the field exists: %+v, %v", report, err)
		}
	}
	live, err := crds(t).Get(t.Context(), crd.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["shards"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	if _, err := crds(t).Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new field is seen", func() error {
		report, err := inspector.MatchSchema(t.Context(), widget, uses)
		if err != nil || !report.Matched() {
			return fmt.Errorf("%+v, %w", report, err)
		}
		return nil
	})
}
