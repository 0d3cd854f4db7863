package freeze_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
)

// An edit needs rights if it changes the suspended kinds or their times. A change of the denied actions needs no right.
func TestRightsOfFreezes(t *testing.T) {
	const text = `
kind: ClusterChangeFreeze
metadata: {name: year-end}
spec:
  target: {namespaces: [shop]}
  startTime: 2026-12-20T00:00:00Z
  endTime: 2027-01-03T00:00:00Z
  deny: [RollOut]
  suspend: [{group: batch, kind: CronJob}]
`
	rights := func(text string) []policy.Right {
		obj := parse(t, text).(policy.Object)
		rows := freeze.Kinds()
		i := slices.IndexFunc(rows, func(k policy.Row) bool { return k.Name == freeze.ClusterKind })
		return rows[i].RightsOf(obj)
	}
	all := rights(text)
	if len(all) != 1 || all[0].Verb != "patch" || !all[0].OnSelected() || all[0].Field != "spec.suspend" {
		t.Fatalf("a freeze that suspends takes %+v", all)
	}
	for _, tc := range []struct {
		from, to string
		asks     bool
	}{
		{"namespaces: [shop]", "namespaces: [shop, bank]", true},
		{"target: {", "target: {names: [web], ", true},
		{"startTime: 2026-12-20", "startTime: 2026-12-01", true},
		{"endTime: 2027-01-03", "endTime: 2027-02-03", true},
		{"kind: CronJob}", "kind: CronJob}, {group: batch, kind: Job}", true},
		{"deny: [RollOut]", "deny: [RollOut, Create]", false},
		{"deny: [RollOut]", "deny: [RollOut]\n  enforcement: Warn", false},
		{"deny: [RollOut]", "deny: [RollOut]\n  message: {reason: peace}", false},
		{"deny: [RollOut]", "deny: [RollOut]\n  labelChanges: Warn", false},
		{"metadata: {", "metadata: {annotations: {a: b}, ", false},
	} {
		if edited := rights(strings.Replace(text, tc.from, tc.to, 1)); equality.Semantic.DeepEqual(all, edited) == tc.asks {
			t.Errorf("%s to %s asks: %t, want %t", tc.from, tc.to, !tc.asks, tc.asks)
		}
	}
	if none := rights(strings.Replace(text, "suspend: [{group: batch, kind: CronJob}]", "", 1)); len(none) > 0 {
		t.Errorf("one that suspends nothing takes %+v", none)
	}
}
