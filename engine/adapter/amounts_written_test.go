package adapter

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// TestAmountsOneByOne writes one amount in the spelling of its kind, and restores it. It checks its label and whether
// the write restarts pods.
func TestAmountsOneByOne(t *testing.T) {
	const numbersYAML = `
target: {group: example.com, kind: Cores, versions: [v1]}
resources: [{name: db, requests: {cpu: {path: .spec.cores, encoding: Integer}}}]
utilisation: [{resource: cpu, percent: .spec.target}]
`
	webMemory := workload.Amount{Kind: workload.AmountRequest, Component: "web", Resource: workload.Memory}
	for _, c := range []struct {
		name, adapter, spec string
		key                 workload.Amount
		value               int64
		set, message, back  string
		impact              v1alpha1.Impact
	}{
		{"a quantity", allocatedYAML, `{}`, dbCPU, 1500, `{"resources":{"requests":{"cpu":"1500m"}}}`,
			`db cpu request absent -> "1500m"`, `db cpu request "1500m" -> absent`, v1alpha1.ImpactRollout},
		{"another one", allocatedYAML, `{"resources":{"requests":{"memory":1}}}`, dbMemory, 1 << 20,
			`{"resources":{"requests":{"memory":"1Mi"}}}`,
			`db memory request 1 -> "1Mi"`, `db memory request "1Mi" -> 1`, v1alpha1.ImpactRollout},
		{"a share in a text", allocatedYAML, `{"target":{"cpu":"50"}}`, cpuTarget, 70, `{"target":{"cpu":"70"}}`,
			`cpu utilisation "50" -> "70"`, `cpu utilisation "70" -> "50"`, v1alpha1.ImpactNone},
		{"a share", numbersYAML, `{"target":50}`, cpuTarget, 70, `{"target":70}`, `cpu utilisation 50 -> 70`, `cpu utilisation 70 -> 50`,
			v1alpha1.ImpactNone},
		{"whole cores", numbersYAML, `{"cores":1}`, dbCPU, 1500, `{"cores":2}`, `db cpu request 1 -> 2`, `db cpu request 2 -> 1`,
			v1alpha1.ImpactRollout},
		{"of a container", deploymentYAML, pod(`{"requests":{"cpu":"1"}}`), webMemory, 1 << 20, pod(`{"requests":{"cpu":"1","memory":"1Mi"}}`),
			`web memory request absent -> "1Mi"`, `web memory request "1Mi" -> absent`, v1alpha1.ImpactRollout},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := mustCompile(t, c.adapter, Keys{Amounts: true})
			s := newServer(object(c.spec))
			if r := s.settle(t, a, asking(c.key, c.value)); !path.Equal(s.spec(), c.set) || r.Message != c.message || r.Impact != c.impact {
				t.Errorf("%s, %s: %s", r.Message, r.Impact, s.spec())
			}
			if r := s.settle(t, a, workload.Plan{}); !path.Equal(s.spec(), c.spec) || r.Message != c.back || r.Impact != c.impact {
				t.Errorf("given back: %s, %s: %s", r.Message, r.Impact, s.spec())
			}
		})
	}
}

// TestTwinsWithoutTheAmount checks that two elements of one name do no harm if neither has the amount that a policy
// sets.
func TestTwinsWithoutTheAmount(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Pool, versions: [v1]}
resources: [{each: ".spec.nodeSets[*]", nameFrom: .name, requests: {memory: {path: .memory}}}]
`, Keys{Amounts: true})
	s := newServer(object(`{"nodeSets":[{"name":"a"},{"name":"a"},{"name":"set-1","memory":"1Ki"}]}`))
	s.settle(t, a, asking(listAmounts[0], 2048))
	if want := `{"nodeSets":[{"name":"a"},{"name":"a"},{"name":"set-1","memory":"2Ki"}]}`; !path.Equal(want, s.spec()) {
		t.Errorf("want %s, got %s", want, s.spec())
	}
}

// TestLimitOfAnotherWriterStaysAndIsReported checks that a limit changed by a foreign writer stays and is reported,
// and that the
// request beside it stays set.
func TestLimitOfAnotherWriterStaysAndIsReported(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	const limit = "/spec/template/spec/containers/0/resources/limits/cpu"
	s := newServer(object(pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"500m"}}`)))
	s.settle(t, a, asking(webCPU, 1000))
	s.set(limit, `"3"`)
	if r := s.settle(t, a, asking(webCPU, 1000)); r.State != workload.StateOverridden || len(r.Overridden) != 1 || r.Overridden[0] != limit {
		t.Errorf("%s, overridden %v", r.State, r.Overridden)
	}
	s.settle(t, a, workload.Plan{})
	if want := pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"3"}}`); !path.Equal(want, s.spec()) {
		t.Errorf("given back: %s", s.spec())
	}
}

// TestTheLimitOfAnAdoptedRequestStays checks that a limit stays if a foreign writer has written Flyball's request
// again:
// the writer may rely on this limit.
func TestTheLimitOfAnAdoptedRequestStays(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	request := entry("/spec/template/spec/containers/0/resources/requests/cpu", `"250m"`, `"1"`)
	request.Element, request.Adopted = "web", true
	limit := entry("/spec/template/spec/containers/0/resources/limits/cpu", `"500m"`, `"2"`)
	limit.Element = "web"
	r := rendered(t, a, withLedger(t, pod(`{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}`), request, limit), asking(webCPU, 1000))
	if len(r.Changed) > 0 || r.State != workload.StateOverridden {
		t.Errorf("%s: %s, changed %v", r.State, r.Message, r.Changed)
	}
}

// TestLimitsThatDoNotFollow checks that a limit with the rule LimitsStay is the owner's and bounds the request, that
// a
// removed limit comes back, and that a change of the rule takes effect.
func TestLimitsThatDoNotFollow(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{Amounts: true})
	own := pod(`{"requests":{"cpu":"250m"},"limits":{"cpu":"500m","memory":"1Gi"}}`)
	s := newServer(object(own))
	for _, step := range []struct {
		rule  workload.LimitRule
		value int64
		want  string
	}{
		{workload.LimitsStay, 100, `{"requests":{"cpu":"100m"},"limits":{"cpu":"500m","memory":"1Gi"}}`},
		{workload.LimitsStay, 500, `{"requests":{"cpu":"500m"},"limits":{"cpu":"500m","memory":"1Gi"}}`},
		{workload.LimitsStay, 900, `{"requests":{"cpu":"500m"},"limits":{"cpu":"500m","memory":"1Gi"}}`},
		{workload.LimitsFollow, 900, `{"requests":{"cpu":"900m"},"limits":{"cpu":"1800m","memory":"1Gi"}}`},
		{workload.LimitsGo, 900, `{"requests":{"cpu":"900m"},"limits":{"memory":"1Gi"}}`},
		{workload.LimitsStay, 300, `{"requests":{"cpu":"300m"},"limits":{"cpu":"500m","memory":"1Gi"}}`},
		{workload.LimitsGo, 300, `{"requests":{"cpu":"300m"},"limits":{"memory":"1Gi"}}`},
	} {
		plan := asking(webCPU, step.value)
		claim := plan.Amounts[webCPU]
		claim.Limits = step.rule
		plan.Amounts[webCPU] = claim
		s.settle(t, a, plan)
		if want := pod(step.want); !path.Equal(want, s.spec()) {
			t.Errorf("rule %d, %d: %s, want %s", step.rule, step.value, s.spec(), want)
		}
	}
	s.settle(t, a, workload.Plan{})
	if !path.Equal(own, s.spec()) {
		t.Errorf("given back: %s", s.spec())
	}
}
