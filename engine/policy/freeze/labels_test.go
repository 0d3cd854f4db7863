package freeze_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// byLabel is a cluster freeze of the objects labelled tier=front.
const byLabel = `{kind: ClusterChangeFreeze, metadata: {name: front}, spec: {target: {namespaces: [shop], selector: {matchLabels: {tier: front}}}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Scale], enforcement: Deny, message: {reason: sale}}}`

// A freeze with labelChanges: Deny refuses an edit of labels that takes an object out of it.
func TestLabelChanges(t *testing.T) {
	out := facts(labelled("tier", "front"), labelled())
	tests := []struct {
		reason   string
		policies []string
		req      freeze.Request
		denied   []string
	}{
		{"a cluster freeze that selects by labels", []string{byLabel}, change(0, out), []string{"Relabel"}},
		{"both at once", []string{byLabel}, change(scale|rollOut, out), []string{"Scale", "Relabel"}},
		{"a cluster freeze that may be left", []string{edited(byLabel, "deny:", "labelChanges: Warn, deny:")}, change(0, out), nil},
		{"a freeze of a namespace", []string{selected}, change(0, out), nil},
		{"a freeze of a namespace that asks for it", []string{edited(selected, "deny:", "labelChanges: Deny, deny:")}, change(0, out),
			[]string{"Relabel"}},
		{"a freeze that only warns", []string{edited(byLabel, "enforcement: Deny", "enforcement: Warn")}, change(0, out), nil},
		{"a freeze that only counts, and asks for it", []string{edited(byLabel, "enforcement: Deny", "enforcement: Audit, labelChanges: Deny")},
			change(0, out), nil},
		{"before it begins", []string{byLabel}, change(0, out, now("2026-12-19T23:59:59Z")), nil},
		{"its first second", []string{byLabel}, change(0, out, now("2026-12-20T00:00:00Z")), []string{"Relabel"}},
		{"once it has ended", []string{byLabel}, change(0, out, now("2027-01-03T00:00:00Z")), nil},
		{"another value of the label", []string{byLabel}, change(0, facts(labelled("tier", "front"), labelled("tier", "back"))),
			[]string{"Relabel"}},
		{"other labels", []string{byLabel}, change(0, facts(labelled("tier", "front"), labelled("tier", "front", "a", "b"))), nil},
		{"the way in", []string{byLabel}, change(0, facts(labelled(), labelled("tier", "front"))), nil},
		{"a creation and a deletion", []string{byLabel}, change(0, facts(nil, labelled())), nil},
		{"an exclude of the freeze's own", []string{edited(byLabel, "selector: {", "exclude: {")},
			change(0, facts(labelled(), labelled("tier", "front"))), []string{"Relabel"}},
		{"a label and an expression", []string{edited(byLabel, "matchLabels: {tier: front}",
			"matchLabels: {tier: front}, matchExpressions: [{key: a, operator: DoesNotExist}]")}, change(0, out), []string{"Relabel"}},
		{"an annotation", []string{edited(byLabel, "selector: {matchLabels: {tier: front}}", "annotations: {team: a}")},
			change(0, facts(&freeze.Facts{Annotations: pairs("team", "a")}, labelled())), []string{"Relabel"}},
		{"a freeze by name cannot be left", []string{edited(named, "deny:", "labelChanges: Deny, deny:")}, change(0, out), nil},
		{"an exception does not lift it", []string{byLabel, edited(fix, "policies: [year-end]", "policies: []", "RollOut",
			"Create, Delete, RollOut, Scale", "requireLabels: {tier: front}, ", "")},
			change(scale, out), []string{"Relabel"}},
		{"a terminating namespace", []string{byLabel}, change(0, out, func(r *freeze.Request) { r.Terminating = true }), nil},
		{"the control plane", []string{byLabel}, change(0, out, user("system:kube-controller-manager")), nil},
		{"a maintenance window", []string{edited(weekly, "target: {", "target: {selector: {matchLabels: {tier: front}}, ", "deny:",
			"labelChanges: Deny\n  deny:")}, change(0, out), []string{"Relabel"}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			v := set(t, test.policies...).Decide(test.req)
			var denied []string
			for _, d := range v.Denials {
				denied = append(denied, d.Names()...)
			}
			if diff := cmp.Diff(test.denied, denied); diff != "" || v.Allowed != (len(test.denied) == 0) {
				t.Errorf("allowed %t, denied (-want +got):\n%s", v.Allowed, diff)
			}
		})
	}
}

func TestLabelChangesInMessages(t *testing.T) {
	out := facts(labelled("tier", "front"), labelled())
	const leaving = "an edit of labels or annotations by which the object leaves it (spec.labelChanges: Deny): sale. Next allowed: " +
		"2027-01-03T00:00:00Z (UTC)"
	for _, test := range []struct {
		actions workload.Change
		want    string
	}{
		{0, "change of Deployment.apps/shop/web refused: ClusterChangeFreeze/front denies " + leaving},
		{scale, "change of Deployment.apps/shop/web refused: ClusterChangeFreeze/front denies Scale, and " + leaving},
	} {
		v := set(t, byLabel).Decide(change(test.actions, out))
		if diff := cmp.Diff(test.want, v.Message); diff != "" {
			t.Error(diff)
		}
		want := []freeze.Denial{{Policy: workload.Policy{Kind: freeze.ClusterKind, Name: "front"}, Enforcement: v1alpha1.EnforcementDeny,
			Actions: test.actions, Leaves: true, Until: at("2027-01-03T00:00:00Z"), Reason: "sale"}}
		if diff := cmp.Diff(want, v.Denials); diff != "" {
			t.Error(diff)
		}
	}
}
