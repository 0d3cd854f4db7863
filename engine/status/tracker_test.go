package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

var policyID = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

func object(name string) workload.Ref { return workload.Ref{Namespace: "shop", Name: name} }

// An awaited target is pending, and its former messages are dropped.
func TestAwaitedTargetsArePending(t *testing.T) {
	b := NewTracker(nil, nil, nil)
	b.Count(object("web"), []TargetResult{{Policy: policyID, State: Overridden, Override: "changed by hand", Conflict: "overruled"}})
	b.Count(object("api"), []TargetResult{{Policy: policyID, State: Failed, Failure: "no"}})
	b.Count(object("db"), []TargetResult{{Policy: policyID, State: Pending, Waiting: "waits for its batch"}})
	b.Expect(policyID, object("late"))
	b.Expect(policyID, object("web")) // the target is known
	now := func() (out counts) {
		b.read(policyID, func(t *counts) { out = t.copy() })
		return out
	}
	if got := now(); got.total() != 4 || got.undecided != 1 || got.counts[Pending] != 2 {
		t.Errorf("before: %+v", got)
	}
	b.Await([]workload.Ref{object("web"), object("api"), object("db"), object("late"), object("gone")})
	got := now()
	if got.total() != 4 || got.undecided != 3 || got.counts[Pending] != 3 || got.counts[Failed] != 1 {
		t.Errorf("awaited: %+v", got)
	}
	if len(got.overridden)+len(got.waiting) != 0 || got.conflicts[object("web")] == "" || got.failures[object("api")] == "" {
		t.Errorf("what is said: %+v", got)
	}
	for _, name := range []string{"web", "api", "db"} {
		b.Count(object(name), []TargetResult{{Policy: policyID, State: Asleep}})
	}
	b.Count(object("late"), nil) // deleted before the first decision
	if got := now(); got.total() != 3 || got.undecided != 0 || got.counts[Asleep] != 3 || len(got.conflicts)+len(got.failures) != 0 {
		t.Errorf("after: %+v", got)
	}
	if done := now(); done.counted() != "3 targets: 3 asleep" {
		t.Error(done.counted())
	}
	b.Forget(policyID)
	if got := now(); got.total() != 0 || len(b.records) != 0 {
		t.Errorf("forgotten: %+v, %v", got, b.records)
	}
}

type recorded struct {
	events.EventRecorder
	note string
}

func (r *recorded) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	r.note = strings.Replace(note, "%s", args[0].(string), 1)
}

// The API server refuses notes of more than 1,024 bytes.
func TestEventNotesAreCutToTheLimit(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"short", "short"},
		{strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		{strings.Repeat("a", 1025), strings.Repeat("a", 1024-len(cut)) + cut},
		{strings.Repeat("ä", 1000), strings.Repeat("ä", (1024-len(cut))/2) + cut},
	} {
		r := &recorded{}
		CutNotes(r, "").Eventf(nil, nil, "Normal", "Asleep", "Transition", "%s", test.given)
		if r.note != test.want || len(r.note) > 1024 {
			t.Errorf("%d bytes: %q", len(r.note), r.note)
		}
	}
}

// The message of a target belongs to the state it is counted in, so that lists of names agree with the counts.
func TestMessagesBelongToTheCountedState(t *testing.T) {
	b := NewTracker(nil, nil, nil)
	say := func(s Mark) TargetResult {
		return TargetResult{Policy: policyID, State: s, Failure: "refused", Waiting: "waits for its batch", Unable: "no place",
			Override: "overruled",
			Conflict: "overruled"}
	}
	for name, s := range map[string]Mark{"failed": Failed, "pending": Pending, "unable": Unable, "overridden": Overridden, "asleep": Asleep,
		"autoscaler": None} {
		b.Count(object(name), []TargetResult{say(s)})
	}
	var got counts
	b.read(policyID, func(t *counts) { got = t.copy() })
	for name, list := range map[string]map[workload.Ref]string{"failed": got.failures, "pending": got.waiting, "unable": got.unable,
		"overridden": got.overridden} {
		if len(list) != 1 || list[object(name)] == "" {
			t.Errorf("%s: named are %v", name, list)
		}
	}
	if len(got.conflicts) != 6 {
		t.Errorf("conflicts are told whatever the state: %v", got.conflicts)
	}
}

// The obstacle of a policy's write is reported neither under an overruled policy nor under a policy that only selects
// the scaled object.
func TestAnObstacleIsReportedOnlyForTheWaitingPolicy(t *testing.T) {
	var opinions []decide.Opinion
	for _, name := range []string{"nights", "open", "governed"} {
		id := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: name}
		opinions = append(opinions, decide.Opinion{Policy: &decide.Policy{Policy: &policy.Policy{ID: id}}, Class: workload.ClassSleep,
			OnBehalf: name == "governed"})
	}
	v := &decide.Verdict{Opinions: opinions, Conflicts: []pipeline.Conflict{{Facet: "size", Winner: opinions[1].Policy.ID,
		Loser: opinions[0].Policy.ID}}}
	v.Result.Patch = &workload.Patch{}
	b := NewTracker(nil, nil, nil)
	b.Count(object("web"), Marks(v, Outcome{Waiting: "waits for its batch"}))
	for i, want := range []struct{ pending, waiting int }{{0, 0}, {1, 1}, {0, 0}} {
		b.read(opinions[i].Policy.ID, func(t2 *counts) {
			if int(t2.counts[Pending]) != want.pending || len(t2.waiting) != want.waiting {
				t.Errorf("%s: %d pending, waiting are %v", opinions[i].Policy.ID, t2.counts[Pending], t2.waiting)
			}
		})
	}
}
