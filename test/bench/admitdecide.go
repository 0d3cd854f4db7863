package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// decidedAmong are the numbers of policies for measuring a decision.
var decidedAmong = []int{10, 1_000, 10_000}

const (
	// A round has several slices for each number of policies, in turn. The slices are so short that other load on the
	// machine affects all numbers equally.
	decideSlices = 20
	// A slice with this many decisions takes some milliseconds.
	sliceDecisions = 1000
)

// deciding measures a decision among growing numbers of policies. Five of the policies concern the change.
func (b *bench) deciding(ctx context.Context) error {
	req, sets, err := b.decisions()
	if err != nil {
		return err
	}
	rounds := map[int][]float64{}
	var growth []float64
	for round := 0; b.again(b.decideRounds, growth); round++ {
		took := decideRound(sets, req)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if round == 0 {
			continue // caches are warm now
		}
		for i, n := range decidedAmong {
			rounds[n] = append(rounds[n], median(took[i]))
		}
		growth = append(growth, median(quotients(took[len(took)-1], took[0])))
	}
	for _, n := range decidedAmong {
		name := fmt.Sprintf("admit_decide_ns_%d", n)
		b.report.rounds(name, rounds[n])
		b.report.figure(name, median(rounds[n]), "ns")
	}
	b.report.rounds("admit_decide_ratio", growth)
	b.report.figure("admit_decide_ratio", median(growth), "ratio")
	return nil
}

// decisions returns a refused change, and the sets of policies that judge it.
func (b *bench) decisions() (freeze.UserChange, []*freeze.Set, error) {
	stage := &stage{sizes: b.sizes}
	req := freeze.UserChange{
		Actions: workload.ChangeScale, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: stage.namespaceOf(0),
		Name: deploymentName(0), User: "pipeline", Now: admitNow,
		NamespaceLabels: []workload.Pairs{workload.NewPairs(map[string]string{"env": "prod", "team": "shop"})},
	}
	req.Old = &freeze.Facts{Labels: workload.NewPairs(stage.deployment(0).Labels)}
	req.New = req.Old
	var sets []*freeze.Set
	for _, n := range decidedAmong {
		set, err := freezeFleet(n, req.Namespace)
		if err != nil {
			return req, nil, err
		}
		if v := set.Decide(req); v.Allowed {
			return req, nil, fmt.Errorf("the change to be judged among %d policies is not refused", n)
		}
		sets = append(sets, set)
	}
	return req, sets, nil
}

// decideRound returns the nanoseconds of a decision, for each set and slice. The order of the sets rotates.
func decideRound(sets []*freeze.Set, req freeze.UserChange) [][]float64 {
	took := make([][]float64, len(sets))
	for slice := range decideSlices {
		for i := range sets {
			at := (slice + i) % len(sets)
			began := time.Now()
			for range sliceDecisions {
				sets[at].Decide(req)
			}
			took[at] = append(took[at], float64(time.Since(began).Nanoseconds())/sliceDecisions)
		}
	}
	return took
}

// quotients divides element by element.
func quotients(of, by []float64) []float64 {
	out := make([]float64, len(of))
	for i := range of {
		out[i] = of[i] / by[i]
	}
	return out
}
