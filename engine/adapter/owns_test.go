package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

const (
	recordsYAML = `target: {group: example.com, kind: App, versions: [v1]}
suspend: [{set: [{path: .spec.suspend, value: true}]}]
owns: {each: ".status.resources[*]", when: [{path: .spec.server, default: here, op: Eq, value: here}]}`
	idsYAML = `target: {group: example.com, kind: App, versions: [v1]}
hold: [{set: [{path: .spec.hold, value: true}]}]
owns: {each: ".status.entries[*]", id: .ref.id}`
)

func TestOwnedObjectsAreReadFromTheRecord(t *testing.T) {
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	role := workload.Ref{GroupKind: schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, Name: "system:web"}
	service := workload.Ref{GroupKind: schema.GroupKind{Kind: "Service"}, Namespace: "shop", Name: "web"}
	for _, tc := range []struct {
		reason, adapter, object string
		want                    []workload.Ref
	}{
		{"fields, in any order and twice", recordsYAML, `"status":{"resources":[{"kind":"Service","namespace":"shop","name":"web"},
			{"group":"apps","kind":"Deployment","namespace":"shop","name":"web"},{"kind":"Service","namespace":"shop","name":"web"}]}`,
			[]workload.Ref{web, service}},
		{"a cluster-scoped object", recordsYAML,
			`"status":{"resources":[{"group":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:web"}]}`, []workload.Ref{role}},
		{"itself", recordsYAML, `"status":{"resources":[{"group":"example.com","kind":"App","namespace":"ops","name":"app"}]}`, nil},
		{"unreadable records", recordsYAML, `"status":{"resources":[1,null,{"kind":"Service"},{"name":"web"},{"kind":7,"name":"web"}]}`, nil},
		{"another cluster", recordsYAML,
			`"spec":{"server":"far"},"status":{"resources":[{"kind":"Service","namespace":"shop","name":"web"}]}`, nil},
		{"no record", recordsYAML, `"status":{}`, nil},
		{"identifiers", idsYAML, `"status":{"entries":[{"ref":{"id":"shop_web_apps_Deployment"}},{"ref":{"id":"shop_web__Service"}},
			{"ref":{"id":"_system__web_rbac.authorization.k8s.io_ClusterRole"}}]}`, []workload.Ref{role, web, service}},
		{"unreadable identifiers", idsYAML, `"status":{"entries":[{"ref":{"id":""}},{"ref":{"id":"shop"}},{"ref":{"id":"shop_web"}},
			{"ref":{"id":"shop_web_Deployment"}},{"ref":{"id":"shop__apps_Deployment"}},{"ref":{"id":"shop_web_apps_"}},{"ref":{}},{}]}`, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			raw := []byte(`{"metadata":{"namespace":"ops","name":"app"},` + tc.object + `}`)
			a := mustCompile(t, tc.adapter, Keys{Owned: true})
			if diff := cmp.Diff(tc.want, a.Owned(projected(t, a, raw))); diff != "" {
				t.Error(diff)
			}
			without := mustCompile(t, tc.adapter, Keys{})
			if got := without.Owned(projected(t, without, raw)); got != nil {
				t.Errorf("without a policy that holds owners, %v is kept", got)
			}
		})
	}
}

// Without a policy that holds owners, nothing of a record is kept, and the watch need not restart after an edit of owns.
func TestRecordsAreKeptOnDemand(t *testing.T) {
	with, without, none := mustCompile(t, recordsYAML, Keys{Owned: true}), mustCompile(t, recordsYAML, Keys{}),
		mustCompile(t, vmYAML, Keys{Owned: true})
	if !with.CanOwn() || !with.KeepsOwned() || !without.CanOwn() || without.KeepsOwned() || none.CanOwn() || none.KeepsOwned() {
		t.Error("a record is kept exactly if the adapter has one and a policy holds owners")
	}
	if with.ProjectionID() == without.ProjectionID() || none.ProjectionID() != mustCompile(t, vmYAML, Keys{}).ProjectionID() {
		t.Error("the projection must differ exactly if a record is kept")
	}
}
