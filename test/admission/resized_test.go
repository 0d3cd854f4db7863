package admission_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
)

// owned returns objects, among them a ReplicaSet whose owner is the Deployment web.
type owned struct{ stored }

func (owned) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata,
	error) {
	o, err := stored{}.Metadata(ctx, resource, namespace, name)
	if err == nil && resource.Resource == "replicasets" && name == "web-1" {
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Controller: ptr.To(true)}}
	}
	return o, err
}

// TestInPlaceResizeScalesOwners proves that an in-place change of a pod counts as a scale of its direct and indirect
// owners, and as nothing else.
func TestInPlaceResizeScalesOwners(t *testing.T) {
	denying := func(actions string) string {
		return `{metadata: {name: named}, spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [shop], names: [web]}, ` +
			`startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [` + actions + `]}}`
	}
	pod := func(kind, owner, memory string) string {
		return `{"metadata":{"name":"web-1-x","ownerReferences":[{"apiVersion":"apps/v1","kind":"` + kind + `","name":"` + owner +
			`","controller":true}]},"spec":{"containers":[{"resources":{"requests":{"memory":"` + memory + `"}}}]}}`
	}
	for _, test := range []struct {
		reason, deny, kind, owner string
		unserved                  bool
		code                      int32
	}{
		{"a pod of the Deployment", "Scale", "ReplicaSet", "web-1", false, http.StatusForbidden},
		{"only other actions are denied", "Create, Delete, RollOut", "ReplicaSet", "web-1", false, 0},
		{"a pod of another Deployment", "Scale", "ReplicaSet", "other-1", false, 0},
		{"a pod without its owner", "Scale", "ReplicaSet", "absent", false, 0},
		{"a pod with an owner of an unknown kind", "Scale", "Made", "up", false, 0},
		{"ReplicaSets have no adapter", "Scale", "ReplicaSet", "web-1", true, http.StatusForbidden},
	} {
		all := freezes(t, denying(test.deny))
		j := &freezeadmission.Judge{Freezes: all, Objects: owned{},
			Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)),
			Log:   logr.Discard()}
		if test.unserved {
			delete(all.adapters, schema.GroupResource{Group: "apps", Resource: "replicasets"})
			j.Served = func(gk schema.GroupKind) (schema.GroupVersionResource, bool) {
				return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, gk.Kind == "ReplicaSet"
			}
		}
		got := ask(t, j, of("", "pods", review("UPDATE", "shop", "web-1-x", "resize", pod(test.kind, test.owner, "1Gi"),
			pod(test.kind, test.owner, "2Gi"))))
		switch {
		case got.Allowed != (test.code == 0):
			t.Errorf("%s: allowed is %t", test.reason, got.Allowed)
		case !got.Allowed && got.Result.Code != test.code:
			t.Errorf("%s: %+v", test.reason, got.Result)
		}
	}
}
