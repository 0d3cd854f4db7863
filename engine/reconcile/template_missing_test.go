package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const wished = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"labels":{"team":"back"}},` +
	`"spec":{"minReplicas":2,"maxReplicas":4,` +
	`"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"metrics":[{"type":"Pods",` +
	`"pods":{"target":{"type":"AverageValue","averageValue":"1"}}}]}}`

// live is the object of the template as the API server returns it, with additional metadata.
func live(apiVersion, metadata, spec string) string {
	return fmt.Sprintf(
		`{"apiVersion":%q,"kind":"HorizontalPodAutoscaler","metadata":{"namespace":"shop","name":"web","uid":"7","resourceVersion":"3",%s},`+
			`"spec":{%s,`+
			`"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"behavior":{},"metrics":[{"type":"Pods",`+
			`"pods":{"target":{"type":"AverageValue","averageValue":"1000m"}}}]}}`, apiVersion, metadata, spec)
}

// TestTemplateEditsAreTheDifferences: the edits are the differences from the template, without fields that policies or autoscalers decide.
func TestTemplateEditsAreTheDifferences(t *testing.T) {
	const ours = `"labels":{"team":"back","more":"x"},"ownerReferences":[{"apiVersion":"flyball.dev/v1alpha1","kind":"Trigger",` +
		`"name":"peaks","uid":"11","controller":true}]`
	const ledger = `,"annotations":{"flyball.dev/ledger":"{\"/spec/maxReplicas\":{\"was\":4,\"set\":20,\"by\":\"Trigger/shop/peaks\"},` +
		`\"of\":\"HorizontalPodAutoscaler/web\",\"namespace\":\"shop\",\"uid\":\"7\"}"}`
	for _, test := range []struct {
		reason, live, want string
	}{
		{"all is there, and amounts are spelled in another way", live("autoscaling/v2", ours, `"minReplicas":2,"maxReplicas":4`), ""},
		{"a field was changed", live("autoscaling/v2", ours, `"minReplicas":2,"maxReplicas":9`), "/spec/maxReplicas 9 -> 4"},
		{"a field was removed", live("autoscaling/v2", ours, `"maxReplicas":4`), "/spec/minReplicas  -> 2"},
		{"a label was changed", live("autoscaling/v2", strings.Replace(ours, "back", "front", 1), `"minReplicas":2,"maxReplicas":4`),
			`/metadata/labels/team "front" -> "back"`},
		{"a policy has set it", live("autoscaling/v2", ours+ledger, `"minReplicas":2,"maxReplicas":20`), ""},
		{"it is somebody else's", live("autoscaling/v2", `"labels":{"team":"front"}`, `"minReplicas":2,"maxReplicas":9`), ""},
		{"it is being deleted", live("autoscaling/v2", ours+`,"deletionTimestamp":"2037-05-13T20:00:00Z"`, `"minReplicas":2,"maxReplicas":9`),
			""},
		{"it is read in another version", live("autoscaling/v1", ours, `"minReplicas":2,"maxReplicas":9`),
			"error: the template of HorizontalPodAutoscaler.autoscaling/shop/web is written in autoscaling/v2, and the object is read in " +
				"autoscaling/v1"},
	} {
		m := inMemory(t, test.live)
		peaks := m.Find(workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "peaks"})
		edits, after, err := reconcile.TemplateEdits(m.Snapshot, m.InUse(peaks.Template.GroupKind()), peaks, []byte(test.live))
		var got []string
		for _, e := range edits {
			got = append(got, e.Pointer+" "+e.From+" -> "+e.To)
			if now := rawjson.GetBytes(after, strings.ReplaceAll(strings.TrimPrefix(e.Pointer, "/"), "/", ".")).Raw; now != e.To {
				t.Errorf("%s: %s is %s then", test.reason, e.Pointer, now)
			}
		}
		if err != nil {
			got = append(got, "error: "+err.Error())
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: want (-) and found (+):\n%s", test.reason, diff)
		}
	}
}

func inMemory(t *testing.T, object string) *world.Memory {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}}, Objects: [][]byte{[]byte(object)}}
	for i := range library {
		if library[i].Name == "horizontalpodautoscalers.autoscaling" {
			lists.Adapters = append(lists.Adapters, &library[i])
		}
	}
	peaks := &v1alpha1.Trigger{}
	peaks.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Trigger"))
	peaks.Namespace, peaks.Name, peaks.UID = "shop", "peaks", types.UID("11")
	peaks.Spec.Target = v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}},
		Names: []string{"web"}}
	max := int64(20)
	peaks.Spec.Triggers = []v1alpha1.TimeTrigger{{Name: "peak", Window: v1alpha1.Window{From: "08:00", To: "11:00"},
		During: v1alpha1.TriggerValues{Max: &max}}}
	peaks.Spec.Template = &runtime.RawExtension{Raw: []byte(wished)}
	lists.Policies = []policy.Object{peaks}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
