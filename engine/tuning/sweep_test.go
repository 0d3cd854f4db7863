package tuning

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// indebted are pods of which some must still be restored.
type indebted struct{ paidUp }

func (indebted) Owes(workload.Ref) bool { return true }
func (indebted) OwesAny() bool          { return true }

// TestRecommendationsLeftByAnEarlierManagerAreSwept: the Recommendation of a target that lost its policy, or its
// adapter, while no
// manager ran is deleted, because new pods would use it. The checkpoint stays if the policy exists and the adapter may
// come back.
func TestRecommendationsLeftByAnEarlierManagerAreSwept(t *testing.T) {
	const before = "before"
	for _, tc := range []struct {
		reason   string
		adapter  string // there, going or gone
		deleting bool   // of the policy
		by       workload.Policy
		owed     bool
		told     bool
		kept     string
		swept    bool
	}{
		{"it is not selected any more", "there", false, tuned, false, false, "", true},
		{"its policy has gone", "there", false, workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "gone"}, false, false, "", true},
		{"its adapter is going", "going", false, tuned, false, false, before, true},
		{"its adapter has gone", "gone", false, tuned, false, false, before, true},
		{"its adapter has gone, and its policy is going", "gone", true, tuned, false, false, "", true},
		{"its adapter has gone, and its policy too", "gone", false, workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "gone"}, false,
			false, "", true},
		{"its adapter has gone, and pods have to be given back", "gone", false, tuned, true, true, before, false},
	} {
		l := leaving(t, before)
		if tc.owed {
			l.resized = indebted{}
		}
		told, err := l.store.Read(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		told.Spec = v1alpha1.RecommendationSpec{Target: tunedTarget(web), Policy: tc.by.String()}
		if err := l.store.Client.Update(t.Context(), told); err != nil {
			t.Fatal(err)
		}
		l.cleanOrphans(t.Context(), snapshotOf(t, tc.adapter, tc.deleting), nil)
		if told, err = l.store.Read(t.Context(), web); (told != nil) != tc.told || err != nil {
			t.Errorf("%s: it is told of: %t, %v", tc.reason, told != nil, err)
		}
		if got := keptOf(t, l); got != tc.kept {
			t.Errorf("%s: %q is kept, want %q", tc.reason, got, tc.kept)
		}
		if l.swept != tc.swept {
			t.Errorf("%s: all is done: %t", tc.reason, l.swept)
		}
	}
}
