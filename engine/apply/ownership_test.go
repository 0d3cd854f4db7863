package apply

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// TestGivenUp: Flyball owns only the fields of its ledger, and the ledger.
func TestGivenUp(t *testing.T) {
	const (
		apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
		ledgerFields  = `"f:metadata":{"f:annotations":{".":{},"f:flyball.dev/ledger":{}}}`
		replicas      = `{"f:spec":{"f:replicas":{}}}`
		cpu           = `"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}}}}}`
	)
	containers := func(names ...string) string {
		var each []string
		for _, name := range names {
			each = append(each, `"k:{\"name\":\"`+name+`\"}":{"f:resources":{"f:requests":{"f:cpu":{}}}}`)
		}
		return `"f:spec":{"f:template":{"f:spec":{"f:containers":{` + strings.Join(each, ",") + `}}}}`
	}
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		f := metav1.FieldsV1{}
		if err := f.UnmarshalJSON([]byte(fields)); err != nil {
			t.Fatal(err)
		}
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: &f,
			Subresource: subresource}
	}
	owner := entry("helm", apply, "", `{"f:spec":{"f:paused":{}}}`)
	remembers := `{"/spec/replicas":{"was":3,"set":5,"by":"Trigger/shop/peak","once":"5"},"of":"Deployment/web"}`
	tuned := `{"/spec/template/spec/containers/0/resources/requests/cpu":{"was":"2","set":"1","element":"app","by":"Tortoise/shop/all"},"of":"Deployment/web"}`
	held := `{"/spec/behavior/scaleDown/selectPolicy":{"set":"Disabled","made":2,"by":"Schedule/shop/nights"},"of":"HorizontalPodAutoscaler/web"}`
	for _, tc := range []struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		ledger  string
		want    []string
	}{
		{"given back", []metav1.ManagedFieldsEntry{owner, entry(FieldManager, update, "", replicas)}, "", []string{"test 1", "remove 1"}},
		{"given back through /scale", []metav1.ManagedFieldsEntry{owner, entry(FieldManager, update, "", `{`+ledgerFields+`}`),
			entry(FieldManager, update, "scale", replicas)}, "",
			[]string{"test 2", "remove 2", "test 1", "remove 1"}},
		{"asleep", []metav1.ManagedFieldsEntry{owner, entry(FieldManager, update, "", `{`+ledgerFields+`,"f:spec":{"f:replicas":{}}}`)},
			`{"/spec/replicas":{"was":3,"set":0,"by":"Schedule/shop/nights"},"of":"Deployment/web"}`, nil},
		{"one field of two", []metav1.ManagedFieldsEntry{owner,
			entry(FieldManager, update, "", `{`+ledgerFields+`,`+cpu[:len(cpu)-1]+`,"f:replicas":{}}}`)}, tuned,
			[]string{"test 1", `replace 1 {` + ledgerFields + `,` + cpu + `}`}},
		{"a container that was made, and what is in it", []metav1.ManagedFieldsEntry{owner,
			entry(FieldManager, update, "", `{`+ledgerFields+
				`,"f:spec":{"f:behavior":{".":{},"f:scaleUp":{"f:selectPolicy":{}},"f:scaleDown":{"f:selectPolicy":{}}}}}`)}, held, nil},
		{"a field of one element of two", []metav1.ManagedFieldsEntry{owner,
			entry(FieldManager, update, "", `{`+ledgerFields+`,`+containers("app", "sidecar")+`}`)}, tuned,
			[]string{"test 1", `replace 1 {` + ledgerFields + `,` + cpu + `}`}},
		{"a list with another key than the name", []metav1.ManagedFieldsEntry{owner,
			entry(FieldManager, update, "", `{`+ledgerFields+`,`+containers("one", "two")+`}`)}, tuned, nil},
		{"an element in an element", []metav1.ManagedFieldsEntry{owner, entry(FieldManager, update, "",
			`{`+ledgerFields+
				`,"f:spec":{"f:groups":{"k:{\"name\":\"a\"}":{".":{},"f:sizes":{"k:{\"zone\":\"x\"}":{"f:count":{}},"k:{\"zone\":\"y\"}":{"f:count":{}}}}}}}`)},
			`{"/spec/groups/0/sizes/1/count":{"was":2,"set":0,"element":"y","by":"Schedule/shop/nights"},"of":"Deployment/web"}`,
			[]string{"test 1", `replace 1 {` + ledgerFields +
				`,"f:spec":{"f:groups":{"k:{\"name\":\"a\"}":{".":{},"f:sizes":{"k:{\"zone\":\"y\"}":{"f:count":{}}}}}}}`}},
		{"set once", []metav1.ManagedFieldsEntry{owner, entry(FieldManager, update, "", `{`+ledgerFields+`,"f:spec":{"f:replicas":{}}}`)},
			remembers,
			[]string{"test 1", `replace 1 {` + ledgerFields + `}`}},
		{"nobody applies", []metav1.ManagedFieldsEntry{entry("kubectl", update, "", replicas), entry(FieldManager, update, "", replicas)}, "",
			nil},
		{"Argo CD applies by the client", []metav1.ManagedFieldsEntry{entry("argocd-controller", update, "", replicas),
			entry(FieldManager, update, "", replicas)}, "", []string{"test 1", "remove 1"}},
		{"only Flyball applies, a template", []metav1.ManagedFieldsEntry{entry(TemplateManager, apply, "", replicas),
			entry(FieldManager, update, "", replicas)}, "", nil},
		{"others stay as they are", []metav1.ManagedFieldsEntry{owner, entry("kube-controller-manager", update, "scale", replicas)}, "", nil},
		{"a ledger that cannot be read", []metav1.ManagedFieldsEntry{owner, entry(FieldManager, update, "", replicas)}, "{", nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			meta := &metav1.PartialObjectMetadata{}
			meta.ManagedFields = tc.entries
			if tc.ledger != "" {
				meta.Annotations = map[string]string{v1alpha1.AnnotationLedger: tc.ledger}
			}
			patch, err := givenUp(meta)
			if err != nil {
				t.Fatal(err)
			}
			var steps []struct {
				Op, Path string
				Value    json.RawMessage
			}
			if patch != nil {
				if err := json.Unmarshal(patch, &steps); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, s := range steps {
				text := s.Op + " " + s.Path[len("/metadata/managedFields/"):][:1]
				if s.Op == "replace" {
					text += " " + string(s.Value)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
