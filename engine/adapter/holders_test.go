package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

// TestAFieldStaysUntilTheLastHolderLeaves follows the holders of an entry while policies with the same claim come and go. A kept
// policy keeps its value, although another policy made the entry.
func TestAFieldStaysUntilTheLastHolderLeaves(t *testing.T) {
	demo := workload.Policy{Kind: "Override", Namespace: "shop", Name: "demo"}
	by := func(first workload.Policy, also ...workload.Policy) workload.Plan {
		p := sleep()
		p.Size.By, p.Size.Also = first, also
		return p
	}
	keep := func(p workload.Plan, policies ...workload.Policy) workload.Plan {
		p.Keep = map[workload.Policy]bool{}
		for _, id := range policies {
			p.Keep[id] = true
		}
		return p
	}
	type step struct {
		reason  string
		plan    workload.Plan
		holders []workload.Policy // nil: the owner's value is back
	}
	for name, steps := range map[string][]step{
		"a claim of two": {
			{"both", by(nights, peaks), []workload.Policy{nights, peaks}},
			{"one of them", by(nights), []workload.Policy{nights}},
			{"none", workload.Plan{}, nil},
		},
		"kept by the second holder": {
			{"three", by(nights, demo, peaks), []workload.Policy{nights, demo, peaks}},
			{"the first is gone", keep(workload.Plan{}, demo, peaks), []workload.Policy{demo, peaks}},
			{"the last", keep(workload.Plan{}, peaks), []workload.Policy{peaks}},
			{"none", workload.Plan{}, nil},
		},
		"kept beside a claim": {
			{"two", by(nights, peaks), []workload.Policy{nights, peaks}},
			{"one claims and one keeps", keep(by(nights), peaks), []workload.Policy{nights, peaks}},
			{"none keeps any more", by(nights), []workload.Policy{nights}},
		},
		"orphaned by the first and kept by the second": {
			{"two", by(nights, peaks), []workload.Policy{nights, peaks}},
			{"one is an orphan", func() workload.Plan {
				p := keep(workload.Plan{}, peaks)
				p.Orphan = map[workload.Policy]bool{nights: true}
				return p
			}(), []workload.Policy{peaks}},
		},
	} {
		a := mustCompile(t, deploymentYAML, Keys{})
		s := newServer(object(`{"replicas":3}`))
		for _, step := range steps {
			s.settle(t, a, step.plan)
			var holders []workload.Policy
			want := "3"
			if e := s.ledger(t, a).Find("/spec/replicas"); e != nil {
				holders = e.Claimants()
			}
			if step.holders != nil {
				want = "0"
			}
			if diff := cmp.Diff(step.holders, holders); diff != "" || s.value("/spec/replicas") != want {
				t.Errorf("%s, %s: the count is %s, the holders differ: %s", name, step.reason, s.value("/spec/replicas"), diff)
			}
		}
	}
}
