package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

func once(n int64, since time.Time) workload.Plan {
	p := at(size(workload.SizeExactly, n), since)
	p.Size.By, p.Size.Once = peaks, true
	return p
}

func inside(p workload.Plan, low, high int64) workload.Plan {
	p.Within = &workload.Bounds{Min: &low, Max: &high}
	return p
}

// TestSetOnce plays claims and the autoscaler's changes in between.
func TestSetOnce(t *testing.T) {
	type step struct {
		reason string
		// scaled is a count that the autoscaler sets first; empty: none.
		scaled string
		plan   workload.Plan
		want   string
		// kept says that the ledger has an entry afterwards.
		kept bool
	}
	begun, next := monday, monday.Add(time.Hour)
	tests := []struct {
		reason, own string
		steps       []step
	}{
		{"the autoscaler goes on from there and nothing is given back", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the autoscaler scales", "9", once(6, begun), "9", true},
			{"the window ends", "", workload.Plan{}, "9", false},
		}},
		{"nothing is given back even if nobody scaled", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the window ends", "", workload.Plan{}, "6", false},
		}},
		{"a count that is right already is not set later either", "6", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the autoscaler scales", "9", once(6, begun), "9", true},
		}},
		{"the next window sets it again", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the autoscaler scales", "9", once(6, begun), "9", true},
			{"the next window", "", once(6, next), "6", true},
			{"handed back to the earlier one", "9", resumed(4), "9", true},
		}},
		{"an edit sets it at once", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the size is edited", "", once(7, begun), "7", true},
		}},
		{"it lands inside the bounds of the moment and does not follow them", "3", []step{
			{"the window begins", "", inside(once(6, begun), 1, 4), "4", true},
			{"the bounds are widened", "", inside(once(6, begun), 1, 9), "4", true},
			{"the window ends", "", inside(workload.Plan{}, 1, 9), "4", false},
		}},
		{"sleep takes over what the autoscaler left, and gives that back", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the autoscaler scales", "9", once(6, begun), "9", true},
			{"it goes to sleep", "", at(sleep(), next), "0", true},
			{"it wakes", "", workload.Plan{}, "9", false},
		}},
		{"sleep takes over what was set, and gives that back", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"it goes to sleep", "", at(sleep(), next), "0", true},
			{"it wakes", "", workload.Plan{}, "6", false},
		}},
		{"waking into a window lands on its size", "3", []step{
			{"it goes to sleep", "", sleep(), "0", true},
			{"it wakes into the window", "", once(6, begun), "6", true},
			{"the window ends", "", workload.Plan{}, "6", false},
		}},
		{"waking lands inside the bounds of the moment", "3", []step{
			{"it goes to sleep", "", sleep(), "0", true},
			{"it wakes", "", inside(workload.Plan{}, 5, 20), "5", false},
		}},
		{"what lasts takes over from what was set", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"the autoscaler is gone: the size is held", "", at(size(workload.SizeExactly, 6), begun), "6", false},
			{"somebody scales", "2", at(size(workload.SizeExactly, 6), begun), "6", true},
		}},
		{"a size that is the default puts a null back", "null", []step{
			{"it goes to sleep", "", sleep(), "0", true},
			{"it wakes into the window", "", once(1, begun), "null", true},
			{"the window ends", "", workload.Plan{}, "null", false},
		}},
		{"a suspended policy keeps its entry", "3", []step{
			{"the window begins", "", once(6, begun), "6", true},
			{"kept", "9", workload.Plan{Keep: map[workload.Policy]bool{peaks: true}}, "9", true},
		}},
	}
	for _, kind := range []string{deploymentYAML, scaledYAML} {
		a := mustCompile(t, kind, Keys{})
		for _, tc := range tests {
			t.Run(a.GroupKind().Kind+"/"+tc.reason, func(t *testing.T) {
				s := newServer(object(`{"replicas":` + tc.own + `}`))
				for _, step := range tc.steps {
					if step.scaled != "" {
						s.set("/spec/replicas", step.scaled)
					}
					s.settle(t, a, step.plan)
					if want := `{"replicas":` + step.want + `}`; s.spec() != want {
						t.Fatalf("%s: %s, want %s", step.reason, s.spec(), want)
					}
					if got := len(s.ledger(t, a)) > 0; got != step.kept {
						t.Fatalf("%s: there is an entry: %t, want %t", step.reason, got, step.kept)
					}
				}
			})
		}
	}
}

func TestSetOnceIsSeenAsTheOwners(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	s := newServer(object(`{"replicas":3}`))
	r := s.settle(t, a, once(6, monday))
	if r.State != workload.StateSet || r.Direction != workload.DirectionUp || r.Message != "replicas 3 -> 6" {
		t.Errorf("got %s, %s, %q", r.State, r.Direction, r.Message)
	}
	want := []workload.Component{{Name: "main", Replicas: 6}}
	if diff := cmp.Diff(want, a.Observe(projected(t, a, s.doc)).Components); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	if !strings.Contains(string(s.doc), `\"once\":\"6\"`) {
		t.Errorf("the ledger does not say what was asked for: %s", s.doc)
	}
}

// TestSetOnceSurvivesALostWrite loses the write to /scale that follows the write of the ledger.
func TestSetOnceSurvivesALostWrite(t *testing.T) {
	a := mustCompile(t, scaledYAML, Keys{})
	s := newServer(object(`{"replicas":3}`))
	if err := s.apply(rendered(t, a, s.doc, once(6, monday)).Patch); err != nil {
		t.Fatal(err)
	}
	s.settle(t, a, once(6, monday))
	if want := `{"replicas":6}`; s.spec() != want {
		t.Errorf("after the crash: %s, want %s", s.spec(), want)
	}
}

func TestBoundsAreOwnClaimedOrKept(t *testing.T) {
	a := mustCompile(t, hpaYAML, Keys{})
	set := workload.Plan{Min: number(5), Max: number(20)}
	lowered := workload.Plan{Min: number(1), Max: number(2)}
	tests := []struct {
		reason   string
		own      string
		before   workload.Plan
		plan     workload.Plan
		min, max int64
	}{
		{reason: "the owner's", own: `{"minReplicas":2,"maxReplicas":9}`, min: 2, max: 9},
		{reason: "the default", own: `{"maxReplicas":9}`, min: 1, max: 9},
		{reason: "claimed, not yet written", own: `{"minReplicas":2,"maxReplicas":9}`, plan: set, min: 5, max: 20},
		{reason: "claimed and written", own: `{"minReplicas":2,"maxReplicas":9}`, before: set, plan: set, min: 5, max: 20},
		{reason: "given back", own: `{"minReplicas":2,"maxReplicas":9}`, before: set, min: 2, max: 9},
		{reason: "kept", own: `{"minReplicas":2,"maxReplicas":9}`, before: set, plan: workload.Plan{Keep: map[workload.Policy]bool{peaks: true}},
			min: 5, max: 20},
		{reason: "both lowered below the owner's min", own: `{"minReplicas":4,"maxReplicas":9}`, plan: lowered, min: 1, max: 2},
		{reason: "a min alone stays below the owner's max", own: `{"minReplicas":2,"maxReplicas":4}`, plan: workload.Plan{Min: number(5)}, min: 4,
			max: 4},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			s := newServer(object(tc.own))
			s.settle(t, a, tc.before)
			check := func(when string) {
				b, err := a.Bounds(projected(t, a, s.doc), tc.plan)
				if err != nil || b.Min == nil || b.Max == nil || *b.Min != tc.min || *b.Max != tc.max {
					t.Fatalf("%s: %v, %v; want %d and %d", when, b, err, tc.min, tc.max)
				}
			}
			check("before the write")
			s.settle(t, a, tc.plan)
			check("after it")
		})
	}
	if low, high := a.Floors(); *low != 1 || *high != 1 {
		t.Errorf("floors %d and %d", *low, *high)
	}
}

// TestBoundsWithoutALimit checks that the kind's number for no limit means no limit, whether the owner or a policy
// has
// set it.
func TestBoundsWithoutALimit(t *testing.T) {
	a := mustCompile(t, knativeYAML, Keys{})
	for text, want := range map[string]*int64{"0": nil, "5": ptr(5)} {
		doc := object(`{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/max-scale":"` + text + `"}}}}`)
		b, err := a.Bounds(projected(t, a, doc), workload.Plan{Min: number(2)})
		if diff := cmp.Diff(workload.Bounds{Min: ptr(2), Max: want}, b); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", text, err, diff)
		}
	}
}

// TestHoldComesBeforeBounds has a kind that is held by its lower bound. A hold wins over a claim for this bound.
func TestHoldComesBeforeBounds(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Bounded, versions: [v1]}
bounds: {min: {path: .spec.min}, max: {path: .spec.max}}
hold: [{set: [{path: .spec.min, value: 0}]}]
`, Keys{})
	plan := workload.Plan{Min: number(5), Max: number(9), Hold: holding().Hold}
	s := newServer(object(`{"min":0,"max":3}`))
	if s.settle(t, a, plan); s.spec() != `{"max":9,"min":0}` {
		t.Errorf("held by its owner: %s", s.spec())
	}
	s = newServer(object(`{"min":1,"max":3}`))
	s.settle(t, a, plan)
	if want := `{"max":9,"min":0}`; s.spec() != want {
		t.Errorf("held: %s, want %s", s.spec(), want)
	}
	plan.Hold = nil
	s.settle(t, a, plan)
	if want := `{"max":9,"min":5}`; s.spec() != want {
		t.Errorf("let go: %s, want %s", s.spec(), want)
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"max":3,"min":1}`; s.spec() != want {
		t.Errorf("given back: %s, want %s", s.spec(), want)
	}
}

// TestWakingFromZeroGoesByTheBoundsInForce checks that an autoscaler counts as one that wakes its target from zero
// whether
// its owner or a policy allows it to go to zero, and that it can be held in any case.
func TestWakingFromZeroGoesByTheBoundsInForce(t *testing.T) {
	a := mustCompile(t, hpaYAML+`
hold:
- when: [{path: .spec.behavior, op: NotExists}]
  set: [{path: .spec.behavior.quiet, value: true}]
staysAtZero: [{path: .spec.minReplicas, default: 1, op: Ne, value: 0}]
`, Keys{})
	a.Min.Minimum = 0
	own := object(`{"minReplicas":1,"maxReplicas":3}`)
	if o := a.Observe(projected(t, a, own)); !o.CanHold || o.WakesFromZero {
		t.Errorf("with a minimum of 1: can be held %v, wakes from zero %v", o.CanHold, o.WakesFromZero)
	}
	s := newServer(own)
	plan := workload.Plan{Min: number(0)}
	s.settle(t, a, plan)
	if o := a.Observe(projected(t, a, s.doc)); !o.CanHold || !o.WakesFromZero {
		t.Fatalf("with a minimum of 0: can be held %v, wakes from zero %v", o.CanHold, o.WakesFromZero)
	}
	plan.Hold = holding().Hold
	for range 2 { // the second time it is held already
		s.settle(t, a, plan)
		if want := `{"behavior":{"quiet":true},"maxReplicas":3,"minReplicas":0}`; s.spec() != want {
			t.Fatalf("held: %s, want %s", s.spec(), want)
		}
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"maxReplicas":3,"minReplicas":1}`; s.spec() != want {
		t.Errorf("given back: %s, want %s", s.spec(), want)
	}
}
