package adapter

import (
	"slices"
	"strings"
	"testing"
)

// usesOf returns the uses of an adapter's paths, by path.
func usesOf(t *testing.T, text string) map[string]Use {
	t.Helper()
	all := map[string]Use{}
	for _, u := range mustCompile(t, text, Keys{}).Uses() {
		all[u.Path.String()] = u
	}
	return all
}

// TestValuesThatAreUsed checks that written values and compared values are listed. The value of another field that is
// compared is not listed.
func TestValuesThatAreUsed(t *testing.T) {
	uses := usesOf(t, `
target: {group: example.com, kind: Shop, versions: [v1]}
suspend: [{set: [{path: .spec.open, value: false}]}]
ready:
- {path: .status.phase, op: Eq, value: Open}
- {path: .status.mode, op: In, value: [Day, Night]}
- {path: .status.seen, op: Eq, valueFrom: .metadata.generation}
- {path: .status.error, op: NotExists}
- {path: .status.count, op: Ge, value: 3}
`)
	for path, want := range map[string][]string{
		".spec.open": {"false"}, ".status.phase": {`"Open"`}, ".status.mode": {`"Day"`, `"Night"`}, ".status.seen": nil,
		".metadata.generation": nil, ".status.error": nil, ".status.count": nil,
	} {
		if u, ok := uses[path]; !ok || !slices.Equal(u.Values, want) {
			t.Errorf("%s is used: %t, with the values %q, want %q", path, ok, u.Values, want)
		}
	}
}

// TestListsThatAreUsedByPosition checks that a list whose elements have no names is used by position.
func TestListsThatAreUsedByPosition(t *testing.T) {
	for facet, each := range map[string]string{
		"scale: [{each: '.spec.pools[*]', %s replicas: .size}]":                       ".spec.pools[*]",
		"bounds: {each: '.spec.groups[*]', %s min: {path: .low}, max: {path: .high}}": ".spec.groups[*]",
	} {
		for named, want := range map[string]bool{"nameFrom: .name,": false, "": true} {
			uses := usesOf(t, "target: {group: example.com, kind: Shop, versions: [v1]}\n"+strings.Replace(facet, "%s", named, 1))
			if u, ok := uses[each]; !ok || u.ByPosition != want {
				t.Errorf("%s with %q: used %t, by position %t", each, named, ok, u.ByPosition)
			}
		}
	}
}

// TestComponentsNeedAWildcardAndZeroMeansInRange checks that each must end in a wildcard or filter, and that
// zeroMeans must be in its
// range.
func TestComponentsNeedAWildcardAndZeroMeansInRange(t *testing.T) {
	head := "target: {group: example.com, kind: Shop, versions: [v1]}\n"
	for text, want := range map[string]string{
		"bounds: {each: '.spec.groups[0]', min: {path: .low}, max: {path: .high}}":                         "spec.bounds.each",
		"bounds: {each: .spec.groups, min: {path: .low}, max: {path: .high}}":                              "spec.bounds.each",
		"bounds: {each: \".spec.groups[?(@.a==1)]\", min: {path: .low}, max: {path: .high}}":               "",
		"scale: [{each: '.spec.pools[0]', replicas: .size}]":                                               "spec.scale[0].each",
		"scale: [{name: main, replicas: .spec.size, zeroMeans: 1, minimum: 1}]":                            "",
		"scale: [{name: main, replicas: .spec.size, zeroMeans: 0, minimum: 1}]":                            "spec.scale[0].zeroMeans",
		"scale: [{name: main, replicas: .spec.size, zeroMeans: 3}]":                                        "spec.scale[0].zeroMeans",
		"scale: [{name: main, replicas: .spec.size}]\nblind: [{path: .status.blind, op: Eq, value: true}]": "spec.blind",
	} {
		_, errs := Compile("tests", specOf(t, head+text), Keys{})
		got := ""
		if len(errs) > 0 {
			got = errs[0].Field
		}
		if got != want {
			t.Errorf("%s: refused at %q, want %q: %v", text, got, want, errs)
		}
	}
}

// TestReferencesOfAnObject has a manifest with its target, a manifest without a target, and a text that is no object.
func TestReferencesOfAnObject(t *testing.T) {
	a := mustCompile(t, hpaYAML, Keys{})
	for spec, want := range map[string]bool{
		`{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`: true,
		`{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":" "}}`:   false,
		`{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment"}}`:              false,
		`{}`: false,
	} {
		if got := a.Refers(object(spec)); got != want {
			t.Errorf("%s: %t", spec, got)
		}
	}
	if a.Refers([]byte(`{"metadata":`)) {
		t.Error("what is no object refers to something")
	}
	if got := mustCompile(t, deploymentYAML, Keys{}).Counts(); len(got) != 1 || got[0] != "/spec/replicas" {
		t.Errorf("the counts are %v", got)
	}
	if got := mustCompile(t, elasticYAML, Keys{}).Counts(); len(got) != 0 {
		t.Errorf("counts of elements are told as plain ones: %v", got)
	}
}
