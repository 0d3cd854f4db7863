package tortoise_test

import (
	"encoding/json"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
)

// scaling knows Deployments, which can be scaled, with a version. It also knows Services, which cannot be scaled.
var scaling = tortoise.Context{Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
	return policy.AdaptedKind{Requests: true, Scales: gk.Kind == "Deployment", Version: "v1"}, true
}}

const oneTarget = `target: {kinds: [{group: apps, kind: Deployment}], names: [web]}`

// TestMadeAutoscalers checks that a created autoscaler is valid and has a metric for the scaled container. Mode Off
// creates none.
func TestMadeAutoscalers(t *testing.T) {
	for _, test := range []struct {
		spec, name, container string
		least, most           int32
		leaves, none          bool
	}{
		{spec: `{` + oneTarget + `, mode: Auto, replicas: {max: 20}, autoscaler: {create: true}}`, name: "web", least: 3, most: 20, leaves: true},
		{spec: `{` + oneTarget + `, mode: Emergency, replicas: {max: 2}, autoscaler: {create: true, name: up, onDelete: Delete}}`, name: "up",
			least: 2, most: 2},
		{spec: `{` + oneTarget +
			`, mode: Auto, replicas: {min: 1, max: 9}, resources: [{cpu: Vertical}, {container: main, cpu: Horizontal}], autoscaler: {create: true, onDelete: Keep}}`,
			name: "web", container: "main", least: 1, most: 9, leaves: true},
		{spec: `{` + oneTarget + `, replicas: {max: 20}, autoscaler: {create: true}}`, none: true, leaves: true},
		{spec: `{` + oneTarget + `, mode: Auto, replicas: {max: 20}}`, none: true, leaves: true},
	} {
		p, errs := tortoise.Compile(read(t, test.spec), scaling)
		if len(errs) > 0 {
			t.Fatalf("%s: %v", test.spec, errs.ToAggregate())
		}
		if p.LeavesMade != test.leaves {
			t.Errorf("%s: what was made stays: %t", test.spec, p.LeavesMade)
		}
		made := p.Template
		if test.none || made == nil {
			if test.none != (made == nil) {
				t.Errorf("%s: asks for %v", test.spec, made)
			}
			continue
		}
		var h autoscalingv2.HorizontalPodAutoscaler
		if err := json.Unmarshal(made.Manifest, &h); err != nil {
			t.Fatal(err)
		}
		web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
		if made.Governs != web || made.Ref().Name != test.name || h.Name != test.name || h.Namespace != "shop" ||
			h.Spec.ScaleTargetRef.Name != "web" || h.Spec.ScaleTargetRef.APIVersion != "apps/v1" {
			t.Errorf("%s: %s for %s, %+v", test.spec, made.Ref(), made.Governs, h.Spec.ScaleTargetRef)
		}
		if *h.Spec.MinReplicas != test.least || h.Spec.MaxReplicas != test.most {
			t.Errorf("%s: from %d to %d", test.spec, *h.Spec.MinReplicas, h.Spec.MaxReplicas)
		}
		m := h.Spec.Metrics[0]
		switch {
		case test.container == "" && *m.Resource.Target.AverageUtilization != 70:
			t.Errorf("%s: %+v", test.spec, m)
		case test.container != "" && (m.ContainerResource.Container != test.container || *m.ContainerResource.Target.AverageUtilization != 70):
			t.Errorf("%s: %+v", test.spec, m)
		}
	}
}

// TestAutoscalersThatCannotBeMade checks that such a spec is refused with the name of the field.
func TestAutoscalersThatCannotBeMade(t *testing.T) {
	for spec, want := range map[string]string{
		`{` + oneTarget +
			`, mode: Auto, autoscaler: {create: true}}`: "spec.replicas.max",
		`{` + oneTarget +
			`, replicas: {max: 5}, autoscaler: {create: false}}`: "spec.autoscaler.create",
		`{` + oneTarget +
			`, replicas: {max: 5}, autoscaler: {create: true, onDelete: Burn}}`: "spec.autoscaler.onDelete",
		`{target: {kinds: [{group: apps, kind: Deployment}], names: [a, b]}, replicas: {max: 5}, autoscaler: {create: true}}`: "spec.target",
		`{target: {names: [a]}, replicas: {max: 5}, autoscaler: {create: true}}`:                                              "spec.target",
		`{target: {kinds: [{kind: Service}], names: [a]}, mode: Auto, replicas: {max: 5}, autoscaler: {create: true}}`:        "spec.autoscaler",
	} {
		_, errs := tortoise.Compile(read(t, spec), scaling)
		if len(errs) != 1 || errs[0].Field != want {
			t.Errorf("%s: %v, want %s", spec, errs.ToAggregate(), want)
		}
	}
}

// TestRightsOfMakingAnAutoscaler checks the rights: to create and patch the autoscaler, and to delete it only if it is
// deleted with the Tortoise. Mode Off needs no such rights.
func TestRightsOfMakingAnAutoscaler(t *testing.T) {
	for spec, want := range map[string]string{
		`{` + oneTarget + `, mode: Auto, replicas: {max: 20}}`:                                                    "",
		`{` + oneTarget + `, replicas: {max: 20}, autoscaler: {create: true, onDelete: Delete}}`:                  "",
		`{` + oneTarget + `, mode: Auto, replicas: {max: 20}, autoscaler: {create: true}}`:                        "create patch ",
		`{` + oneTarget + `, mode: Auto, replicas: {max: 20}, autoscaler: {create: true, onDelete: Keep}}`:        "create patch ",
		`{` + oneTarget + `, mode: Auto, replicas: {max: 20}, autoscaler: {create: true, onDelete: Delete}}`:      "create patch delete ",
		`{` + oneTarget + `, mode: Emergency, replicas: {max: 20}, autoscaler: {create: true, onDelete: Delete}}`: "create patch delete ",
	} {
		verbs := ""
		for _, r := range tortoise.Kinds()[0].RightsOf(read(t, spec)) {
			if r.Kind == (schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}) && r.Field == "spec.autoscaler" {
				verbs += r.Verb + " "
			}
		}
		if verbs != want {
			t.Errorf("%s takes the rights to %q, want %q", spec, verbs, want)
		}
	}
}
