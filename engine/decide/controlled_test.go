package decide_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// scaledObject is a ScaledObject of KEDA, and keda what its controller makes of it: an autoscaler that has its bounds.
const scaledObject = `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"scaled","namespace":"shop","uid":"so","resourceVersion":"7","generation":1},
  "spec":{"minReplicaCount":0,"maxReplicaCount":9,"scaleTargetRef":{"name":"web"},"triggers":[{"type":"cpu","metricType":"Utilization","metadata":{"value":"50"}}]}}`

func kedaOf(kind, name string) string {
	return strings.Replace(scalingAt("50", 1, 9), `"uid":"uid-hpa"`,
		`"uid":"uid-hpa","ownerReferences":[{"apiVersion":"keda.sh/v1alpha1","kind":"`+kind+`","name":"`+name+`","uid":"so","controller":true}]`, 1)
}

// TestWhatAGovernorControlsDoesNotGovern: an autoscaler that KEDA makes has what its ScaledObject says; what is written there would be undone.
func TestWhatAGovernorControlsDoesNotGovern(t *testing.T) {
	so := workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "scaled"}
	for _, tc := range []struct {
		reason  string
		policy  policy.Object
		at      int // hours after noon
		objects []string
		hpa, so string // parts of what is written; empty: nothing is
	}{
		{"tuned", tuning(v1alpha1.TortoiseAuto), 0, []string{requesting(4), scaledObject, kedaOf("ScaledObject", "scaled")}, "", `"77"`},
		{"asleep", nightly(0), 8, []string{webAt(4), scaledObject, strings.Replace(kedaOf("ScaledObject", "scaled"), `"minReplicas":1`, `"minReplicas":0`, 1)}, "", `paused`},
		{"what another policy of the kind has set is given back", tuning(v1alpha1.TortoiseAuto), 0,
			[]string{requesting(4), scaledObject, strings.Replace(kedaOf("ScaledObject", "scaled"), `"metadata":{`,
				`"metadata":{"annotations":{"flyball.dev/ledger":"{\"/spec/maxReplicas\":{\"was\":8,\"set\":9,\"by\":\"Tortoise/shop/tuned\",\"since\":\"2026-03-02T20:00:00Z\"},\"of\":\"HorizontalPodAutoscaler/hpa\",\"namespace\":\"shop\",\"uid\":\"uid-hpa\"}"},`, 1)},
			`"maxReplicas":8`, `"77"`},
		{"of a ScaledObject that governs something else", tuning(v1alpha1.TortoiseAuto), 0,
			[]string{requesting(4), strings.Replace(scaledObject, `"name":"web"`, `"name":"other"`, 1), kedaOf("ScaledObject", "scaled")}, `"value":77`, ""},
		{"of what it governs itself", tuning(v1alpha1.TortoiseAuto), 0, []string{requesting(4), strings.Replace(kedaOf("Deployment", "web"), "keda.sh/v1alpha1", "apps/v1", 1)}, `"value":77`, ""},
	} {
		m := memory(t, []policy.Object{tc.policy}, tc.objects...)
		m.Advise(web, found(noon))
		now := noon
		if tc.at > 0 {
			now = evening
		}
		for ref, want := range map[workload.Ref]string{hpa: tc.hpa, so: tc.so} {
			v := decide.Target(m, ref, now, nil)
			if got := body(v); v.Err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %s: writes %q, %v; want %q", tc.reason, ref.Kind, got, v.Err, want)
			}
		}
	}
	if got := memory(t, nil, webAt(4), scaledObject, kedaOf("ScaledObject", "scaled")).Governors(web); len(got) != 1 || got[0] != so {
		t.Errorf("it is governed by %v", got)
	}
}
