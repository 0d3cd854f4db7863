package reconcile

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
)

func spec(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestLeavesClaimedFieldsAsTheyAre(t *testing.T) {
	owner := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "peaks", UID: "u1"}}
	tests := []struct {
		reason, template, live string
		claims                 []claimed
		want                   string
	}{
		{"nothing claimed", `{"min":1,"max":4}`, `{"min":2,"max":9}`, nil, `{"min":1,"max":4}`},
		{"a claimed field", `{"min":1,"max":4}`, `{"min":5,"max":9}`, []claimed{{pointer: "/spec/min"}}, `{"min":5,"max":4}`},
		{"a claimed field that was removed", `{"min":1,"max":4}`, `{"max":9}`, []claimed{{pointer: "/spec/min"}}, `{"max":4}`},
		{"a claimed field that the template leaves out", `{"max":4}`, `{"min":5,"max":9}`, []claimed{{pointer: "/spec/min"}}, `{"max":4}`},
		{"one inside a field of the template", `{"behavior":{"up":{"a":1}}}`, `{"behavior":{"up":{"a":2,"policy":"Disabled"}}}`,
			[]claimed{{pointer: "/spec/behavior/up/policy"}}, `{"behavior":{"up":{"a":1}}}`},
		{"one around a field of the template", `{"behavior":{"up":{"a":1}}}`, `{"behavior":{"off":true}}`,
			[]claimed{{pointer: "/spec/behavior"}}, `{"behavior":{"off":true}}`},
		{"an element of a list, wherever it has moved", `{"sets":[{"name":"a","count":1},{"name":"b","count":1}]}`, `{"sets":[{"name":"b","count":0},{"name":"a","count":7}]}`,
			[]claimed{{pointer: "/spec/sets/0/count", element: "b"}}, `{"sets":[{"name":"a","count":1},{"name":"b","count":0}]}`},
		{"an element that is gone", `{"sets":[{"name":"a","count":1}]}`, `{"sets":[]}`, []claimed{{pointer: "/spec/sets/0/count", element: "a"}}, `{"sets":[{"name":"a","count":1}]}`},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7"}, "spec": spec(t, tc.live)}}
			made, err := manifest(&policy.Template{Manifest: []byte(`{"apiVersion":"v1","kind":"X","metadata":{"name":"web"},"spec":` + tc.template + `}`)}, owner, live, tc.claims)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(made.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			if !path.Equal(tc.want, string(got)) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if made.GetResourceVersion() != "7" {
				t.Errorf("applied to version %q, want that of the live object", made.GetResourceVersion())
			}
		})
	}
}

func TestManifestBelongsToItsTrigger(t *testing.T) {
	owner := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "peaks", UID: "u1"}}
	made, err := manifest(&policy.Template{Manifest: []byte(`{"apiVersion":"v1","kind":"X","metadata":{"name":"web","annotations":{"flyball.dev/ledger":"{}","a":"b"}}}`)}, owner, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := []metav1.OwnerReference{{APIVersion: "flyball.dev/v1alpha1", Kind: "Trigger", Name: "peaks", UID: "u1", Controller: &yes}}
	if diff := cmp.Diff(want, made.GetOwnerReferences()); diff != "" {
		t.Errorf("owner (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "b"}, made.GetAnnotations()); diff != "" {
		t.Errorf("annotations: the ledger is not a template's business (-want +got):\n%s", diff)
	}
}

func TestCovers(t *testing.T) {
	tests := []struct {
		live, template string
		want           bool
	}{
		{`{"a":1,"b":2}`, `{"a":1}`, true},
		{`{"a":2}`, `{"a":1}`, false},
		{`{}`, `{"a":1}`, false},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, true},
		{`{"a":[{"b":1,"c":2}]}`, `{"a":[{"b":1}]}`, true},
		{`{"a":[1,2]}`, `{"a":[1]}`, false},
		{`{"a":"x"}`, `{"a":{"b":1}}`, false},
	}
	for _, tc := range tests {
		if got := covers(spec(t, tc.live), spec(t, tc.template)); got != tc.want {
			t.Errorf("%s covers %s: %t, want %t", tc.live, tc.template, got, tc.want)
		}
	}
}

func TestTemplatesGoWithTheirPolicies(t *testing.T) {
	all := newTemplates()
	want := &policy.Template{Namespace: "shop", Name: "web"}
	en := func(name string, t *policy.Template) *entry {
		e := &entry{policy: &policy.Policy{Template: t}}
		e.id.Name = name
		return e
	}
	refs := all.Set(en("b", want).id, en("b", want))
	if len(refs) != 1 || refs[0].Name != "web" {
		t.Fatalf("to look at: %v", refs)
	}
	ref := refs[0]
	all.Set(en("a", want).id, en("a", want))
	if of := all.Of(ref); len(of) != 2 || of[0].id.Name != "a" {
		t.Errorf("wanted by %v", of)
	}
	all.Fail(ref, "refused")
	if all.Failure(ref, en("a", nil).id) != "refused" || all.Failure(ref, en("c", nil).id) != "" {
		t.Error("a failure is told under the policies that want the object, and no others")
	}
	if refs := all.Set(en("a", nil).id, en("a", nil)); len(refs) != 1 {
		t.Errorf("a template that is taken out: to look at %v", refs)
	}
	all.Set(en("b", nil).id, nil)
	if len(all.Of(ref)) != 0 || all.Failure(ref, en("b", nil).id) != "" {
		t.Error("something is left of the template")
	}
}
