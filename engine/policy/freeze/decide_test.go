package freeze_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

const (
	create  = workload.ChangeCreate
	remove  = workload.ChangeDelete
	rollOut = workload.ChangeRollOut
	scale   = workload.ChangeScale
)

// edited returns the text with replacements, given in pairs.
func edited(text string, oldNew ...string) string {
	return strings.NewReplacer(oldNew...).Replace(text)
}

func TestVerdictOfOverlappingFreezes(t *testing.T) {
	tests := []struct {
		reason   string
		policies []string
		req      freeze.UserChange
		// denied are the refused actions; none: the request is allowed.
		denied workload.Change
	}{
		{"nothing is frozen", nil, change(rollOut), 0},
		{"a change of nothing passes", []string{yearEnd}, change(0), 0},
		{"a roll-out in a freeze", []string{yearEnd}, change(rollOut), rollOut},
		{"a creation in a freeze", []string{yearEnd}, change(create, func(r *freeze.UserChange) { r.Old = nil }), create},
		{"a deletion in a freeze", []string{yearEnd}, change(remove, func(r *freeze.UserChange) { r.New = nil }), remove},
		{"both actions of one edit", []string{yearEnd}, change(rollOut | scale), rollOut | scale},
		{"only what is listed is denied", []string{edited(yearEnd, "[Create, Delete, RollOut, Scale]", "[Scale]")}, change(rollOut | scale),
			scale},
		{"what is not listed passes", []string{edited(yearEnd, "[Create, Delete, RollOut, Scale]", "[Scale]")}, change(rollOut), 0},
		{"the first second is frozen", []string{yearEnd}, change(scale, now("2026-12-20T00:00:00Z")), scale},
		{"the second before is not", []string{yearEnd}, change(scale, now("2026-12-19T23:59:59.999Z")), 0},
		{"the last second is frozen", []string{yearEnd}, change(scale, now("2027-01-02T23:59:59.999Z")), scale},
		{"the end is not", []string{yearEnd}, change(scale, now("2027-01-03T00:00:00Z")), 0},

		{"another namespace", []string{yearEnd}, change(scale, nsLabels(pairs("env", "dev"))), 0},
		{"a namespace being relabelled away is frozen still", []string{yearEnd},
			change(scale, nsLabels(pairs("env", "prod"), pairs("env", "dev"))), scale},
		{"protected namespaces are not selected by labels", []string{yearEnd},
			change(scale, func(r *freeze.UserChange) { r.Namespace = "kube-system" }), 0},
		{"the label of other policies excludes nothing from a freeze", []string{plain}, change(scale, facts(excluded, excluded)), scale},
		{"nor from the creation on", []string{plain}, change(create, facts(nil, excluded)), create},
		{"nor from a freeze by name", []string{named}, change(scale, facts(excluded, excluded)), scale},
		{"nor from a maintenance window", []string{weekly}, change(rollOut, facts(excluded, excluded)), rollOut},
		{"excluded objects pass", []string{yearEnd}, change(scale,
			facts(labelled("flyball.dev/exclude", "true"), labelled("flyball.dev/exclude", "true"))), 0},
		{"an edit cannot exclude itself", []string{yearEnd}, change(scale, facts(labelled(), labelled("flyball.dev/exclude", "true"))), scale},
		{"an edit cannot drop the label that selects it", []string{selected}, change(scale, facts(labelled("tier", "front"), labelled())), scale},
		{"nor earn another by the edit", []string{selected}, change(scale, facts(labelled(), labelled("tier", "front"))), scale},
		{"other labels are not selected", []string{selected}, change(scale, facts(labelled("tier", "back"), labelled("tier", "back"))), 0},
		{"a label of one of some values", []string{edited(selected, "matchLabels: {tier: front}",
			"matchExpressions: [{key: tier, operator: In, values: [front, back]}]")}, change(scale), scale},
		{"a label of none of some values", []string{edited(selected, "matchLabels: {tier: front}",
			"matchExpressions: [{key: tier, operator: NotIn, values: [back]}]")}, change(scale), scale},
		{"a label of another value than those", []string{edited(selected, "matchLabels: {tier: front}",
			"matchExpressions: [{key: tier, operator: In, values: [back]}]")}, change(scale), 0},
		{"annotations select too, before or after", []string{annotated},
			change(scale, facts(&freeze.Facts{Annotations: pairs("team", "a")}, labelled())), scale},
		{"other annotations do not", []string{annotated}, change(scale), 0},
		{"names select", []string{named}, change(scale), scale},
		{"other names do not", []string{named}, change(scale, func(r *freeze.UserChange) { r.Name = "db" }), 0},
		{"other kinds do not", []string{named}, change(scale,
			func(r *freeze.UserChange) { r.Kind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"} }), 0},

		{"namespaced policies act in their namespace", []string{weekly}, change(rollOut), rollOut},
		{"and in no other", []string{weekly}, change(rollOut, func(r *freeze.UserChange) { r.Namespace = "bank" }), 0},
		{"inside its window a maintenance window allows", []string{weekly}, change(rollOut, now("2026-12-22T09:00:00Z")), 0},
		{"until it closes", []string{weekly}, change(rollOut, now("2026-12-22T11:00:00Z")), rollOut},
		{"up to the second", []string{weekly}, change(rollOut, now("2026-12-22T10:59:59Z")), 0},
		{"a window of two policies counts in both", []string{weekly, yearEnd}, change(rollOut, now("2026-12-22T09:00:00Z")), rollOut},

		{"objects outside namespaces belong to cluster policies that list them", []string{pools}, pool(scale), scale},
		{"and to no others", []string{yearEnd, edited(yearEnd, "namespaceSelector: {matchLabels: {env: prod}}", "namespaceSelector: {}"), weekly},
			pool(scale), 0},

		{"terminating namespaces", []string{yearEnd}, change(remove|scale, func(r *freeze.UserChange) { r.Terminating = true }), 0},
		{"deletion of what is being deleted", []string{yearEnd}, change(remove, func(r *freeze.UserChange) { r.Deleting = true }), 0},
		{"an edit of what is being deleted", []string{yearEnd}, change(scale, func(r *freeze.UserChange) { r.Deleting = true }), scale},
		{"the garbage collector", []string{yearEnd}, change(remove, user("system:serviceaccount:kube-system:generic-garbage-collector")), 0},
		{"the autoscaler", []string{yearEnd}, change(scale, user("system:serviceaccount:kube-system:horizontal-pod-autoscaler")), 0},
		{"an account of the same name elsewhere", []string{yearEnd}, change(scale, user("system:serviceaccount:shop:horizontal-pod-autoscaler")),
			scale},
		{"some other account of kube-system", []string{yearEnd}, change(scale, user("system:serviceaccount:kube-system:tiller")), scale},
		{"administrators", []string{yearEnd}, change(scale, user("admin", "system:masters")), scale},
		{"dry runs", []string{yearEnd}, change(scale, func(r *freeze.UserChange) { r.DryRun = true }), scale},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			v := set(t, test.policies...).Decide(test.req)
			var denied workload.Change
			for _, d := range v.Denials {
				denied |= d.Actions
			}
			if denied != test.denied || v.Allowed != (test.denied == 0) || (v.Message == "") != v.Allowed {
				t.Errorf("want %v denied, got %v, allowed %t, message %q", test.denied.Names(), denied.Names(), v.Allowed, v.Message)
			}
		})
	}
}

var excluded = labelled("tier", "front", v1alpha1.LabelExclude, "true")

// plain is the freeze yearEnd without its exclude.
var plain = edited(yearEnd, `, exclude: {matchLabels: {flyball.dev/exclude: "true"}}`, "")

const (
	selected  = `{kind: ChangeFreeze, metadata: {name: a, namespace: shop}, spec: {target: {selector: {matchLabels: {tier: front}}}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Scale]}}`
	annotated = `{kind: ChangeFreeze, metadata: {name: b, namespace: shop}, spec: {target: {annotations: {team: a}}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Scale]}}`
	named     = `{kind: ClusterChangeFreeze, metadata: {name: c}, spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [shop, bank], names: [web, api]}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Scale]}}`
	pools     = `{kind: ClusterChangeFreeze, metadata: {name: d}, spec: {target: {kinds: [{group: karpenter.sh, kind: NodePool}]}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Scale]}}`
)

func now(text string) func(*freeze.UserChange) {
	return func(r *freeze.UserChange) { r.Now = at(text) }
}

func user(name string, groups ...string) func(*freeze.UserChange) {
	return func(r *freeze.UserChange) { r.User, r.Groups = name, groups }
}

func facts(old, cur *freeze.Facts) func(*freeze.UserChange) {
	return func(r *freeze.UserChange) { r.Old, r.New = old, cur }
}

func nsLabels(sets ...workload.Pairs) func(*freeze.UserChange) {
	return func(r *freeze.UserChange) { r.NamespaceLabels = sets }
}

func pool(actions workload.Change) freeze.UserChange {
	return change(actions, func(r *freeze.UserChange) {
		r.Kind, r.Namespace, r.Name, r.NamespaceLabels = nodePools, "", "spot", nil
	})
}

func TestExceptionLiftsADenialIfAllConstraintsHold(t *testing.T) {
	tests := []struct {
		reason   string
		policies []string
		req      freeze.UserChange
		denied   workload.Change
	}{
		{"all of it holds", []string{yearEnd, fix}, change(rollOut), 0},
		{"another action", []string{yearEnd, fix}, change(scale), scale},
		{"it takes off its action only", []string{yearEnd, fix}, change(rollOut | scale), scale},
		{"two take off one each", []string{yearEnd, fix, edited(fix, "name: fix", "name: more", "[RollOut]", "[Scale]")}, change(rollOut | scale),
			0},
		{"before its time", []string{yearEnd, fix}, change(rollOut, now("2026-12-20T09:59:59Z")), rollOut},
		{"its first second", []string{yearEnd, fix}, change(rollOut, now("2026-12-20T10:00:00Z")), 0},
		{"its last second", []string{yearEnd, fix}, change(rollOut, now("2026-12-20T13:59:59.9Z")), 0},
		{"expired to the second", []string{yearEnd, fix}, change(rollOut, now("2026-12-20T14:00:00Z")), rollOut},
		{"another user", []string{yearEnd, fix}, change(rollOut, user("carol", "developers")), rollOut},
		{"another group", []string{yearEnd, fix}, change(rollOut, user("alice", "sales")), rollOut},
		{"one group of several", []string{yearEnd, fix}, change(rollOut, user("bob", "sales", "oncall")), 0},
		{"the required label is added by the edit", []string{yearEnd, fix}, change(rollOut, facts(labelled(), labelled("tier", "front"))),
			rollOut},
		{"the required label is dropped by the edit", []string{yearEnd, fix}, change(rollOut, facts(labelled("tier", "front"), labelled())),
			rollOut},
		{"the required label has another value", []string{yearEnd, fix},
			change(rollOut, facts(labelled("tier", "back"), labelled("tier", "back"))), rollOut},
		{"a creation with the label", []string{yearEnd, edited(fix, "[RollOut]", "[Create]")},
			change(create, facts(nil, labelled("tier", "front"))), 0},
		{"another namespace", []string{yearEnd, edited(fix, "[shop]", "[bank]")}, change(rollOut), rollOut},
		{"a namespace being relabelled into it", []string{yearEnd,
			edited(fix, "namespaces: [shop]", "namespaceSelector: {matchLabels: {fast: lane}}")},
			change(rollOut, nsLabels(pairs("env", "prod"), pairs("env", "prod", "fast", "lane"))), rollOut},
		{"a namespace in it", []string{yearEnd, edited(fix, "namespaces: [shop]", "namespaceSelector: {matchLabels: {fast: lane}}")},
			change(rollOut, nsLabels(pairs("env", "prod", "fast", "lane"))), 0},
		{"of other policies", []string{yearEnd, edited(fix, "[year-end]", "[weekly]")}, change(rollOut), rollOut},
		{"of all policies", []string{yearEnd, weekly, edited(fix, "policies: [year-end]", "policies: []")}, change(rollOut), 0},
		{"a bare name of a cluster exception is never a namespaced policy", []string{weekly, edited(fix, "[year-end]", "[weekly]")},
			change(rollOut), rollOut},
		{"one with kind and namespace is", []string{weekly, edited(fix, "[year-end]", "[MaintenanceWindow/shop/weekly]")}, change(rollOut), 0},
		{"one of the same name in another namespace is not", []string{weekly, edited(fix, "[year-end]", "[MaintenanceWindow/bank/weekly]")},
			change(rollOut), rollOut},
		{"nor one of the same name and another kind", []string{weekly, edited(fix, "[year-end]", "[ChangeFreeze/shop/weekly]")}, change(rollOut),
			rollOut},
		{"a cluster policy by kind and name", []string{yearEnd, edited(fix, "[year-end]", "[ClusterChangeFreeze/year-end]")}, change(rollOut), 0},
		{"a cluster policy of another kind", []string{yearEnd, edited(fix, "[year-end]", "[ClusterMaintenanceWindow/year-end]")}, change(rollOut),
			rollOut},
		{"a bare name in a namespace", []string{weekly, edited(local, "reason:", "policies: [weekly], reason:")}, change(rollOut), 0},
		{"kind and name in a namespace", []string{weekly, edited(local, "reason:", "policies: [MaintenanceWindow/weekly], reason:")},
			change(rollOut), 0},
		{"another kind and name in a namespace", []string{weekly, edited(local, "reason:", "policies: [ChangeFreeze/weekly], reason:")},
			change(rollOut), rollOut},
		{"of one of two policies", []string{yearEnd, weekly, fix}, change(rollOut), rollOut},
		{"a namespaced one lifts a namespaced policy", []string{weekly, local}, change(rollOut), 0},
		{"a namespaced one never lifts a cluster policy", []string{yearEnd, local}, change(rollOut), rollOut},
		{"a namespaced one of another namespace", []string{weekly, edited(local, "shop", "bank")}, change(rollOut), rollOut},
		{"the label of other policies excludes nothing from an exception", []string{yearEnd, fix},
			change(rollOut, facts(excluded, labelled("tier", "front"))), 0},
		{"alone it changes nothing", []string{fix}, change(rollOut), 0},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			v := set(t, test.policies...).Decide(test.req)
			var denied workload.Change
			for _, d := range v.Denials {
				denied |= d.Actions
			}
			if denied != test.denied || v.Allowed != (test.denied == 0) {
				t.Errorf("want %v denied, got %+v", test.denied.Names(), v)
			}
		})
	}
}

const local = `{kind: FreezeException, metadata: {name: local, namespace: shop}, spec: {activeFrom: 2026-12-20T10:00:00Z, activeTo: 2026-12-20T14:00:00Z, allow: [Create, Delete, RollOut, Scale], reason: a try}}`

// The verdict has the lifted actions, the warnings, the audited denials, and the messages.
func TestWholeVerdict(t *testing.T) {
	s := set(t, yearEnd, weekly,
		edited(fix, "policies: [year-end]", "policies: [MaintenanceWindow/shop/weekly]"),
		edited(named, "name: c", "name: softly", "deny: [Scale]", "deny: [Scale, RollOut], enforcement: Warn, message: {reason: sale}"),
		edited(annotated, "name: b", "name: quiet", "annotations: {team: a}", "names: [web]", "deny: [Scale]",
			"deny: [RollOut], enforcement: Audit"))
	got := s.Decide(change(rollOut))
	softly := workload.Policy{Kind: freeze.ClusterKind, Name: "softly"}
	year := workload.Policy{Kind: freeze.ClusterKind, Name: "year-end"}
	week := workload.Policy{Kind: freeze.WindowKind, Namespace: "shop", Name: "weekly"}
	quiet := workload.Policy{Kind: freeze.Kind, Namespace: "shop", Name: "quiet"}
	end := at("2027-01-03T00:00:00Z")
	want := freeze.Verdict{
		Enforcement: v1alpha1.EnforcementDeny,
		Denials: []freeze.Denial{
			{Policy: quiet, Enforcement: v1alpha1.EnforcementAudit, Actions: rollOut, Until: end},
			{Policy: softly, Enforcement: v1alpha1.EnforcementWarn, Actions: rollOut, Until: end, Reason: "sale"},
			{Policy: year, Enforcement: v1alpha1.EnforcementDeny, Actions: rollOut, Until: end,
				Reason: "year-end freeze (contact #release; see https://wiki/freeze)"},
		},
		Lifts: []freeze.Lift{{Policy: week, Exception: workload.Policy{Kind: freeze.ClusterExceptionKind, Name: "fix"}, Actions: rollOut}},
		Warnings: []string{"ClusterChangeFreeze/softly asks not to RollOut Deployment.apps/shop/web now: sale. " +
			"It ends 2027-01-03T00:00:00Z (UTC)"},
		// The freeze ends on Sunday; on Tuesday the window opens.
		NextAllowed: at("2027-01-05T09:00:00Z"),
		Message: "change of Deployment.apps/shop/web refused: ClusterChangeFreeze/year-end denies RollOut: year-end freeze (contact " +
			"#release; see https://wiki/freeze). " +
			"Next allowed: 2027-01-05T10:00:00+01:00 (Europe/Berlin)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRefusalNamesEveryPolicy(t *testing.T) {
	got := set(t, yearEnd, weekly, edited(named, "name: c", "name: softly", "deny: [Scale]",
		"deny: [RollOut], enforcement: Warn")).Decide(change(rollOut)).Message
	want := "change of Deployment.apps/shop/web refused: " +
		"ClusterChangeFreeze/year-end denies RollOut: year-end freeze (contact #release; see https://wiki/freeze); " +
		"MaintenanceWindow/shop/weekly denies RollOut. " +
		"Next allowed: 2027-01-05T10:00:00+01:00 (Europe/Berlin)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Odd policies must not keep the webhook busy. The search for an instant at which all windows are open ends after a
// limited time and returns how far it went.
func TestNextAllowedEndsItsSearch(t *testing.T) {
	var policies []string
	for p := range 24 {
		var windows []string
		for w := range 32 {
			windows = append(windows, fmt.Sprintf(`{cron: "%d %d * * *", duration: 1m}`, (w*7+p)%60, (w+p)%24))
		}
		policies = append(policies, edited(weekly, "name: weekly", fmt.Sprintf("name: odd-%d", p),
			`{name: tuesday, days: [Tue], from: "10:00", to: "12:00"}`, strings.Join(windows, ", ")))
	}
	req := change(rollOut)
	v := set(t, policies...).Decide(req)
	if v.Allowed || !v.NextAllowed.IsZero() || !v.NotBefore.After(req.Now) {
		t.Errorf("allowed %t, next %s, not before %s: want a search that ends without an answer", v.Allowed, v.NextAllowed, v.NotBefore)
	}
	if limit := req.Now.AddDate(0, 0, 7); v.NotBefore.After(limit) {
		t.Errorf("searched until %s, want it to stop before %s", v.NotBefore, limit)
	}
}

func TestEnforcementDeniesWarnsOrAudits(t *testing.T) {
	for _, test := range []struct {
		enforcement v1alpha1.Enforcement
		allowed     bool
		warnings    int
	}{
		{v1alpha1.EnforcementDeny, false, 0}, {v1alpha1.EnforcementWarn, true, 1}, {v1alpha1.EnforcementAudit, true, 0},
	} {
		v := set(t, edited(yearEnd, "enforcement: Deny", "enforcement: "+string(test.enforcement))).Decide(change(scale))
		if v.Allowed != test.allowed || len(v.Warnings) != test.warnings || v.Enforcement != test.enforcement || len(v.Denials) != 1 ||
			len(v.Of(test.enforcement)) != 1 {
			t.Errorf("%s: got %+v", test.enforcement, v)
		}
	}
}

func TestNextAllowed(t *testing.T) {
	nights := edited(weekly, "name: weekly", "name: nights", `days: [Tue], from: "10:00", to: "12:00"`, `from: "11:00", to: "20:00"`)
	later := edited(yearEnd, "name: year-end", "name: later", "2026-12-20", "2027-01-03", "2027-01-03T00:00:00Z\n  time",
		"2027-01-10T00:00:00Z\n  time")
	tests := []struct {
		reason   string
		policies []string
		req      freeze.UserChange
		want     string
		ever     bool
	}{
		{"the end of the freeze", []string{yearEnd}, change(scale), "2027-01-03T00:00:00Z", false},
		{"where both windows are open", []string{weekly, nights}, change(rollOut), "2026-12-22T10:00:00Z", false},
		{"the end of the freeze that follows at once", []string{yearEnd, later}, change(scale), "2027-01-10T00:00:00Z", false},
		{"one that only warns counts nothing", []string{yearEnd, edited(later, "enforcement: Deny", "enforcement: Warn")}, change(scale),
			"2027-01-03T00:00:00Z", false},
		{"the beginning of an exception", []string{yearEnd, fix}, change(rollOut, now("2026-12-20T01:00:00Z")), "2026-12-20T10:00:00Z", false},
		{"not that of an exception for others", []string{yearEnd, fix}, change(rollOut, now("2026-12-20T01:00:00Z"), user("carol")),
			"2027-01-03T00:00:00Z", false},
		{"an exception from one of two", []string{yearEnd, weekly, fix}, change(rollOut, now("2026-12-20T01:00:00Z")), "2027-01-05T09:00:00Z",
			false},
		{"an exception and a window that meet", []string{yearEnd, weekly, edited(fix, "2026-12-20T14", "2026-12-23T14")},
			change(rollOut, now("2026-12-20T01:00:00Z")), "2026-12-22T09:00:00Z", false},
		{"two windows that never meet", []string{weekly, edited(weekly, "name: weekly", "name: wednesday", "Tue", "Wed")}, change(rollOut), "",
			false},
		{"a window that has closed for good", []string{edited(weekly, `days: [Tue], from: "10:00", to: "12:00"`,
			`start: "2026-01-01", end: "2026-01-02"`)}, change(rollOut), "", true},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			s := set(t, test.policies...)
			v := s.Decide(test.req)
			got := ""
			if !v.NextAllowed.IsZero() {
				got = v.NextAllowed.Format(time.RFC3339)
			}
			if got != test.want || v.Allowed {
				t.Fatalf("want %q, got %q: %s", test.want, got, v.Message)
			}
			if test.want == "" {
				says := "No later time is known"
				if !v.NotBefore.IsZero() {
					says = "Not allowed before 20"
				}
				if !strings.Contains(v.Message, says) || v.NotBefore.IsZero() != test.ever {
					t.Errorf("searched until %s, the message does not say so: %s", v.NotBefore, v.Message)
				}
				return
			}
			test.req.Now = v.NextAllowed
			if after := s.Decide(test.req); !after.Allowed {
				t.Errorf("still refused at %s: %s", got, after.Message)
			}
			test.req.Now = v.NextAllowed.Add(-time.Second)
			if before := s.Decide(test.req); before.Allowed {
				t.Errorf("allowed a second earlier than %s", got)
			}
		})
	}
}
