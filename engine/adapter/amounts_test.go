package adapter

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

var webCPU = workload.Amount{Kind: workload.AmountRequest, Component: "web", Resource: workload.CPU}

// asking is a plan for one amount.
func asking(key workload.Amount, n int64) workload.Plan {
	return workload.Plan{Amounts: map[workload.Amount]workload.Claim[int64]{key: {Value: n, By: peaks, Since: monday}}}
}

// pod returns the spec of a Deployment with one container of the given resources.
func pod(resources string) string {
	return fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":"web","resources":%s}]}}}`, resources)
}

func TestLimitsFollowRequests(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	for _, test := range []struct {
		name, before string
		ask          int64
		after        string
	}{
		{"no limit, and none is made", `{"requests":{"cpu":"100m"}}`, 300, `{"requests":{"cpu":"300m"}}`},
		{"nothing at all", `{}`, 300, `{"requests":{"cpu":"300m"}}`},
		{"by the ratio, up", `{"requests":{"cpu":"100m"},"limits":{"cpu":"250m"}}`, 300, `{"requests":{"cpu":"300m"},"limits":{"cpu":"750m"}}`},
		{"by the ratio, down, rounded down", `{"requests":{"cpu":"300m"},"limits":{"cpu":"1"}}`, 100,
			`{"requests":{"cpu":"100m"},"limits":{"cpu":"333m"}}`},
		{"guaranteed stays guaranteed", `{"requests":{"cpu":"1"},"limits":{"cpu":"1"}}`, 700,
			`{"requests":{"cpu":"700m"},"limits":{"cpu":"700m"}}`},
		{"a limit is the request, too", `{"limits":{"cpu":"1"}}`, 700, `{"requests":{"cpu":"700m"},"limits":{"cpu":"700m"}}`},
		{"a request of nothing has no ratio", `{"requests":{"cpu":"0"},"limits":{"cpu":"500m"}}`, 700,
			`{"requests":{"cpu":"700m"},"limits":{"cpu":"700m"}}`},
		{"another spelling of the same", `{"requests":{"cpu":"0.5"},"limits":{"cpu":"1000m"}}`, 500,
			`{"requests":{"cpu":"0.5"},"limits":{"cpu":"1000m"}}`},
		{"whole cores in the usual spelling", `{"requests":{"cpu":"0.5"}}`, 2000, `{"requests":{"cpu":"2"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(object(pod(test.before)))
			s.settle(t, a, asking(webCPU, test.ask))
			if want := pod(test.after); !path.Equal(want, s.spec()) {
				t.Errorf("want %s, got %s", want, s.spec())
			}
			s.settle(t, a, workload.Plan{})
			if want := pod(test.before); !path.Equal(want, s.spec()) {
				t.Errorf("given back: want %s, got %s", want, s.spec())
			}
		})
	}
}

func TestInRatio(t *testing.T) {
	for _, test := range []struct{ request, ownRequest, ownLimit, want int64 }{
		{100, 100, 200, 200},
		{1, 3, 4, 2},         // a limit that is more stays more
		{251, 200, 300, 376}, // 376.5: not more than the ratio allows
		{50, 0, 20, 50},
		{50, 0, 80, 80},
		{100, 200, 100, 100}, // never below the request, whatever was there
		{math.MaxInt64, 1, 2, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64 / 2, 1, 3, math.MaxInt64},
	} {
		if got := workload.LimitFor(test.request, test.ownRequest, test.ownLimit); got != test.want {
			t.Errorf("LimitFor(%d, %d, %d) = %d, want %d", test.request, test.ownRequest, test.ownLimit, got, test.want)
		}
	}
}

// TestRequestOfAnotherWriterStaysUntilTheNextTransition respects a foreign writer's request, and the limit beside
// it, until the next transition. Flyball's
// amount in another spelling does not count as a foreign value.
func TestRequestOfAnotherWriterStaysUntilTheNextTransition(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	const at = "/spec/template/spec/containers/0/resources/requests/cpu"
	set := func() *server {
		s := newServer(object(pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"500m"}}`)))
		s.settle(t, a, asking(webCPU, 1000))
		return s
	}
	s := set()
	s.set(at, `"1000m"`)
	s.stamp()
	if r := s.settle(t, a, asking(webCPU, 1000)); r.Patch != nil || r.State != workload.StateSet {
		t.Errorf("another spelling: %s, %s", r.State, r.Message)
	}
	s.settle(t, a, workload.Plan{})
	if want := pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"500m"}}`); !path.Equal(want, s.spec()) {
		t.Errorf("given back after another spelling: %s", s.spec())
	}

	s = set()
	s.set(at, `"300m"`)
	s.stamp()
	if r := s.settle(t, a, asking(webCPU, 1000)); r.State != workload.StateOverridden || len(r.Changed) > 0 {
		t.Errorf("somebody else's request: %s, %s", r.State, r.Message)
	}
	next := asking(webCPU, 1000)
	claim := next.Amounts[webCPU]
	claim.Since = monday.Add(time.Hour)
	next.Amounts[webCPU] = claim
	s.settle(t, a, next)
	if want := pod(`{"requests":{"cpu":"1"},"limits":{"cpu":"1666m"}}`); !path.Equal(want, s.spec()) {
		t.Errorf("after the next transition: %s", s.spec())
	}
	s.settle(t, a, workload.Plan{})
	if want := pod(`{"requests":{"cpu":"300m"},"limits":{"cpu":"500m"}}`); !path.Equal(want, s.spec()) {
		t.Errorf("given back after the next transition: %s", s.spec())
	}
}

// TestACorrectedRequestKeepsTheOwnersRatio writes request and limit at once, from the originals of both.
func TestACorrectedRequestKeepsTheOwnersRatio(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	const at = "/spec/template/spec/containers/0/resources/requests/cpu"
	enforced := asking(webCPU, 1000)
	claim := enforced.Amounts[webCPU]
	claim.Enforce = true
	enforced.Amounts[webCPU] = claim
	for _, theirs := range []string{"", `"300m"`} {
		s := newServer(object(pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"500m"}}`)))
		s.settle(t, a, enforced)
		s.set(at, theirs)
		before := s.writes
		s.settle(t, a, enforced)
		if want := pod(`{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}`); !path.Equal(want, s.spec()) || s.writes != before+1 {
			t.Errorf("%q is corrected by %d writes: %s", theirs, s.writes-before, s.spec())
		}
		s.settle(t, a, workload.Plan{})
		if want := pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"500m"}}`); !path.Equal(want, s.spec()) {
			t.Errorf("given back: %s", s.spec())
		}
	}
}

// TestAmountsAreKeptWhereTheyAreAskedFor checks that no containers are kept if no policy sets requests. A restore
// works
// without them, because it finds containers by name.
func TestAmountsAreKeptWhereTheyAreAskedFor(t *testing.T) {
	asked, unasked := mustCompile(t, deploymentYAML, Keys{Amounts: true}), mustCompile(t, deploymentYAML, Keys{})
	const before = `{"template":{"spec":{"containers":[{"name":"a","resources":{}},{"name":"web","resources":{"requests":{"cpu":"250m"}}}]}}}`
	s := newServer(object(before))
	if n := len(projected(t, unasked, s.doc).Elements); n != 0 {
		t.Errorf("%d elements are kept that nobody asks for", n)
	}
	if o := unasked.Observe(projected(t, unasked, s.doc)); o.Allocations != nil {
		t.Errorf("observed %v", o.Allocations)
	}
	if asked.ProjectionID() == unasked.ProjectionID() {
		t.Error("a watch would not restart for what policies ask for")
	}
	want := workload.Allocations{{Component: "a"}, {Component: "web", Requests: workload.Requests{MilliCPU: 250}}}
	if diff := cmp.Diff(want, asked.Observe(projected(t, asked, s.doc)).Allocations); diff != "" {
		t.Error(diff)
	}
	plan := asking(webCPU, 1000)
	plan.Amounts[workload.Amount{Component: "a", Resource: workload.Memory}] = workload.Claim[int64]{Value: 1 << 20, By: peaks, Since: monday}
	s.settle(t, asked, plan)
	s.set("/spec/template/spec/containers",
		`[{"name":"web","resources":{"requests":{"cpu":"1"}}},{"name":"a","resources":{"requests":{"memory":"1Mi"}}}]`)
	s.stamp()
	r := s.settle(t, unasked, workload.Plan{})
	if after := `{"template":{"spec":{"containers":[{"name":"web","resources":{"requests":{"cpu":"250m"}}},{"name":"a",` +
		`"resources":{}}]}}}`; !path.Equal(after, s.spec()) {
		t.Errorf("given back: %s", s.spec())
	}
	if r.Impact != v1alpha1.ImpactRollout || r.Actions != workload.ChangeRollOut {
		t.Errorf("giving back is %s, %v", r.Impact, r.Actions.Names())
	}
}

// TestBlindAutoscalers checks that an autoscaler that cannot read its metrics is known if a policy tunes it.
// Otherwise
// no conditions of autoscalers are kept.
func TestBlindAutoscalers(t *testing.T) {
	const condition = `.status.conditions[?(@.type=="ScalingActive")]`
	adapter := hpaYAML + `
blind:
- {path: '` + condition + `.status', op: Eq, value: "False"}
- {path: '` + condition + `.reason', op: Ne, value: ScalingDisabled}
`
	tuned, plain := mustCompile(t, adapter, Keys{Amounts: true}), mustCompile(t, adapter, Keys{})
	if tuned.ProjectionID() == plain.ProjectionID() || plain.ProjectionID() != mustCompile(t, hpaYAML, Keys{}).ProjectionID() {
		t.Error("conditions are kept of autoscalers that nobody tunes")
	}
	for _, test := range []struct {
		status string
		want   bool
	}{
		{`{}`, false},
		{`{"conditions":[{"type":"AbleToScale","status":"False","reason":"FailedGetScale"}]}`, false},
		{`{"conditions":[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"True","reason":"ValidMetricFound"}]}`, false},
		{`{"conditions":[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric"}]}`,
			true},
		{`{"conditions":[{"type":"ScalingActive","status":"False","reason":"ScalingDisabled"}]}`, false},
	} {
		raw := []byte(strings.Replace(string(object(`{"minReplicas":1,"maxReplicas":3}`)), `"spec":`, `"status":`+test.status+`,"spec":`, 1))
		if got := tuned.Observe(projected(t, tuned, raw)).Blind; got != test.want {
			t.Errorf("with the status %s it is blind: %t", test.status, got)
		}
		if plain.Observe(projected(t, plain, raw)).Blind {
			t.Errorf("with the status %s it is blind where nobody asks", test.status)
		}
	}
	if _, errs := Compile("x", specOf(t, strings.Replace(adapter, "governs: .spec.scaleTargetRef", "", 1)),
		Keys{}); !strings.Contains(errs.ToAggregate().Error(), "spec.blind") {
		t.Errorf("a kind that governs nothing may be blind: %v", errs)
	}
}

func TestAmountsThatCannotBeSet(t *testing.T) {
	keys := Keys{Amounts: true}
	for _, test := range []struct{ name, adapter, spec, message string }{
		{"no such container", deploymentYAML, `{"template":{"spec":{"containers":[{"name":"other"}]}}}`, "there is no web cpu request to set"},
		{"what is no quantity", deploymentYAML, pod(`{"requests":{"cpu":"much"}}`), `web cpu request is "much", which is no amount of 0 or more`},
		{"a negative one", deploymentYAML, pod(`{"requests":{"cpu":"-1"}}`), `web cpu request is "-1", which is no amount of 0 or more`},
		{"more than can be counted", deploymentYAML, pod(`{"requests":{"cpu":"9E"}}`),
			`web cpu request is "9E", which is no amount of 0 or more`},
		{"no place", deploymentYAML, pod(`{"requests":"none"}`),
			"web cpu request has no place at /spec/template/spec/containers/0/resources/requests/cpu"},
		{"two of a name", deploymentYAML, `{"template":{"spec":{"containers":[{"name":"web"},{"name":"web"}]}}}`,
			"two elements of the list have the name web"},
		{"two of a name that have it", strings.Replace(allocatedListsYAML, ", default: 0", "", 1),
			`{"nodeSets":[{"name":"web","count":1},{"name":"web","count":2}]}`,
			"two elements of the list have the name web"},
		{"two of a name that have it by default", allocatedListsYAML, `{"nodeSets":[{"name":"web"},{"name":"web"}]}`,
			"two elements of the list have the name web"},
		{"an immutable template", "target: {kind: Job, versions: [v1]}\npods: {template: .spec.template, immutable: true}", pod(`{}`),
			"there is no web cpu request to set"},
		{"a template that the adapter writes to itself", "target: {kind: Own, versions: [v1]}\npods: {template: .spec.template}\n" +
			"suspend: [{set: [{path: .spec.template.spec.containers, value: []}]}]", pod(`{}`), "there is no web cpu request to set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, test.adapter, keys)
			r := rendered(t, a, object(test.spec), asking(webCPU, 500))
			if r.Patch != nil || r.State != workload.StateUnable || r.Message != test.message {
				t.Errorf("%s: %s", r.State, r.Message)
			}
		})
	}
}

// TestHeldAmounts keeps set amounts, with their originals, while one amount of the object cannot be read.
func TestHeldAmounts(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	s := newServer(object(pod(`{"requests":{"cpu":"250m"}}`)))
	s.settle(t, a, asking(webCPU, 500))
	s.set("/spec/template/spec/containers/0/resources/requests/memory", `"much"`)
	s.stamp()
	if r := s.settle(t, a, asking(webCPU, 700)); r.Patch != nil || len(s.ledger(t, a)) != 1 {
		t.Errorf("%s, ledger %v", r.Message, s.ledger(t, a))
	}
	s.settle(t, a, workload.Plan{})
	if want := pod(`{"requests":{"cpu":"250m","memory":"much"}}`); !path.Equal(want, s.spec()) {
		t.Errorf("given back: %s", s.spec())
	}
}

func TestCompileErrorsOfAmounts(t *testing.T) {
	const head = "target: {group: example.com, kind: Any, versions: [v1]}\n"
	for _, test := range []struct {
		spec string
		want []string
	}{
		{"resources: [{requests: {cpu: {path: .spec.cpu}}}]", []string{"spec.resources[0].name: Required value"}},
		{"resources: [{name: a, requests: {}}]", []string{"spec.resources[0].requests: Required value"}},
		{"resources: [{name: a, requests: {cpu: {path: '.a[*]'}}}]",
			[]string{`spec.resources[0].requests.cpu.path: Invalid value: ".a[*]": must name one place`}},
		{"resources: [{name: a, requests: {cpu: {path: .status.cpu}}}]",
			[]string{`spec.resources[0].requests.cpu.path: Invalid value: ".status.cpu": .status cannot be written`}},
		{"resources: [{name: a, requests: {cpu: {path: .spec.cpu, default: -1, encoding: Cores}}}]", []string{
			`spec.resources[0].requests.cpu.encoding: Unsupported value: "Cores"`,
			`spec.resources[0].requests.cpu.default: Invalid value: "-1": must be 0 or more`}},
		{"resources: [{name: a, requests: {cpu: {path: .spec.cpu}}}, {name: a, requests: {cpu: {path: .spec.x}}}]",
			[]string{`spec.resources[1].name: Duplicate value: "a"`}},
		{"resources: [{name: a, requests: {cpu: {path: .spec.cpu}}, limits: {cpu: {path: .spec.cpu}}}]", []string{
			`spec.resources[0].limits.cpu.path: Invalid value: ".spec.cpu": overlaps with .spec.cpu of spec.resources[0].requests.cpu.path`}},
		{"resources: [{each: '.spec.a[*]', requests: {cpu: {path: .cpu}}}]", []string{"spec.resources[0].nameFrom: Required value"}},
		{"resources: [{each: .spec.a, nameFrom: .name, requests: {cpu: {path: .cpu}}}]",
			[]string{`spec.resources[0].each: Invalid value: ".spec.a": must end in [*] or a filter`}},
		{"resources: [{each: '.spec.a[*]', nameFrom: .name, requests: {cpu: {path: '.b[*].cpu'}}}]", []string{
			`spec.resources[0].requests.cpu.path: Invalid value: ".b[*].cpu": must name one place in an element: no [*]`}},
		{"resources: [{each: '.spec.a[*]', nameFrom: .name, when: [{path: .spec.b, op: Exists}], requests: {cpu: {path: .cpu}}}]", []string{
			"spec.resources[0].when: Forbidden: cannot be used with each"}},
		{"utilisation: [{percent: .spec.target}]", []string{"spec.utilisation[0].resource: Required value"}},
		{"utilisation: [{resource: disk, percent: .spec.target}]", []string{`spec.utilisation[0].resource: Unsupported value: "disk"`}},
		{"utilisation: [{resource: cpu, containerFrom: .c, percent: .spec.target}]", []string{
			`spec.utilisation[0].containerFrom: Invalid value: ".c": goes together with each`}},
		{"utilisation: [{each: '.spec.a[*]', percent: .target}]", []string{"spec.utilisation[0].resourceFrom: Required value"}},
		{"utilisation: [{resource: cpu, percent: .spec.a}, {resource: cpu, percent: .spec.b}]",
			[]string{`spec.utilisation[1].resource: Duplicate value: "cpu"`}},
	} {
		t.Run(test.spec, func(t *testing.T) {
			a, errs := Compile("tests", specOf(t, head+test.spec), Keys{})
			if a != nil {
				t.Error("it compiles")
			}
			var got []string
			for i, err := range errs {
				text := err.Error()
				if i < len(test.want) {
					text = text[:min(len(text), len(test.want[i]))]
				}
				got = append(got, text)
			}
			if !slices.Equal(test.want, got) {
				t.Errorf("want %q, got %q (%v)", test.want, got, errs)
			}
		})
	}
}

// TestSettledTargets: the settled state is known if a policy sets requests, and costs no memory otherwise.
func TestSettledTargets(t *testing.T) {
	tuned, plain := mustCompile(t, deploymentYAML, Keys{Amounts: true}), mustCompile(t, deploymentYAML, Keys{})
	for status, want := range map[string]bool{
		`{}`:                       false,
		`{"observedGeneration":1}`: false,
		`{"availableReplicas":3}`:  false,
		`{"observedGeneration":1,"availableReplicas":2}`: false,
		`{"observedGeneration":1,"availableReplicas":3}`: true,
	} {
		raw := strings.Replace(string(object(`{"replicas":3}`)), `"spec":`, `"status":`+status+`,"spec":`, 1)
		raw = strings.Replace(raw, `"metadata":{`, `"metadata":{"generation":1,`, 1)
		if got := tuned.Observe(projected(t, tuned, []byte(raw))).Settled; got != want {
			t.Errorf("with the status %s it has settled: %t", status, got)
		}
	}
	raw := []byte(strings.Replace(string(object(`{"replicas":3}`)), `"spec":`,
		`"status":{"observedGeneration":1,"availableReplicas":3},"spec":`, 1))
	if plain.Observe(projected(t, plain, raw)).Settled {
		t.Error("status is kept of what nobody tunes")
	}
}

// TestMoreMemory checks that the result of a write that raises a request for memory has MoreMemory, whatever else
// changes.
func TestMoreMemory(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	s := newServer(object(pod(`{"requests":{"cpu":"250m","memory":"1Gi"},"limits":{"memory":"2Gi"}}`)))
	for _, step := range []struct {
		bytes int64
		want  bool
	}{{2 << 30, true}, {1536 << 20, false}, {512 << 20, false}, {513 << 20, true}} {
		plan := asking(webCPU, 10_000-step.bytes>>20) // less where memory is more
		plan.Amounts[workload.Amount{Component: "web", Resource: workload.Memory}] = workload.Claim[int64]{Value: step.bytes, By: peaks,
			Since: monday}
		r, err := a.Render(projected(t, a, s.doc), plan)
		if err != nil || r.Patch == nil || r.MoreMemory != step.want {
			t.Errorf("%d bytes are more: %t (%s, %v)", step.bytes, r.MoreMemory, r.Message, err)
		}
		s.settle(t, a, plan)
	}
}

// TestAmountsOfObjects checks that requests for pods are kept apart from requests for the object.
func TestAmountsOfObjects(t *testing.T) {
	amounts := map[workload.Amount]workload.Claim[int64]{
		{Kind: workload.AmountInPlace, Component: "main", Resource: workload.CPU}: {Value: 400},
		{Kind: workload.AmountRequest, Component: "side", Resource: workload.CPU}: {Value: 10},
	}
	if got := ofObjects(amounts); len(got) != 1 || len(amounts) != 2 {
		t.Errorf("%v of %v are for objects", got, amounts)
	}
}
