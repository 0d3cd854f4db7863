package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"flyball.dev/flyball/engine/workload"
)

var policyID = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

func object(name string) workload.Ref { return workload.Ref{Namespace: "shop", Name: name} }

// What has still to be looked at is pending, and nothing that was said of it before is said on.
func TestWhatIsAwaitedIsPending(t *testing.T) {
	b := NewBook(func(workload.Policy) {})
	b.Count(object("web"), []Mark{{Policy: policyID, State: Overridden, Override: "changed by hand", Conflict: "overruled"}})
	b.Count(object("api"), []Mark{{Policy: policyID, State: Failed, Failure: "no"}})
	b.Count(object("db"), []Mark{{Policy: policyID, State: Pending, Waiting: "waits for its batch"}})
	b.Expect(policyID, object("late"))
	b.Expect(policyID, object("web")) // is known
	now := func() (out tally) {
		b.read(policyID, func(t *tally) { out = t.copy() })
		return out
	}
	if got := now(); got.total() != 4 || got.unseen != 1 || got.counts[Pending] != 2 {
		t.Errorf("before: %+v", got)
	}
	b.Await([]workload.Ref{object("web"), object("api"), object("db"), object("late"), object("gone")})
	got := now()
	if got.total() != 4 || got.unseen != 3 || got.counts[Pending] != 3 || got.counts[Failed] != 1 {
		t.Errorf("awaited: %+v", got)
	}
	if len(got.overridden)+len(got.waiting) != 0 || got.conflicts[object("web")] == "" || got.failures[object("api")] == "" {
		t.Errorf("what is said: %+v", got)
	}
	for _, name := range []string{"web", "api", "db"} {
		b.Count(object(name), []Mark{{Policy: policyID, State: Asleep}})
	}
	b.Count(object("late"), nil) // gone before anybody looked
	if got := now(); got.total() != 3 || got.unseen != 0 || got.counts[Asleep] != 3 || len(got.conflicts)+len(got.failures) != 0 {
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
func TestNotesAreCut(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"short", "short"},
		{strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		{strings.Repeat("a", 1025), strings.Repeat("a", 1024-len(cut)) + cut},
		{strings.Repeat("ä", 1000), strings.Repeat("ä", (1024-len(cut))/2) + cut},
	} {
		r := &recorded{}
		CutNotes(r).Eventf(nil, nil, "Normal", "Asleep", "Transition", "%s", test.given)
		if r.note != test.want || len(r.note) > 1024 {
			t.Errorf("%d bytes: %q", len(r.note), r.note)
		}
	}
}
