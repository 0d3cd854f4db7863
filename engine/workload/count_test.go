package workload

import "testing"

func TestCountUsesSingularAndPlural(t *testing.T) {
	for n, want := range map[int]string{0: "no pods, no policies", 1: "1 pod, 1 policy", 2: "2 pods, 2 policies"} {
		if got := Count(n, "pod") + ", " + Count(n, "policy"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
