package adapter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// setYAML is a kind that loses data when its count falls, unless .spec.claims is Keep. It has a switch to sleep.
const setYAML = `
target: {group: example.com, kind: Set, versions: [v1]}
scale:
- name: main
  when: [{path: .spec.claims, default: Keep, op: Ne, value: Delete}]
  replicas: .spec.replicas
  default: 1
- {name: side, replicas: .spec.pages}
suspend:
- when: [{path: .spec.claims, op: Eq, value: Delete}, {path: .spec.replicas, default: 1, op: Gt, value: 0}]
  set: [{path: .spec.claims, value: Keep}, {path: .spec.replicas, value: 0}]
`

const mainStays = `main must not be scaled: .spec.claims is "Delete"`

func percent(n int64) workload.Plan { return size(workload.SizePercent, n) }

// TestFixedCounts asks for sizes of counts that must stay as they are.
func TestFixedCounts(t *testing.T) {
	tests := []struct {
		reason, own string
		plan        workload.Plan
		// want is the spec once the plan is settled.
		want    string
		state   workload.State
		message string
	}{
		{"less is refused", `{"claims":"Delete","replicas":3}`, size(workload.SizeAtMost, 1), "", workload.StateUnable, mainStays},
		{"a percentage is refused", `{"claims":"Delete","replicas":3}`, percent(50), "", workload.StateUnable, mainStays},
		{"more is refused: it would come down again", `{"claims":"Delete","replicas":3}`, size(workload.SizeExactly, 6), "", workload.StateUnable,
			mainStays},
		{"a push is refused, and leaves no entry", `{"claims":"Delete","replicas":3}`, once(6, monday), "", workload.StateUnable, mainStays},
		{"an absent count is refused", `{"claims":"Delete"}`, size(workload.SizeAtMost, 0), "", workload.StateUnable, mainStays},
		{"what it has already is no question", `{"claims":"Delete","replicas":3}`, size(workload.SizeAtMost, 3), "", workload.StateAlreadyAsleep,
			"already asleep by its owner"},
		{"exactly what it has is no question", `{"claims":"Delete","replicas":3}`, size(workload.SizeExactly, 3), "", workload.StateSet, ""},
		{"at zero by its owner", `{"claims":"Delete","replicas":0}`, sleep(), "", workload.StateAlreadyAsleep, "already asleep by its owner"},
		{"to sleep it has its own way", `{"claims":"Delete","replicas":3}`, sleep(), `{"claims":"Keep","replicas":0}`, workload.StateAsleep,
			`claims "Delete" -> "Keep", replicas 3 -> 0`},
		{"elsewhere it is scaled", `{"claims":"Keep","replicas":3}`, size(workload.SizeAtMost, 1), `{"claims":"Keep","replicas":1}`,
			workload.StateAsleep, "main replicas 3 -> 1"},
		{"where the field is absent its default counts", `{"replicas":3}`, size(workload.SizeAtMost, 1), `{"replicas":1}`, workload.StateAsleep,
			"main replicas 3 -> 1"},
		{"the other count is scaled", `{"claims":"Delete","replicas":3,"pages":4}`, size(workload.SizeAtMost, 1),
			`{"claims":"Delete","replicas":3,"pages":1}`, workload.StateAsleep,
			"side pages 4 -> 1, " + mainStays},
		{"nothing but the fixed one would change", `{"claims":"Delete","replicas":3,"pages":1}`, size(workload.SizeAtMost, 1), "",
			workload.StateAlreadyAsleep, mainStays},
	}
	a := mustCompile(t, setYAML, Keys{})
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			s := newServer(object(test.own))
			first := s.settle(t, a, test.plan)
			if first.State != test.state || first.Message != test.message {
				t.Errorf("%s, %q; want %s, %q", first.State, first.Message, test.state, test.message)
			}
			want := test.want
			if want == "" {
				want = test.own
				if l := s.ledger(t, a); s.writes > 0 || len(l) > 0 {
					t.Errorf("%d writes and the ledger %v", s.writes, l)
				}
			}
			if !path.Equal(want, s.spec()) {
				t.Errorf("got %s, want %s", s.spec(), want)
			}
			s.settle(t, a, workload.Plan{})
			if !path.Equal(test.own, s.spec()) {
				t.Errorf("given back: %s, want %s", s.spec(), test.own)
			}
		})
	}
}

// TestACountBecomesFixed: the condition is always judged on the owner's object.
func TestACountBecomesFixed(t *testing.T) {
	a := mustCompile(t, setYAML, Keys{})
	s := newServer(object(`{"claims":"Keep","replicas":3}`))
	less := size(workload.SizeAtMost, 1)
	step := func(reason string, plan workload.Plan, want string) {
		t.Helper()
		s.settle(t, a, plan)
		if !path.Equal(want, s.spec()) {
			t.Fatalf("%s: %s, want %s", reason, s.spec(), want)
		}
	}
	step("scaled", less, `{"claims":"Keep","replicas":1}`)
	s.set("/spec/claims", `"Delete"`)
	step("its owner has changed his mind: it comes back", less, `{"claims":"Delete","replicas":3}`)
	step("full sleep sets the field that the condition reads", sleep(), `{"claims":"Keep","replicas":0}`)
	step("from full sleep to less: given back, not scaled", at(less, monday.Add(time.Hour)), `{"claims":"Delete","replicas":3}`)
	if l := s.ledger(t, a); len(l) > 0 {
		t.Errorf("the ledger %v", l)
	}
}

func TestObserveFixedCounts(t *testing.T) {
	a := mustCompile(t, setYAML, Keys{})
	s := newServer(object(`{"claims":"Delete","replicas":3,"pages":2}`))
	want := []workload.Component{{Name: "main", Replicas: 3, Fixed: true}, {Name: "side", Replicas: 2}}
	for _, plan := range []workload.Plan{{}, sleep()} { // also while its own change makes the condition hold
		s.settle(t, a, plan)
		o := a.Observe(projected(t, a, s.doc))
		if diff := cmp.Diff(want, o.Components); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, c := range []struct {
			size workload.Size
			want int64
		}{
			{workload.Size{Mode: workload.SizeAtMost, Replicas: 1}, 3 + 1},
			{workload.Size{Mode: workload.SizeExactly, Replicas: 5}, 3 + 5},
			{workload.Size{Mode: workload.SizeSleep}, 0},
		} {
			if got := o.Capacity(c.size); got != c.want {
				t.Errorf("capacity of mode %d: %d, want %d", c.size.Mode, got, c.want)
			}
		}
	}
}

// TestWhyACountIsFixed: the reason has the found value.
func TestWhyACountIsFixed(t *testing.T) {
	for _, test := range []struct{ when, own, why string }{
		{"{path: .spec.free, op: Exists}", `{"replicas":3}`, ".spec.free is absent"},
		{"{path: .spec.free, op: Eq, value: true}", `{"replicas":3}`, ".spec.free is absent"},
		{"{path: .spec.free, op: Eq, value: true}", `{"replicas":3,"free":false}`, ".spec.free is false"},
		{"{path: '.spec.claims[0]', op: NotExists}", `{"replicas":3,"claims":[{"a":1}]}`, ".spec.claims[0] exists"},
		{"{path: .spec.kept, op: NotExists}, {path: .spec.free, op: Exists}", `{"replicas":3}`, ".spec.free is absent"},
	} {
		a := mustCompile(t, "target: {group: example.com, kind: Set, versions: [v1]}\nscale: [{name: main, replicas: .spec.replicas, when: ["+
			test.when+"]}]", Keys{})
		if got, want := rendered(t, a, object(test.own), sleep()).Message, "main must not be scaled: "+test.why; got != want {
			t.Errorf("%s on %s: %q, want %q", test.when, test.own, got, want)
		}
	}
}
