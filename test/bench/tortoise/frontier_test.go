package tortoise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFrontierIsTheLowerHull(t *testing.T) {
	cheap, middle, safe := outcome{10, 100}, outcome{12, 40}, outcome{20, 0}
	for _, tc := range []struct {
		reason   string
		settings []outcome
		want     frontier
	}{
		{"nothing", nil, nil},
		{"one", []outcome{cheap}, frontier{cheap}},
		{"in any order", []outcome{safe, cheap, middle}, frontier{cheap, middle, safe}},
		{"dearer and no better", []outcome{cheap, middle, safe, {13, 40}, {14, 50}, {21, 0}}, frontier{cheap, middle, safe}},
		{"above the line between two others", []outcome{cheap, middle, safe, {11, 80}, {16, 25}}, frontier{cheap, middle, safe}},
		{"on the line between two others", []outcome{cheap, middle, safe, {16, 20}}, frontier{cheap, middle, safe}},
		{"of equal cost the better one", []outcome{{10, 120}, cheap}, frontier{cheap}},
		{"one hides those before it", []outcome{{10, 100}, {11, 90}, {12, 80}, {13, 0}}, frontier{{10, 100}, {13, 0}}},
	} {
		if diff := cmp.Diff(tc.want, newFrontier(tc.settings), cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
	}
}

func TestDistanceToTheFrontier(t *testing.T) {
	f := frontier{{10, 100}, {12, 40}, {20, 0}}
	for _, tc := range []struct {
		reason string
		of     outcome
		want   distance
	}{
		{"a fixed setting", outcome{12, 40}, distance{1, 1}},
		{"between two", outcome{11, 70}, distance{1, 1}},
		{"half the violations", outcome{12, 20}, distance{0.5, 12.0 / 16}},
		{"twice the violations", outcome{16, 40}, distance{2, 16.0 / 12}},
		{"cheaper than all, with as many violations", outcome{5, 100}, distance{1, 0.5}},
		{"cheaper than all, and worse", outcome{5, 200}, distance{2, 0.5}},
		{"dearer than all", outcome{30, 0}, distance{1, 1.5}},
		{"dearer than all, and worse", outcome{30, 10}, distance{20, 30.0 / 18}},
		{"no violations for less", outcome{16, 0}, distance{0.5 / 20, 16.0 / 20}},
	} {
		if diff := cmp.Diff(tc.want, f.distance(tc.of), cmp.AllowUnexported(distance{}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
	}
}

// TestNoSettingIsBelowItsFrontier checks for random settings that none of them is below their frontier.
func TestNoSettingIsBelowItsFrontier(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		settings := make([]outcome, 1+r.IntN(30))
		for i := range settings {
			settings[i] = outcome{float64(1 + r.IntN(20)), float64(r.IntN(20))}
		}
		f := newFrontier(settings)
		for _, s := range settings {
			if d := f.distance(s); d.violations < 1-1e-9 || d.cost < 1-1e-9 {
				t.Fatalf("%v is at %v from the frontier %v of %v", s, d, f, settings)
			}
		}
		cheapest := slices.MinFunc(settings, func(a, b outcome) int { return int(math.Copysign(1, a.cost-b.cost)) })
		if f[0].cost != cheapest.cost {
			t.Fatalf("the frontier %v does not begin with %v", f, cheapest)
		}
	}
}
