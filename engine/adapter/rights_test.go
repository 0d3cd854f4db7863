package adapter

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

func TestOnlyScales(t *testing.T) {
	const through = "{target: {group: example.com, kind: Widget, versions: [v1]}, scale: [{name: a, replicas: .spec.a, via: Scale}]"
	scale, suspend, bounds := v1alpha1.CapabilityScale, v1alpha1.CapabilitySuspend, v1alpha1.CapabilityBounds
	for _, tc := range []struct {
		reason, spec string
		needs        []v1alpha1.Capability
		want         bool
	}{
		{"a size, through /scale", through + "}", []v1alpha1.Capability{scale}, true},
		{"sleep, which is a size where the kind has no suspend", through + "}", []v1alpha1.Capability{suspend, scale}, true},
		{"sleep, which is to suspend where the kind has that", through + ", suspend: [{set: [{path: .spec.off, value: true}]}]}",
			[]v1alpha1.Capability{suspend, scale}, false},
		{"a size, where sleep would be to suspend", through + ", suspend: [{set: [{path: .spec.off, value: true}]}]}",
			[]v1alpha1.Capability{scale}, true},
		{"bounds as well", through + ", bounds: {min: {path: .spec.min}}}", []v1alpha1.Capability{bounds, scale}, false},
		{"bounds that the kind has not", through + "}", []v1alpha1.Capability{bounds}, false},
		{"nothing in particular", through + "}", nil, false},
		{"annotations", through + "}", []v1alpha1.Capability{v1alpha1.CapabilityAnnotate}, false},
		{"a size in the object", "{target: {group: example.com, kind: Widget, versions: [v1]}, scale: [{name: a, replicas: .spec.a}]}",
			[]v1alpha1.Capability{scale}, false},
		{"one size of two",
			"{target: {group: example.com, kind: Widget, versions: [v1]}, scale: [{name: a, replicas: .spec.a, via: Scale}, {name: b, " +
				"replicas: .spec.b}]}",
			[]v1alpha1.Capability{scale}, false},
	} {
		if got := mustCompile(t, tc.spec, Keys{}).OnlyScales(tc.needs); got != tc.want {
			t.Errorf("%s: %t, want %t", tc.reason, got, tc.want)
		}
	}
}

func TestAnnotationMeans(t *testing.T) {
	const spec = `{target: {group: example.com, kind: Widget, versions: [v1]},
		suspend: [{set: [{path: ".metadata.annotations['example.com/off']", value: "true"}]}],
		hold: [{set: [{path: ".metadata.annotations['example.com/hold']", value: "true"}]}],
		changes: {rollout: [".metadata.annotations['example.com/restart~/now']"], delete: [".metadata.annotations['example.com/drop']"],
			scale: [".metadata.annotations['example.com/drop']"], ignore: [".metadata.annotations['example.com/note']"]}`
	for _, tc := range []struct {
		key  string
		want workload.Change
	}{
		{"example.com/restart~/now", workload.ChangeRollOut},
		{"example.com/drop", workload.ChangeDelete | workload.ChangeScale},
		{"example.com/off", workload.ChangeScale},
		{"example.com/hold", workload.ChangeRollOut},
		{"example.com/note", 0},
		{"example.com/other", 0},
	} {
		if got := mustCompile(t, spec+"}", Keys{}).AnnotationMeans(tc.key); got != tc.want {
			t.Errorf("%s means %v, want %v", tc.key, got.Names(), tc.want.Names())
		}
	}
	inTemplate := mustCompile(t, spec+", annotate: {path: .spec.template.metadata.annotations}}", Keys{})
	if got := inTemplate.AnnotationMeans("example.com/other"); got != workload.ChangeRollOut {
		t.Errorf("an annotation of pods means %v", got.Names())
	}
	all := mustCompile(t, `{target: {group: example.com, kind: Widget, versions: [v1]}, changes: {rollout: [".metadata.annotations[*]"]}}`,
		Keys{})
	if got := all.AnnotationMeans("a"); got != workload.ChangeRollOut {
		t.Errorf("any annotation means %v", got.Names())
	}
}

// Flyball does not write objects that the API server judges by the rights of their author.
func TestGroupsThatFlyballDoesNotWrite(t *testing.T) {
	for _, group := range []string{"flyball.dev", "rbac.authorization.k8s.io"} {
		_, errs := Compile("x", v1alpha1.AdapterSpec{Target: v1alpha1.AdapterTarget{Group: group, Kind: "Role", Versions: []string{"v1"}}},
			Keys{})
		if len(errs) != 1 || errs[0].Field != "spec.target.group" {
			t.Errorf("%s: %v", group, errs)
		}
	}
}
