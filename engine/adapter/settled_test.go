package adapter

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

const settlingYAML = `
target: {group: example.com, kind: Farm, versions: [v1]}
scale: [{name: farm, replicas: .spec.n}]
ready:
- {path: .status.ready, op: Ge, valueFrom: .spec.n}
- {path: .status.done, op: Eq, value: true, when: [{path: .spec.once, op: Eq, value: true}]}
`

// withStatus returns an object with a status.
func withStatus(spec, status string) []byte {
	return []byte(`{"metadata":{"name":"web","namespace":"shop"},"spec":` + spec + `,"status":` + status + `}`)
}

// TestObjectsHaveSettledOnceTheirPredicatesHold: an object of an unknown state has not settled, but Unsettled gives no reason.
func TestObjectsHaveSettledOnceTheirPredicatesHold(t *testing.T) {
	ready, plain := Keys{Ready: true}, Keys{}
	for _, tc := range []struct {
		reason    string
		adapter   string
		keys      Keys
		object    []byte
		settled   bool
		why       string // a part of the reason; empty: none
		unsettled string
	}{
		{"the new size is there", settlingYAML, ready, withStatus(`{"n":3}`, `{"ready":3}`), true, "", ""},
		{"the new size is not there yet", settlingYAML, ready, withStatus(`{"n":3}`, `{"ready":1}`), false,
			".status.ready is 1", ".status.ready is 1"},
		{"a predicate that applies", settlingYAML, ready, withStatus(`{"n":3,"once":true}`, `{"ready":3}`), false,
			".status.done", ".status.done"},
		{"a predicate that does not apply", settlingYAML, ready, withStatus(`{"n":3,"once":false}`, `{"ready":3}`), true, "", ""},
		{"each predicate holds", settlingYAML, ready, withStatus(`{"n":3,"once":true}`, `{"ready":3,"done":true}`), true, "", ""},
		{"a status that nobody has written", settlingYAML, ready, withStatus(`{"n":3}`, `{}`), false, ".status.ready is absent", ""},
		{"a zero of the API server", settlingYAML, ready, withStatus(`{"n":3}`, `{"ready":0}`), false, ".status.ready is 0", ""},
		{"read without the status", settlingYAML, plain, withStatus(`{"n":3}`, `{"ready":3}`), false, "not read", ""},
		{"a kind without predicates", cronJobYAML, plain, object(`{}`), true, "", ""},
	} {
		a := mustCompile(t, tc.adapter, tc.keys)
		obj := projected(t, a, tc.object)
		settled, why := a.Settled(obj)
		if settled != tc.settled || (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: settled is %t: %q", tc.reason, settled, why)
		}
		if why := a.Unsettled(obj); (why == "") != (tc.unsettled == "") || !strings.Contains(why, tc.unsettled) {
			t.Errorf("%s: the reason is %q", tc.reason, why)
		}
	}
}

// TestAutoscalersAreSeenOnceTheirPredicatesHold: until the controller acts on a hold, NotSeen names the failed predicate.
func TestAutoscalersAreSeenOnceTheirPredicatesHold(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Scaler, versions: [v1]}
governs: .spec.target
hold: [{set: [{path: .spec.paused, value: true}]}]
seenWhen: [{path: .status.paused, op: Eq, value: true, when: [{path: .spec.paused, op: Eq, value: true}]}]
`, Keys{})
	for _, tc := range []struct{ spec, status, why string }{
		{`{"paused":true}`, `{"paused":true}`, ""},
		{`{"paused":true}`, `{}`, ".status.paused is absent"},
		{`{"paused":true}`, `{"paused":false}`, ".status.paused is false"},
		{`{}`, `{}`, ""},
	} {
		if why := a.NotSeen(projected(t, a, withStatus(tc.spec, tc.status))); (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s with the status %s: the reason is %q", tc.spec, tc.status, why)
		}
	}
}

// TestObjectsFollowTheObjectOfTheirReference: the followed object is in the same namespace.
func TestObjectsFollowTheObjectOfTheirReference(t *testing.T) {
	farm := schema.GroupKind{Group: "example.com", Kind: "Farm"}
	const following = cronJobYAML + "follows: {group: example.com, kind: Farm, name: .spec.farm.name}\n"
	for _, tc := range []struct {
		reason, adapter, spec string
		kind                  schema.GroupKind
		want                  workload.Ref
	}{
		{"a name", following, `{"farm":{"name":"main"}}`, farm, workload.Ref{GroupKind: farm, Namespace: "shop", Name: "main"}},
		{"no name", following, `{"farm":{}}`, farm, workload.Ref{}},
		{"an empty name", following, `{"farm":{"name":""}}`, farm, workload.Ref{}},
		{"a name that is no text", following, `{"farm":{"name":{"of":"main"}}}`, farm, workload.Ref{}},
		{"a kind that follows nothing", cronJobYAML, `{"farm":{"name":"main"}}`, schema.GroupKind{}, workload.Ref{}},
	} {
		a := mustCompile(t, tc.adapter, Keys{})
		if got, ok := a.Follows(projected(t, a, object(tc.spec))); got != tc.want || ok != (tc.want != workload.Ref{}) {
			t.Errorf("%s: it follows %s, %t", tc.reason, got, ok)
		}
		if got := a.FollowedKind(); got != tc.kind {
			t.Errorf("%s: the followed kind is %s", tc.reason, got)
		}
	}
}

// TestRequestsOfATemplateAreThoseOfOnePod: init containers run before the containers, and those that always restart run beside them.
func TestRequestsOfATemplateAreThoseOfOnePod(t *testing.T) {
	const (
		web  = `{"name":"web","resources":{"requests":{"cpu":"250m","memory":"1Gi"}}}`
		side = `{"name":"side","resources":{"limits":{"cpu":"50m","memory":"10Mi"}}}` // the API server requests the limit
		idle = `{"name":"idle"}`
		load = `{"name":"load","resources":{"requests":{"cpu":"1","memory":"5Mi"}}}`
		mesh = `{"name":"mesh","restartPolicy":"Always","resources":{"requests":{"cpu":"100m","memory":"50Mi"}}}`
		mi   = int64(1) << 20
	)
	for _, tc := range []struct {
		reason, adapter, spec string
		want                  *workload.Requests
	}{
		{"containers", knativeYAML, `{"template":{"spec":{"containers":[` + web + `,` + side + `,` + idle + `]}}}`,
			&workload.Requests{MilliCPU: 300, MemoryBytes: 1034 * mi}},
		{"an init container that needs more", knativeYAML, `{"template":{"spec":{"containers":[` + web + `],"initContainers":[` + load + `]}}}`,
			&workload.Requests{MilliCPU: 1000, MemoryBytes: 1024 * mi}},
		{"beside", knativeYAML, `{"template":{"spec":{"containers":[` + web + `],"initContainers":[` + mesh + `,` + load + `]}}}`,
			&workload.Requests{MilliCPU: 1100, MemoryBytes: 1074 * mi}},
		{"requests of the pod, and its overhead", knativeYAML, `{"template":{"spec":{"containers":[` + web + `],` +
			`"resources":{"requests":{"cpu":"2"}},"overhead":{"cpu":"10m","memory":"1Mi"}}}}`,
			&workload.Requests{MilliCPU: 2010, MemoryBytes: 1025 * mi}},
		{"no requests", knativeYAML, `{"template":{"spec":{"containers":[` + idle + `]}}}`, &workload.Requests{}},
		{"no template", knativeYAML, `{}`, nil},
		{"an adapter without a template", cronJobYAML, `{"template":{"spec":{"containers":[` + web + `]}}}`, nil},
	} {
		got, err := mustCompile(t, tc.adapter, Keys{}).TemplateRequests(object(tc.spec))
		if err != nil || (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s: got %+v, %v, want %+v", tc.reason, got, err, tc.want)
		}
	}
	if _, err := mustCompile(t, knativeYAML, Keys{}).TemplateRequests([]byte(`{"spec":`)); err == nil {
		t.Error("an object that is not JSON has no error")
	}
}
