package pods

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// An owner is identified by its UID too: another object may have its name by now.
func TestTheOwnersUIDMatters(t *testing.T) {
	c := newControllers(newIdentity())
	of := func(uid string) *workload.OwnerReference {
		t.Helper()
		obj, err := c.Project([]byte(`{"metadata":{"namespace":"shop","name":"web-1","uid":"r","ownerReferences":[
		  {"apiVersion":"apps/v1","kind":"Deployment","name":"other","uid":"o"},
		  {"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"` + uid + `","controller":true}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return obj.OwnerReference
	}
	before, now := of("before"), of("now")
	want := workload.OwnerReference{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Name: "web", UID: "now"}
	if *now != want || before.UID != "before" {
		t.Errorf("it is owned by %+v, and was by %+v", now, before)
	}
	if again := of("now"); again != now {
		t.Error("an owner is not shared")
	}
}
