package policy_test

import (
	"testing"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// In mode Off a VerticalPodAutoscaler changes nothing. Otherwise it changes the resources in the rule of the container, or
// else in the rule of all other containers.
func TestVerticalChangesTheResourcesOfItsRule(t *testing.T) {
	rules := []policy.VerticalRule{{Container: "*", Resources: []workload.Resource{workload.Memory}}, {Container: "proxy", Off: true},
		{Container: "app"}}
	for _, tc := range []struct {
		mode, container string
		rules           []policy.VerticalRule
		cpu, memory     bool
	}{
		{"Off", "app", nil, false, false},
		{"Off", "app", rules, false, false},
		{"Recreate", "app", nil, true, true},
		{"Initial", "app", nil, true, true},
		{"Auto", "app", rules, true, true},
		{"Auto", "other", rules, false, true},
		{"Auto", "proxy", rules, false, false},
		{"Auto", "proxy", rules[1:2], false, false},
		{"Auto", "other", rules[1:2], true, true},
	} {
		v := policy.SeenVertical{Mode: tc.mode, Containers: tc.rules}
		if cpu, memory := v.Changes(tc.container, workload.CPU), v.Changes(tc.container, workload.Memory); cpu != tc.cpu || memory != tc.memory {
			t.Errorf("mode %s, rules %v: of %s it changes cpu %t and memory %t", tc.mode, tc.rules, tc.container, cpu, memory)
		}
	}
}
