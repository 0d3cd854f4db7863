package freeze_test

import (
	"fmt"
	"strings"
	"testing"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// The warnings name exactly those maintenance windows over the same objects that are never open at the same time as the
// given one.
func TestApartWarnsOfWindowsNeverOpenTogether(t *testing.T) {
	const window = "kind: MaintenanceWindow\nmetadata: {name: %s, namespace: shop}\nspec: {target: %s, windows: [%s], deny: [RollOut], " +
		"enforcement: Deny}"
	clusterWide := func(name, target, days string) string {
		return strings.NewReplacer("kind: M", "kind: ClusterM", ", namespace: shop", "").Replace(fmt.Sprintf(window, name, target, days))
	}
	own := func(name, target, days string) string { return fmt.Sprintf(window, name, target, days) }
	const tuesday, thursday, noon = `{days: [Tue], from: "10:00", to: "12:00"}`, `{days: [Thu], from: "10:00", to: "12:00"}`,
		`{from: "11:00", to: "13:00"}`
	spaces := func(yield func(string, workload.Pairs) bool) {
		_ = yield("bank", nil) && yield("shop", nil) && yield("kube-system", nil)
	}
	const everything, inShop = "{}", "{namespaces: [shop]}"
	for _, tc := range []struct {
		reason, given, other string
		want                 bool
	}{
		{"other days", own("a", everything, tuesday), own("b", everything, thursday), true},
		{"one of the cluster", own("a", everything, tuesday), clusterWide("b", inShop, thursday), true},
		{"for the one of the cluster", clusterWide("a", "{namespaceSelector: {}}", tuesday), own("b", everything, thursday), true},
		{"an hour in common", own("a", everything, tuesday), own("b", everything, noon), false},
		{"the same one", own("a", everything, tuesday), own("a", everything, thursday), false},
		{"other namespaces", own("a", everything, tuesday), clusterWide("b", "{namespaces: [bank]}", thursday), false},
		{"other kinds", own("a", "{kinds: [{group: apps, kind: Deployment}]}", tuesday),
			own("b", "{kinds: [{group: apps, kind: StatefulSet}]}", thursday), false},
		{"a kind of all", own("a", "{kinds: [{group: apps, kind: Deployment}]}", tuesday), own("b", everything, thursday), true},
		{"other names", own("a", "{names: [web]}", tuesday), own("b", "{names: [db]}", thursday), false},
		{"other labels", own("a", "{selector: {matchLabels: {tier: front}}}", tuesday),
			own("b", "{selector: {matchLabels: {tier: data}}}", thursday), false},
		{"all but the names of the other", own("a", "{names: [web]}", tuesday), own("b", "{excludeNames: [web]}", thursday), false},
		{"a name of all", own("a", "{names: [web]}", tuesday), own("b", everything, thursday), true},
		{"a name of several", own("a", "{names: [web]}", tuesday), own("b", "{names: [\"w*\", db]}", thursday), true},
		{"globs that may share no name", own("a", "{names: [\"w*\"]}", tuesday), own("b", "{names: [\"*b\"]}", thursday), false},
		{"all but the labels of the other", own("a", "{selector: {matchLabels: {tier: front}}}", tuesday),
			own("b", "{exclude: {matchLabels: {tier: front}}}", thursday), false},
		{"labels that an object may have together", own("a", "{selector: {matchLabels: {tier: front}}}", tuesday),
			own("b", "{selector: {matchLabels: {app: web}}}", thursday), false},
		{"the same labels", own("a", "{selector: {matchLabels: {tier: front}}}", tuesday),
			own("b", "{selector: {matchLabels: {tier: front}}}", thursday), true},
		{"labels of all", own("a", everything, tuesday), own("b", "{selector: {matchLabels: {tier: front}}}", thursday), true},
		{"annotations on both sides", own("a", "{annotations: {team: a}}", tuesday), own("b", "{annotations: {team: b}}", thursday), false},
		{"a namespace that the other leaves out", own("a", everything, tuesday),
			clusterWide("b", "{namespaceSelector: {}, excludeNamespaces: [shop]}", thursday), false},
		{"a namespace in which nothing is judged", strings.Replace(own("a", everything, tuesday), "shop", "kube-system", 1),
			clusterWide("b", "{namespaces: [kube-system]}", thursday), false},
		{"some subjects only", strings.Replace(own("a", everything, tuesday), "deny:", "subjects: [{kind: User, name: eve}], deny:", 1),
			own("b", everything, thursday), false},
		{"all but some subjects", own("a", everything, tuesday),
			strings.Replace(own("b", everything, thursday), "deny:", "excludeSubjects: [{kind: User, name: eve}], deny:", 1), false},
		{"a calendar that cannot be read", own("a", everything, tuesday),
			strings.Replace(own("b", everything, thursday), "deny:", "calendars: [{name: broken, effect: Open}], deny:", 1), false},
		{"a calendar that is missing", own("a", everything, tuesday),
			strings.Replace(own("b", everything, thursday), "deny:", "calendars: [{name: gone, effect: Open}], deny:", 1), false},
		{"other actions", own("a", everything, tuesday), strings.Replace(own("b", everything, thursday), "RollOut", "Delete", 1), false},
		{"one that only warns", own("a", everything, tuesday),
			strings.Replace(own("b", everything, thursday), "enforcement: Deny", "enforcement: Warn", 1), false},
		{"that warns itself", strings.Replace(own("a", everything, tuesday), "enforcement: Deny", "enforcement: Warn", 1),
			own("b", everything, thursday), false},
		{"a freeze", own("a", everything, tuesday), "kind: ChangeFreeze\nmetadata: {name: b, namespace: shop}\n" +
			"spec: {startTime: 2026-01-01T00:00:00Z, endTime: 2036-01-01T00:00:00Z, deny: [RollOut], enforcement: Deny}", false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			ctx := testContext
			ctx.Calendars = func(string) (timeline.Timeline, bool) { return timeline.Timeline{}, false }
			ctx.Lost = func(name string) times.Loss {
				if name == "broken" {
					return times.Whole(name)
				}
				return times.Loss{}
			}
			rules := map[string]*freeze.Rule{}
			for _, text := range []string{tc.given, tc.other} {
				rule, _, errs := freeze.CompileObject(parse(t, text), ctx)
				if len(errs) > 0 {
					t.Fatal(errs)
				}
				rules[text] = rule
			}
			rule, others := rules[tc.given], (&freeze.Set{}).With(rules[tc.other])
			got := others.Apart(rule, spaces, at("2026-03-02T12:00:00Z"))
			if (len(got) > 0) != tc.want {
				t.Fatalf("warns: %q", got)
			}
			if tc.want && !strings.Contains(got[0], "/b selects the same objects") {
				t.Errorf("warns: %q", got)
			}
			never := others.With(rule).NeverOpen(spaces, at("2026-03-02T12:00:00Z"))
			if want := map[bool]int{true: 2}[tc.want]; len(never) != want {
				t.Fatalf("never open: %v", never)
			}
			for id, others := range never {
				if other := map[string]string{"a": "/b", "b": "/a"}[id.Name]; len(others) != 1 ||
					!strings.Contains(others[0], other+" selects the same objects") {
					t.Errorf("%s: %q", id, others)
				}
			}
		})
	}
}
