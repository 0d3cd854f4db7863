package tortoise

import (
	"testing"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// TestScaledRequestIsBoundedBySpecAndLargestNode checks the largest request of the scaled container. It is bounded
// by max in the
// spec and by the largest node, if that is known. The node does not bound it below the owner's request.
func TestScaledRequestIsBoundedBySpecAndLargestNode(t *testing.T) {
	for _, tc := range []struct {
		reason, spec string
		node, want   int64
		by           string
	}{
		{"nothing", `{}`, 0, tune.Unbounded, "max of spec.resources"},
		{"a node", `{}`, 16_000, 16_000, "the largest node"},
		{"nodes that are smaller than what its owner requests", `{}`, 500, 1000, "the largest node"},
		{"max of the spec", `{resources: [{max: {cpu: "12"}}]}`, 16_000, 12_000, "max of spec.resources"},
		{"max of the spec, above a node", `{resources: [{max: {cpu: "20"}}]}`, 16_000, 16_000, "the largest node"},
	} {
		m := learnerOf(t, tc.spec)
		m.Own, m.Scaled = map[string]tune.Requests{"app": {CPU: 1000, Memory: 1 << 30}}, "app"
		b := m.spec(policy.Seen{Replicas: 3, Node: workload.Requests{MilliCPU: tc.node}}).Bounds
		if b.MaxRequest != tc.want || b.MaxBy != tc.by {
			t.Errorf("%s: %d by %s, want %d by %s", tc.reason, b.MaxRequest, b.MaxBy, tc.want, tc.by)
		}
	}
}
