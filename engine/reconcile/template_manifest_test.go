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
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// peaks is a Trigger.
func peaks(t *testing.T) *world.Policy {
	t.Helper()
	kind, ok := kinds.Find("Trigger")
	if !ok {
		t.Fatal("there is no kind Trigger")
	}
	p := &world.Policy{Kind: kind, Object: &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: "peaks", UID: "u1"}}}
	p.Policy.Policy = &policy.Policy{ID: workload.Policy{Kind: "Trigger", Name: "peaks"}}
	return p
}

func spec(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestLeavesClaimedFieldsAsTheyAre(t *testing.T) {
	owner := peaks(t)
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
		{"an element of a list, wherever it has moved", `{"sets":[{"name":"a","count":1},{"name":"b","count":1}]}`,
			`{"sets":[{"name":"b","count":0},{"name":"a","count":7}]}`,
			[]claimed{{pointer: "/spec/sets/0/count", element: "b"}}, `{"sets":[{"name":"a","count":1},{"name":"b","count":0}]}`},
		{"an element whose name is inside it", `{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":70}}]}`,
			`{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":77}}]}`,
			[]claimed{{pointer: "/spec/metrics/0/resource/target", element: "cpu"}},
			`{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":77}}]}`},
		{"an element of two names",
			`{"metrics":[{"of":{"name":"cpu","container":"a","target":70}},{"of":{"name":"cpu","container":"b","target":70}}]}`,
			`{"metrics":[{"of":{"name":"cpu","container":"b","target":77}},{"of":{"name":"cpu","container":"a","target":70}}]}`,
			[]claimed{{pointer: "/spec/metrics/0/of/target", element: "b/cpu"}},
			`{"metrics":[{"of":{"name":"cpu","container":"a","target":70}},{"of":{"name":"cpu","container":"b","target":77}}]}`},
		{"an element that is gone", `{"sets":[{"name":"a","count":1}]}`, `{"sets":[]}`, []claimed{{pointer: "/spec/sets/0/count", element: "a"}},
			`{"sets":[{"name":"a","count":1}]}`},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7"}, "spec": spec(t, tc.live)}}
			made, err := manifest(&policy.Template{Manifest: []byte(`{"apiVersion":"v1","kind":"X","metadata":{"name":"web"},"spec":` + tc.template +
				`}`)}, owner, live, tc.claims)
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
	owner := peaks(t)
	made,
		err := manifest(&policy.Template{Manifest: []byte(
		`{"apiVersion":"v1","kind":"X","metadata":{"name":"web","annotations":{"flyball.dev/ledger":"{}","a":"b"}}}`)}, owner, nil, nil)
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

func TestManifestCoversTheLiveObject(t *testing.T) {
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

// TestAnswerOfAnAppliedTemplate uses a template that spells an amount differently from the API server.
func TestAnswerOfAnAppliedTemplate(t *testing.T) {
	object := func(metadata, spec string) *unstructured.Unstructured {
		t.Helper()
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"X","metadata":` + metadata + `,"spec":` + spec +
			`,"status":{"seen":1}}`)); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	const own = `{"name":"web","labels":{"a":"1000m"}}`
	template := &policy.Template{Manifest: []byte(`{"apiVersion":"v1","kind":"X","metadata":` + own + `,"spec":{"cpu":"1000m","min":1}}`)}
	held := []claimed{{pointer: "/spec/min"}, {pointer: "/spec/hold"}}
	const live = `{"name":"web","uid":"u","resourceVersion":"9","labels":{"a":"1000m","b":"2"}}`
	tests := []struct {
		reason string
		// claims are the claims when the template was applied. later are the claims at the time of the check.
		claims, later  []claimed
		metadata, spec string
		want           bool
	}{
		{"as it was", nil, nil, live, `{"cpu":"1","min":1}`, true},
		{"with more, of others", nil, nil, live, `{"cpu":"1","min":1,"max":4}`, true},
		{"another label of others", nil, nil, `{"name":"web","labels":{"a":"1000m","b":"3"}}`, `{"cpu":"1","min":1}`, true},
		{"its label changed", nil, nil, `{"name":"web","labels":{"a":"1"}}`, `{"cpu":"1","min":1}`, false},
		{"its label gone", nil, nil, `{"name":"web"}`, `{"cpu":"1","min":1}`, false},
		{"its amount changed", nil, nil, live, `{"cpu":"2","min":1}`, false},
		{"its field gone", nil, nil, live, `{"min":1}`, false},
		{"a field claimed since", nil, held, live, `{"cpu":"1","min":5,"hold":true}`, true},
		{"a field claimed then", held, nil, live, `{"cpu":"1","min":1}`, true},
		{"a field claimed then that is not as the template says now", held, nil, live, `{"cpu":"1","min":5}`, false},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			got := object(live, `{"cpu":"1","min":1}`)
			if len(tc.claims) > 0 {
				got = object(live, `{"cpu":"1","min":5,"hold":true}`)
			}
			done := agreed{template: template, answer: answerOf(got, object(own, `{}`), template, tc.claims)}
			if holds := done.isKept(object(tc.metadata, tc.spec), tc.later); holds != tc.want {
				t.Errorf("holds: %t, want %t; the answer is %v", holds, tc.want, done.answer)
			}
		})
	}
	nobodys := agreed{template: template}
	if nobodys.isKept(object(live, `{"cpu":"1","min":1}`), nil) {
		t.Error("what has never been applied holds")
	}
}

// TestVisibleChanges: an object is read only if a field of the template may have changed.
func TestVisibleChanges(t *testing.T) {
	template := &policy.Template{Labels: []string{"a"}, Annotations: []string{"n"}}
	opaque := &policy.Template{Opaque: true}
	base := workload.Object{UID: "u", ResourceVersion: "1", Generation: 3, Labels: workload.NewPairs(map[string]string{"a": "1", "b": "2"}),
		Annotations: workload.NewPairs(map[string]string{"n": "1"}), OwnerReference: &workload.OwnerReference{Name: "peaks"}}
	tests := []struct {
		reason   string
		template *policy.Template
		change   func(*workload.Object)
		looks    bool
	}{
		{"the status", template, func(o *workload.Object) { o.ResourceVersion = "2" }, false},
		{"a label of others", template, func(o *workload.Object) { o.Labels = workload.NewPairs(map[string]string{"a": "1", "b": "3"}) }, false},
		{"an annotation of others", template, func(o *workload.Object) {
			o.Annotations = workload.NewPairs(map[string]string{"n": "1", "m": "2"})
		}, false},
		{"the spec", template, func(o *workload.Object) { o.Generation = 4 }, true},
		{"its label", template, func(o *workload.Object) { o.Labels = workload.NewPairs(map[string]string{"a": "2", "b": "2"}) }, true},
		{"its label gone", template, func(o *workload.Object) { o.Labels = nil }, true},
		{"its annotation", template, func(o *workload.Object) { o.Annotations = workload.NewPairs(map[string]string{"n": ""}) }, true},
		{"its annotation gone", template, func(o *workload.Object) { o.Annotations = nil }, true},
		{"its owner", template, func(o *workload.Object) { o.OwnerReference = nil }, true},
		{"another object of the name", template, func(o *workload.Object) { o.UID = "v" }, true},
		{"its deletion", template, func(o *workload.Object) { o.Deleting = true }, true},
		{"any version, for a template with other metadata", opaque, func(o *workload.Object) { o.ResourceVersion = "2" }, true},
	}
	for _, tc := range tests {
		cur := base
		tc.change(&cur)
		if looks := visible(&base, tc.template) != visible(&cur, tc.template); looks != tc.looks {
			t.Errorf("%s: looks: %t, want %t", tc.reason, looks, tc.looks)
		}
	}
	uncounted := base
	uncounted.Generation = 0
	next := uncounted
	next.ResourceVersion = "2"
	if visible(&uncounted, template) == visible(&next, template) {
		t.Error("a kind without generations: a version passes unseen")
	}
	if !sameTemplate(&policy.Template{Name: "web", Manifest: []byte("x")}, &policy.Template{Name: "web", Manifest: []byte("x")}) ||
		sameTemplate(&policy.Template{Manifest: []byte("x")}, &policy.Template{Manifest: []byte("y")}) || sameTemplate(template, nil) {
		t.Error("templates are told apart by what they ask for")
	}
}
