package tortoise

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// TestWhereRequestsChange walks through states of pods, one after the other. It checks whether requests change in the pods
// or in the template.
func TestWhereRequestsChange(t *testing.T) {
	able, refused, written := policy.SeenPods{Able: true}, policy.SeenPods{Able: true, Refused: true},
		policy.SeenPods{Able: true, InTemplate: true}
	for _, test := range []struct {
		reason string
		apply  v1alpha1.VerticalApply
		seen   []policy.SeenPods
		want   []bool
	}{
		{"in place, whatever nodes say", v1alpha1.ApplyInPlace, []policy.SeenPods{able, refused, written}, []bool{true, true, true}},
		{"in the template", v1alpha1.ApplyRollOut, []policy.SeenPods{able, written}, []bool{false, false}},
		{"not what runs", v1alpha1.ApplyOnCreate, []policy.SeenPods{able, refused, written}, []bool{false, false, false}},
		{"no pod template", v1alpha1.ApplyInPlace, []policy.SeenPods{{}}, []bool{false}},
		{"in place until a pod cannot be, and not again while the roll-out waits", v1alpha1.ApplyInPlaceOrRollOut,
			[]policy.SeenPods{able, refused, able, written},
			[]bool{true, false, false, false}},
		{"a manager that knows no more than what the ledger says", v1alpha1.ApplyInPlaceOrRollOut, []policy.SeenPods{written, able},
			[]bool{false, false}},
	} {
		m := &learner{rules: &rules{apply: test.apply}}
		for i, seen := range test.seen {
			if got := m.inPlace(seen); got != test.want[i] {
				t.Errorf("%s: look %d: %t", test.reason, i, got)
			}
		}
	}
	m := &learner{rules: &rules{apply: v1alpha1.ApplyInPlaceOrRollOut}, memory: memory{Template: true, Off: true}}
	if !m.inPlace(able) {
		t.Error("mode Off remembers the template")
	}
}

// TestWhereAdviceIsCarriedOut checks the place of changes for each value of apply: in running pods, in created pods, or in
// the template.
func TestWhereAdviceIsCarriedOut(t *testing.T) {
	for _, test := range []struct {
		apply             v1alpha1.VerticalApply
		able              bool
		inPlace, onCreate bool
	}{
		{v1alpha1.ApplyRollOut, true, false, false},
		{v1alpha1.ApplyInPlace, true, true, false},
		{v1alpha1.ApplyInPlaceOrRollOut, true, true, false},
		{v1alpha1.ApplyOnCreate, true, false, true},
		{v1alpha1.ApplyInPlace, false, false, false},
		{v1alpha1.ApplyOnCreate, false, false, false},
	} {
		m := &learner{rules: &rules{apply: test.apply}}
		a := m.advise(policy.Seen{Pods: policy.SeenPods{Able: test.able}}, tune.Recommendation{Phase: tune.Working}, nil)
		if a.InPlace != test.inPlace || a.OnCreate != test.onCreate {
			t.Errorf("%s, able %t: in place %t, on creation %t", test.apply, test.able, a.InPlace, a.OnCreate)
		}
	}
}

func TestRequestsInPlaceAreAmountsOfTheirOwn(t *testing.T) {
	key := workload.Amount{Component: "main", Resource: workload.CPU}
	for kind, advice := range map[workload.AmountKind]workload.Advice{workload.AmountInPlace: {InPlace: true},
		workload.AmountOnCreate: {OnCreate: true}, workload.AmountRequest: {}} {
		advice.Amounts = map[workload.Amount]int64{key: 250}
		f := &pipeline.Frame{Input: &pipeline.Input{Advice: &advice}}
		if err := (&tortoise{}).requests(f); err != nil {
			t.Fatal(err)
		}
		want := workload.Amount{Kind: kind, Component: "main", Resource: workload.CPU}
		if got := f.Decision.Intents[0].Amounts; len(got) != 1 || got[want] != 250 {
			t.Errorf("%s: %v", want, got)
		}
	}
}

// TestSettingsOfRuntimes checks that environment variables are set only if the spec asks for them (fault 10).
func TestSettingsOfRuntimes(t *testing.T) {
	m := &learner{rules: &rules{mode: v1alpha1.TortoiseAuto}, memory: memory{Own: map[string]tune.Requests{"side": {}, "main": {}}}}
	if got := m.newPods(); got != nil {
		t.Errorf("nobody asks for them: %v", got)
	}
	m.rules.runtime.GoMemLimit = true
	want := &v1alpha1.NewPods{GoMemLimit: true, Containers: []v1alpha1.NewContainer{{Name: "main"}, {Name: "side"}}}
	if diff := cmp.Diff(want, m.newPods()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.rules.mode = v1alpha1.TortoiseOff; m.newPods() != nil {
		t.Error("mode Off changes pods")
	}
}
