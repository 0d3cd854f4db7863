package freeze_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// onlyDeployments is a freeze of the size of Deployments with a label. It selects no autoscaler.
const onlyDeployments = `
kind: ChangeFreeze
metadata: {name: sizes, namespace: shop}
spec:
  target: {kinds: [{group: apps, kind: Deployment}], selector: {matchLabels: {tier: front}}}
  startTime: 2026-12-20T00:00:00Z
  endTime: 2027-01-03T00:00:00Z
  deny: [Scale]
`

func TestOfGoverned(t *testing.T) {
	autoscaler := func(actions workload.Change) freeze.UserChange {
		return change(actions, func(r *freeze.UserChange) {
			r.Kind, r.Name = schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, "web-scaler"
			r.Old, r.New = labelled("tier", "back"), labelled("tier", "none")
		})
	}
	web := workload.Ref{GroupKind: deployments, Namespace: "shop", Name: "web"}
	for _, test := range []struct {
		reason  string
		req     freeze.UserChange
		facts   *freeze.Facts
		allowed bool
	}{
		{"its bounds", autoscaler(scale), labelled("tier", "front"), false},
		{"it comes", autoscaler(create), labelled("tier", "front"), false},
		{"it goes", autoscaler(remove), labelled("tier", "front"), false},
		{"nothing", autoscaler(0), labelled("tier", "front"), true},
		{"it is going already", change(remove, func(r *freeze.UserChange) { r.Deleting = true }), labelled("tier", "front"), true},
		{"a target with other labels", autoscaler(scale), labelled("tier", "back"), true},
		{"a target that nobody knows", autoscaler(scale), nil, true},
	} {
		s := set(t, onlyDeployments)
		if v := s.Decide(test.req); !v.Allowed && test.req.Kind != deployments {
			t.Errorf("%s: the autoscaler itself is not frozen: %s", test.reason, v.Message)
		}
		v := s.Decide(test.req.OfGoverned(web, test.facts))
		if v.Allowed != test.allowed {
			t.Errorf("%s: allowed %t: %s", test.reason, v.Allowed, v.Message)
		}
		if !v.Allowed && (len(v.Denials) != 1 || v.Denials[0].Actions != scale) {
			t.Errorf("%s: denied %+v, want Scale", test.reason, v.Denials)
		}
	}
	// Without labels, a name is enough.
	named := set(t, `
kind: ChangeFreeze
metadata: {name: sizes, namespace: shop}
spec: {target: {names: [web]}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Scale]}
`)
	if v := named.Decide(autoscaler(scale).OfGoverned(web, nil)); v.Allowed {
		t.Error("a target that is selected by its name is rescaled")
	}
}
