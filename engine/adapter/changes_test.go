package adapter

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

const (
	created = workload.ChangeCreate
	deleted = workload.ChangeDelete
)

// guestYAML is a kind whose objects, if they have a host, are created and deleted together with the host.
const guestYAML = `
target: {group: example.com, kind: Guest, versions: [v1]}
changes:
  create: [.metadata.labels, .metadata.ownerReferences]
  delete: [.metadata.ownerReferences, .spec.ttl]
  rollout: [.status.orders, ".metadata.annotations['refresh']", .spec.both]
  scale: [.spec.both]
  requests: [.status.orders, ".metadata.annotations['refresh']"]
  createDeleteWhen: [{path: '.metadata.ownerReferences[?(@.controller==true)]', op: NotExists}]
  subresources: [status, resize]
`

func TestChangesHaveTheirActions(t *testing.T) {
	const hosted = `{"metadata":{"ownerReferences":[{"uid":"a"},{"uid":"b","controller":true}]}}`
	tests := []struct {
		name, adapter, before, after string
		want                         workload.Change
	}{
		{"created alone", guestYAML, ``, `{"metadata":{"ownerReferences":[{"uid":"a"}]}}`, created},
		{"created with a host", guestYAML, ``, hosted, nothing},
		{"deleted alone", guestYAML, `{"metadata":{"ownerReferences":null}}`, ``, deleted},
		{"deleted with a host", guestYAML, hosted, ``, nothing},
		{"labels make another", guestYAML, `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{}}`, created},
		{"an owner is two things", guestYAML, hosted, `{"metadata":{}}`, created | deleted},
		{"a field in two lists", guestYAML, `{"spec":{"both":1}}`, `{"spec":{"both":2}}`, both},
		{"a life", guestYAML, `{"spec":{}}`, `{"spec":{"ttl":0}}`, deleted},
		{"a request comes", guestYAML, `{"metadata":{}}`, `{"metadata":{"annotations":{"refresh":"now"}}}`, rollout},
		{"a request becomes another", guestYAML, `{"metadata":{"annotations":{"refresh":"now"}}}`,
			`{"metadata":{"annotations":{"refresh":"soon"}}}`, rollout},
		{"a request goes", guestYAML, `{"metadata":{"annotations":{"refresh":"now","a":"b"}}}`, `{"metadata":{"annotations":{"a":"b"}}}`,
			nothing},
		{"a request goes with all annotations", guestYAML, `{"metadata":{"annotations":{"refresh":"now"}}}`, `{"metadata":{}}`, nothing},
		{"a request becomes null", guestYAML, `{"metadata":{"annotations":{"refresh":"now"}}}`, `{"metadata":{"annotations":{"refresh":null}}}`,
			nothing},
		{"an order comes", guestYAML, `{"status":{}}`, `{"status":{"orders":[{"do":"stop"},{"do":"start"}]}}`, rollout},
		{"the first order goes", guestYAML, `{"status":{"orders":[{"do":"stop"},{"do":"start"}]}}`, `{"status":{"orders":[{"do": "start"}]}}`,
			nothing},
		{"all orders go", guestYAML, `{"status":{"orders":[{"do":"stop"}]}}`, `{"status":{"orders":[]}}`, nothing},
		{"one order goes and another comes", guestYAML, `{"status":{"orders":[{"do":"stop"},{"do":"start"}]}}`,
			`{"status":{"orders":[{"do":"reset"}]}}`, rollout},
		{"the orders change places", guestYAML, `{"status":{"orders":[{"do":"stop"},{"do":"start"}]}}`,
			`{"status":{"orders":[{"do":"start"},{"do":"stop"}]}}`, rollout},
		{"the orders become a text", guestYAML, `{"status":{"orders":[{"do":"stop"}]}}`, `{"status":{"orders":"none"}}`, rollout},
		{"a field that is no request goes", guestYAML, `{"spec":{"both":1}}`, `{"spec":{}}`, both},
		{"the rest of the status", guestYAML, `{"status":{"a":1}}`, `{"status":{"a":2}}`, nothing},

		{"owners of any kind", deploymentYAML, `{"metadata":{}}`, hosted, deleted},
		{"the owners of any kind go", deploymentYAML, hosted, `{"metadata":{}}`, deleted},
		{"the same owners", deploymentYAML, hosted, `{"metadata":{"ownerReferences":[{"uid":"a"},{"controller":true,"uid":"b"}],"labels":{}}}`,
			nothing},
		{"owners ignored by the adapter", cronJobYAML + "changes: {ignore: [.metadata.ownerReferences]}", `{"metadata":{}}`, hosted, nothing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := mustCompile(t, test.adapter, Keys{}).Classify([]byte(test.before), []byte(test.after)); got != test.want {
				t.Errorf("want %v, got %v", test.want.Names(), got.Names())
			}
		})
	}
}

// An edit asks for something only if it sets a request. Other fields, and the end of a request, ask for nothing.
func TestAsksFor(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		want                bool
	}{
		{"an order comes", `{}`, `{"status":{"orders":[{"do":"start"}]}}`, true},
		{"one order goes and another comes", `{"status":{"orders":[{"do":"stop"}]}}`, `{"status":{"orders":[{"do":"start"}]}}`, true},
		{"the order goes", `{"status":{"orders":[{"do":"stop"}]}}`, `{"status":{"orders":[]}}`, false},
		{"the status goes", `{"status":{"orders":[{"do":"stop"}]}}`, `{}`, false},
		{"another field", `{"spec":{"both":1},"status":{}}`, `{"spec":{"both":2},"status":{"a":1}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := mustCompile(t, guestYAML, Keys{}).AsksFor([]byte(test.before), []byte(test.after)); got != test.want {
				t.Errorf("want %v, got %v", test.want, got)
			}
		})
	}
	if mustCompile(t, deploymentYAML, Keys{}).AsksFor([]byte(`{}`), []byte(`{"spec":{"replicas":1}}`)) {
		t.Error("a kind without requests has one")
	}
}

// Predicates on whole objects are in no watch.
func TestLifecycleIsNotWatched(t *testing.T) {
	with := mustCompile(t, guestYAML, Keys{})
	without := mustCompile(t, "target: {group: example.com, kind: Guest, versions: [v1]}", Keys{})
	if with.ProjectionID() != without.ProjectionID() {
		t.Errorf("changes alters the projection: %s, %s", with.ProjectionID(), without.ProjectionID())
	}
	if got := mustCompile(t, cronJobYAML+"changes: {create: [.status.seen]}", Keys{}).Subresources(); !slices.Equal(got, []string{"status"}) {
		t.Errorf("a field of the status is listed, and %v are judged", got)
	}
	if diff := cmp.Diff([]string{"status", "resize"}, with.Subresources()); diff != "" {
		t.Errorf("subresources (-want +got):\n%s", diff)
	}
}

func TestGovernedTargetsOfAnEditAreFound(t *testing.T) {
	const autoscalerYAML = `
target: {group: keda.sh, kind: ScaledObject, versions: [v1alpha1]}
bounds: {max: {path: .spec.max}}
governs: .spec.ref
governsKind: {group: apps, kind: Deployment}
changes: {scale: [.spec, ".metadata.annotations['paused']"], ignore: [.spec.note]}
`
	ref := func(kind, name string) workload.Ref {
		return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: kind}, Namespace: "shop", Name: name}
	}
	autoscaler := func(more string) string {
		return `{"metadata":{"namespace":"shop","name":"g"` + more + `}`
	}
	web, db := autoscaler(`},"spec":{"ref":{"name":"web"},"max":3}`),
		autoscaler(`},"spec":{"ref":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db"},"max":3}`)
	tests := []struct {
		name, adapter, before, after string
		want                         []workload.Ref
	}{
		{"a autoscaler comes", autoscalerYAML, ``, web, []workload.Ref{ref("Deployment", "web")}},
		{"a autoscaler goes", autoscalerYAML, web, ``, []workload.Ref{ref("Deployment", "web")}},
		{"a bound", autoscalerYAML, web, autoscaler(`},"spec":{"ref":{"name":"web"},"max":9}`), []workload.Ref{ref("Deployment", "web")}},
		{"an annotation that acts", autoscalerYAML, web, autoscaler(`,"annotations":{"paused":"true"}},"spec":{"ref":{"name":"web"},"max":3}`),
			[]workload.Ref{ref("Deployment", "web")}},
		{"another target", autoscalerYAML, web, db, []workload.Ref{ref("Deployment", "web"), ref("StatefulSet", "db")}},
		{"labels", autoscalerYAML, web, autoscaler(`,"labels":{"a":"b"}},"spec":{"ref":{"name":"web"},"max":3}`), nil},
		{"status", autoscalerYAML, web, autoscaler(`},"spec":{"ref":{"name":"web"},"max":3},"status":{"a":1}`), nil},
		{"a field that is ignored", autoscalerYAML, web, autoscaler(`},"spec":{"ref":{"name":"web"},"max":3,"note":"x"}`), nil},
		{"a autoscaler of nothing", autoscalerYAML, ``, autoscaler(`},"spec":{}`), nil},
		{"a kind that governs nothing", deploymentYAML, ``, web, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := mustCompile(t, test.adapter, Keys{}).Rescaled([]byte(test.before), []byte(test.after))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := mustCompile(t, autoscalerYAML, Keys{}).Rescaled(nil, []byte("{")); err == nil {
		t.Error("half an object governs nothing, in silence")
	}
}
