package gate

import (
	"testing"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// writeOf returns a write to a version of an object.
func writeOf(ref workload.Ref, version string) *Write {
	return &Write{Ref: ref, Verdict: &decide.Verdict{Object: &workload.Object{ResourceVersion: version}}}
}

func TestOwnWriteIsUnseenUntilTheWatchDeliversIt(t *testing.T) {
	u, ref := NewInflight(), webs(0)
	check := func(when, version string, behind bool) {
		t.Helper()
		if got := u.See(ref, version); got != behind {
			t.Errorf("%s: behind: %t", when, got)
		}
	}
	check("nothing was written", "7", false)
	u.Enter(t.Context(), writeOf(ref, "7"))
	check("a write is under way", "7", true)
	u.Enter(t.Context(), writeOf(ref, "7"))
	u.Leave(writeOf(ref, "7"), End{Outcome: apply.Failed})
	check("one of two writes has failed", "7", true)
	u.Leave(writeOf(ref, "6"), End{Outcome: apply.Failed})
	check("a write to an earlier version has failed", "7", true)
	u.Leave(writeOf(ref, "7"), End{Outcome: apply.Failed})
	check("both have failed", "7", false)
	u.Enter(t.Context(), writeOf(ref, "7"))
	check("the write is seen", "8", false)
	check("the version before is another object's", "7", false)
	u.Enter(t.Context(), writeOf(ref, "8"))
	u.Enter(t.Context(), writeOf(ref, "9"))
	check("a later version is written", "9", true)
	check("the object is gone", "", false)
}
