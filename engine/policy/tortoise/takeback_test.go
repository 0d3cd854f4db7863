package tortoise

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// TestRollOutsThatAreTakenBack walks through states of pods. Requests return to the last requests that all pods had, or
// else to the owner's. A refused request becomes a bound until the owner or the policy changes, also after a restart of
// the manager.
func TestRollOutsThatAreTakenBack(t *testing.T) {
	noon := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	m := learnerOf(t, `{mode: Auto}`)
	own, first, second := tune.Requests{CPU: 1000, Memory: 1 << 30}, tune.Requests{CPU: 800, Memory: 1 << 30},
		tune.Requests{CPU: 640, Memory: 2 << 30}
	m.Own, m.Scaled = map[string]tune.Requests{"app": own}, "app"
	set := func(r tune.Requests) { m.Setting.Requests = map[string]tune.Requests{"app": r} }
	seen := func(least, largest tune.Requests, settled bool, stuck string) policy.Seen {
		of := func(r tune.Requests) map[string]workload.Requests {
			return map[string]workload.Requests{"app": {MilliCPU: r.CPU, MemoryBytes: r.Memory}, "injected": {}}
		}
		return policy.Seen{Now: noon, Replicas: 3, Least: of(least), Largest: of(largest), Pods: policy.SeenPods{Settled: settled, Stuck: stuck}}
	}
	for _, step := range []struct {
		reason string
		set    tune.Requests
		seen   policy.Seen
		want   tune.Requests
		taken  bool
	}{
		{"it goes on", first, seen(first, own, false, ""), first, false},
		{"it is through", first, seen(first, first, true, ""), first, false},
		{"pods are refused long after that", first, seen(first, first, false, "no node"), first, false},
		{"the next one is refused", second, seen(first, first, false, "no node"), first, true},
		{"taking it back is refused, too", first, seen(first, first, false, "no room"), own, true},
		{"what the owner has is refused: there is nothing left to go back to", own, seen(own, own, false, "no room"), own, false},
	} {
		set(step.set)
		if taken := m.takeBack(step.seen); taken != step.taken || m.Setting.Requests["app"] != step.want {
			t.Errorf("%s: taken back %t, now %+v", step.reason, taken, m.Setting.Requests["app"])
		}
	}
	if l := m.limitsOf("app"); l.Min.CPU != own.CPU || l.Max.CPU != tune.Unbounded || l.Max.Memory != first.Memory {
		t.Errorf("what was refused bounds nothing: %+v", l)
	}
	if most := m.original().Most["app"]; most.Memory != first.Memory {
		t.Errorf("the formulas are told %+v", most)
	}
	if why := m.trouble(policy.Seen{}); !strings.Contains(why, "app cpu 800m did not become ready and was taken back") ||
		!strings.Contains(why, "no room") {
		t.Errorf("the trouble is %q", why)
	}
	if got := m.takenBack(); len(got.Containers) != 1 || got.Containers[0].CPU.String() != "800m" || got.Containers[0].Memory != nil {
		t.Errorf("it tells of %+v", got)
	}
	next, err := newLearner(m.rules, m.Keep())
	if err != nil || len(next.Refused) != 2 || next.limitsOf("app") != m.limitsOf("app") {
		t.Fatalf("the next manager remembers %+v, %v", next.Refused, err)
	}
	next.follow(policy.Seen{Now: noon.Add(time.Hour),
		Own: workload.Allocations{{Component: "app", Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 3 << 30}}}})
	if len(next.Refused) > 0 {
		t.Error("the owner has changed a request, and what was refused before counts still")
	}
	if (&tortoise{rules: *m.rules}).Adopt(m); len(m.Refused) > 0 {
		t.Error("the policy has changed, and what was refused before counts still")
	}
}
