package status

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/world"
)

// Targets that cannot be tuned without a source of usage report a follow-up error; the message names the
// source's fault instead.
func TestMissingUsageIsReportedBeforeItsConsequences(t *testing.T) {
	p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}}}
	failing := *newCounts()
	failing.counts[Failed], failing.failures[object("web")] = 1, "requests stay"
	const failure = "1 of 1 target failed: /shop/web: requests stay"
	for _, test := range []struct {
		counts          counts
		fault           string
		reason, message string
	}{
		{*newCounts(), "", "AsExpected", "no target is selected"},
		{failing, "", "TargetsFailed", failure},
		{failing, "the cluster does not have the kind", "NoSource", "the cluster does not have the kind; " + failure},
		{*newCounts(), "the cluster does not have the kind", "NoSource", "the cluster does not have the kind"},
	} {
		v := &view{policy: p, counts: test.counts, fault: test.fault, faultReason: "NoSource"}
		if ok, reason, message := v.ready(); ok != (test.reason == "AsExpected") || reason != test.reason || message != test.message {
			t.Errorf("%t, %s: %s; want %s: %s", ok, reason, message, test.reason, test.message)
		}
	}
}

// Overlaps decided by a priority are reported, but not as a conflict and not counted as one.
func TestOverlapsDecidedByPriorityAreNoConflict(t *testing.T) {
	other := policyID
	other.Name = "team"
	p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}}}
	for _, test := range []struct {
		reasons         []string
		status          string
		reason, message string
		counted         int
	}{
		{nil, "False", "None", "no other policy asks for something else", 0},
		{[]string{"priority"}, "False", "Overruled", "/shop/web: overruled by Schedule/shop/team on size (priority)", 0},
		{[]string{"override"}, "False", "Overruled", "/shop/web: overruled by Schedule/shop/team on size (override)", 0},
		{[]string{"mandatory"}, "False", "Overruled", "/shop/web: overruled by Schedule/shop/team on size (mandatory)", 0},
		{[]string{"capacity"}, "True", "OtherPolicy", "/shop/web: overruled by Schedule/shop/team on size (capacity)", 1},
		{[]string{"value"}, "True", "OtherPolicy", "/shop/web: overruled by Schedule/shop/team on size (value)", 1},
		{[]string{"priority", "capacity"}, "True", "OtherPolicy", "/shop/web: overruled by Schedule/shop/team on size (capacity)", 1},
	} {
		verdict := &decide.Verdict{Opinions: []decide.Opinion{{Policy: &p.Policy}}}
		for _, reason := range test.reasons {
			verdict.Conflicts = append(verdict.Conflicts, pipeline.Conflict{Winner: other, Loser: policyID, Facet: "size", Reason: reason})
		}
		b := NewTracker(nil, nil, nil)
		b.Count(object("web"), Marks(verdict, Outcome{}))
		v := &view{policy: p}
		b.read(policyID, func(t *counts) { v.counts = t.copy() })
		var st v1alpha1.PolicyStatus
		v.fill(&st)
		c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionConflicting)
		if string(c.Status) != test.status || c.Reason != test.reason || c.Message != test.message || len(v.counts.conflicts) != test.counted {
			t.Errorf("%v: %s, %s: %s, %d counted", test.reasons, c.Status, c.Reason, c.Message, len(v.counts.conflicts))
		}
		if !meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionReady) {
			t.Errorf("%v: not Ready", test.reasons)
		}
	}
}

// The status of a sleeping schedule over targets kept awake differs from the status of a schedule over
// sleeping targets.
func TestTargetsKeptAwakeAreCounted(t *testing.T) {
	p := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: policyID}}}
	for _, test := range []struct {
		asleep  bool
		counts  map[Mark]int32
		message string
	}{
		{true, map[Mark]int32{Asleep: 2}, "2 targets are as they should be"},
		{true, map[Mark]int32{Asleep: 1, Awake: 2}, "3 targets are as they should be; 2 kept awake"},
		{false, map[Mark]int32{Awake: 2}, "2 targets are as they should be"},
	} {
		v := &view{policy: p, counts: *newCounts(), state: policy.Summary{Asleep: test.asleep}}
		for state, n := range test.counts {
			v.counts.counts[state] = n
		}
		if got := v.summary(); got != test.message {
			t.Errorf("%s; want %s", got, test.message)
		}
	}
}
