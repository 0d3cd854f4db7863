package status

import (
	"testing"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/world"
)

// TestWhatIsNotMeasuredIsToldBeforeWhatFailsForIt: targets that cannot be tuned without a source name themselves, and not what is wrong with it.
func TestWhatIsNotMeasuredIsToldBeforeWhatFailsForIt(t *testing.T) {
	p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}}}
	failing := *newTally()
	failing.counts[Failed], failing.failures[object("web")] = 1, "requests stay"
	const failure = "1 of 1 target failed: /shop/web: requests stay"
	for _, test := range []struct {
		tally           tally
		unmeasured      string
		reason, message string
	}{
		{*newTally(), "", "AsExpected", "no target is selected"},
		{failing, "", "TargetsFailed", failure},
		{failing, "the cluster does not have the kind", "NoSource", "the cluster does not have the kind; " + failure},
		{*newTally(), "the cluster does not have the kind", "NoSource", "the cluster does not have the kind"},
	} {
		v := &view{policy: p, tally: test.tally, unmeasured: test.unmeasured, unmeasuredReason: "NoSource"}
		if ok, reason, message := v.ready(); ok != (test.reason == "AsExpected") || reason != test.reason || message != test.message {
			t.Errorf("%t, %s: %s; want %s: %s", ok, reason, message, test.reason, test.message)
		}
	}
}
