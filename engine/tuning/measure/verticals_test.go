package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

const page = `{"metadata": {"continue": "next"}, "items": [
  {"metadata": {"namespace": "shop", "name": "deployment.apps-web", "uid": "1", "labels": {"flyball.dev/made": "true"}},
   "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Off"},
     "resourcePolicy": {"containerPolicies": [{"containerName": "*", "mode": "Off"}, {"containerName": "app", "mode": "Auto", "controlledResources": ["memory"]}]}},
   "status": {"conditions": [{"type": "RecommendationProvided", "status": "True"}, {"type": "LowConfidence", "status": "True", "message": "too few"}],
     "recommendation": {"containerRecommendations": [
       {"containerName": "app", "target": {"cpu": "250m", "memory": "262144k"}, "lowerBound": {"cpu": "0.1", "memory": 1000}, "upperBound": {"cpu": 2, "memory": "1Gi"}, "uncappedTarget": {"cpu": "300m"}},
       {"containerName": "odd", "target": {"cpu": "much", "memory": "-1"}}, {"containerName": "long", "target": {"cpu": "1e-999999999", "memory": "1e999999999"}}, {"containerName": "half", "target": {"cpu": "9999999Pi", "memory": "64Mi"}}]}}},
  {"metadata": {"namespace": "shop", "name": "a-bare"}, "spec": {"targetRef": {"apiVersion": "apps/v1beta2", "kind": "Deployment", "name": "web"}},
   "status": {"conditions": [{"type": "NoPodsMatched", "status": "True", "message": "no pods\nat all", "lastTransitionTime": "2037-01-05t12:00:00z"}, {"type": "RecommendationProvided", "status": "False", "message": ""}]}},
  {"metadata": {"namespace": "other", "name": "web", "labels": {"flyball.dev/made": "true"}}, "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {}}},
  {"metadata": {"namespace": "shop", "name": "strange"}, "spec": {"targetRef": {"apiVersion": "a/b/c", "kind": "Deployment", "name": "web"}}},
  {"metadata": {"namespace": "shop", "name": "empty"}},
  {"metadata": {"namespace": "shop", "name": "none"}, "spec": {"targetRef": ["web"]}}, 3
]}`

// TestAPageIsRead: objects are found by their target, for any version of its kind, in the order of names. An invalid
// amount is unknown, and an invalid object does not hide others.
func TestAPageIsRead(t *testing.T) {
	all := &AllVerticals{of: map[workload.Ref][]policy.SeenVertical{}, made: map[workload.Ref]int{}}
	if next, err := all.add([]byte(page)); err != nil || next != "next" {
		t.Fatalf("%q, %v", next, err)
	}
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	want := []policy.SeenVertical{
		{Name: "a-bare", Mode: "Recreate", NoPods: true, Message: `no pods\nat all`, Recommended: map[string]policy.VerticalRequests{}},
		{
			Name: "deployment.apps-web", Mode: "Off", LowConfidence: true,
			Containers: []policy.VerticalRule{{Container: "*", Off: true}, {Container: "app", Resources: []workload.Resource{workload.Memory}}},
			Recommended: map[string]policy.VerticalRequests{
				"app": {
					Target: workload.Requests{MilliCPU: 250, MemoryBytes: 262144000}, Lower: workload.Requests{MilliCPU: 100, MemoryBytes: 1000},
					Upper: workload.Requests{MilliCPU: 2000, MemoryBytes: 1 << 30}, Uncapped: workload.Requests{MilliCPU: 300},
				},
				"half": {Target: workload.Requests{MemoryBytes: 64 << 20}},
			},
		},
	}
	if diff := cmp.Diff(want, all.Of(web)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]MadeVertical{{Namespace: "shop", Name: "deployment.apps-web", UID: "1", Target: web}}, all.Made); diff != "" {
		t.Error(diff)
	}
	other := web
	other.Namespace = "other"
	if !all.HasOthers(web) || !all.HasOthers(other) || all.HasOthers(workload.Ref{Name: "web"}) || len(all.Of(other)) != 1 {
		t.Errorf("others: %t, %t", all.HasOthers(web), all.HasOthers(other))
	}
	if (*AllVerticals)(nil).Of(web) != nil {
		t.Error("before they are read there are some")
	}
	if _, err := all.add([]byte(`{"items": 3}`)); err == nil {
		t.Error("what is no list is read")
	}
}

// TestActingVerticalMadeByFlyballIsReported: an object that Flyball made and that now changes pods is reported as
// changing pods, like
// any other. Without the label, it counts as the object of a different writer.
func TestActingVerticalMadeByFlyballIsReported(t *testing.T) {
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	for labels, mine := range map[string]int{`{"flyball.dev/made": "true"}`: 1, `{}`: 0} {
		all := &AllVerticals{of: map[workload.Ref][]policy.SeenVertical{}, made: map[workload.Ref]int{}}
		if _, err := all.add([]byte(`{"items": [{"metadata": {"namespace": "shop", "name": "` + workload.CompanionName(web) + `", "labels": ` +
			labels + `},
			"spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "updatePolicy": {"updateMode": "Recreate"}}}]}`)); err != nil {
			t.Fatal(err)
		}
		if got := all.Of(web); len(got) != 1 || got[0].Mode != "Recreate" || len(all.Made) != mine || all.HasOthers(web) != (mine == 0) {
			t.Errorf("with %s: %+v, %d made, others: %t", labels, got, len(all.Made), all.HasOthers(web))
		}
	}
}
