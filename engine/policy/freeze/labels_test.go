package freeze_test

import (
	"strings"
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
		req      freeze.UserChange
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
		{"a terminating namespace", []string{byLabel}, change(0, out, func(r *freeze.UserChange) { r.Terminating = true }), nil},
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

// sleeping is a cluster freeze of Deployments that puts some CronJobs to sleep.
const sleeping = `{kind: ClusterChangeFreeze, metadata: {name: front}, spec: {target: {namespaces: [shop], kinds: [{group: apps, kind: Deployment}]}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Delete], suspend: [{group: batch, kind: CronJob, selector: {matchLabels: {tier: front}}}, {group: batch, kind: CronJob, selector: {matchLabels: {tier: data}}}], message: {reason: sale}}}`

// An edit of labels that takes an object out of spec.suspend would wake it, so labelChanges: Deny refuses the edit as well.
func TestLabelChangesKeepObjectsAsleep(t *testing.T) {
	out, job := facts(labelled("tier", "front"), labelled()), func(r *freeze.UserChange) { r.Kind = cronJobs }
	const wakes = "an edit of labels or annotations by which the object leaves its suspend and wakes (spec.labelChanges: Deny)"
	onlySuspends := edited(sleeping, "deny: [Delete]", "deny: []")
	own := strings.NewReplacer("ClusterChangeFreeze, metadata: {", "ChangeFreeze, metadata: {namespace: shop, ", "namespaces: [shop], ",
		"").Replace(sleeping)
	for _, test := range []struct {
		reason, policy string
		req            freeze.UserChange
		refused        bool
	}{
		{"the label of its entry goes", sleeping, change(0, out, job), true},
		{"from entry to entry", sleeping, change(0, facts(labelled("tier", "front"), labelled("tier", "data")), job), false},
		{"other labels", sleeping, change(0, facts(labelled("tier", "front"), labelled("tier", "front", "a", "b")), job), false},
		{"a kind that does not sleep", sleeping, change(0, out), false},
		{"before it begins", sleeping, change(0, out, job, now("2026-12-19T23:59:59Z")), false},
		{"an edit that may pass", edited(sleeping, "deny:", "labelChanges: Warn, deny:"), change(0, out, job), false},
		{"a policy that only suspends", onlySuspends, change(0, out, job), false},
		{"a policy that only suspends, and asks for it", edited(onlySuspends, "deny:", "labelChanges: Deny, deny:"), change(0, out, job), true},
		{"a policy that only suspends, and an object outside of suspend", edited(onlySuspends, "deny:", "labelChanges: Deny, deny:",
			"kinds:", "selector: {matchLabels: {tier: front}}, kinds:"), change(0, out), false},
		{"a freeze of a namespace", own, change(0, out, job), false},
		{"a freeze of a namespace that asks for it", edited(own, "deny:", "labelChanges: Deny, deny:"), change(0, out, job), true},
		{"a label of the target", edited(sleeping, "kinds:", "selector: {matchLabels: {app: web}}, kinds:"),
			change(0, facts(labelled("tier", "front", "app", "web"), labelled("tier", "front")), job), true},
	} {
		v := set(t, test.policy).Decide(test.req)
		if v.Allowed == test.refused || test.refused != strings.Contains(v.Message, wakes) {
			t.Errorf("%s: allowed %t: %s", test.reason, v.Allowed, v.Message)
		}
	}
	warned := set(t, edited(sleeping, "deny:", "labelChanges: Warn, deny:"))
	if got := names(warned.Escapes(change(0, out, job))); len(got) != 1 {
		t.Errorf("an edit that passes is reported for %v", got)
	}
	for policy, want := range map[string]workload.Change{sleeping: rollOut, onlySuspends: 0,
		edited(onlySuspends, "deny:", "labelChanges: Deny, deny:"): rollOut} {
		if got := set(t, policy).InUse(cronJobs, false, at("2026-12-20T12:00:00Z")).All(); got != want {
			t.Errorf("updates of CronJobs are sent for %v, want %v:\n%s", got.Names(), want.Names(), policy)
		}
	}
}

// New labels of a namespace that take it out of an entry of suspend need the right to override, as for the target.
func TestNamespacesStayInSuspend(t *testing.T) {
	byLabel := edited(sleeping, "{group: batch, kind: CronJob, selector: {matchLabels: {tier: data}}}",
		"{group: batch, kind: CronJob, namespaceSelector: {matchLabels: {env: prod}}}")
	for _, test := range []struct {
		reason, policy string
		old, relabels  workload.Pairs
		want           int
	}{
		{"out of an entry", byLabel, pairs("env", "prod"), pairs("env", "dev"), 1},
		{"into an entry", byLabel, pairs("env", "dev"), pairs("env", "prod"), 0},
		{"other labels", byLabel, pairs("env", "prod"), pairs("env", "prod", "a", "b"), 0},
		{"entries without labels of namespaces", sleeping, pairs("env", "prod"), pairs("env", "dev"), 0},
	} {
		s := set(t, test.policy)
		if got := s.EscapesNamespace("shop", test.old, test.relabels, at("2026-12-20T12:00:00Z")); len(got) != test.want {
			t.Errorf("%s: %v", test.reason, names(got))
		}
		if got, _ := s.GuardsNamespaces(at("2026-12-20T12:00:00Z")); got != (test.policy == byLabel) {
			t.Errorf("%s: guards namespaces %t", test.reason, got)
		}
	}
}
