package freeze_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Errors that neither the schema nor CEL finds are refused with the name of the field.
func TestCompileErrors(t *testing.T) {
	tests := []struct {
		reason, object string
		want           []string
	}{
		{"a good freeze", yearEnd, nil},
		{"a good window", weekly, nil},
		{"a good exception", fix, nil},
		{"an unknown zone", edited(yearEnd, "Europe/Berlin", "Europe/Berlim"),
			[]string{`spec.timeZone: Invalid value: "Europe/Berlim": load time zone "Europe/Berlim"`}},
		{"an end before the start", edited(yearEnd, "2027-01-03", "2026-12-20"),
			[]string{`spec.endTime: Invalid value: "2026-12-20T00:00:00Z": must be after startTime`}},
		{"no namespaces", edited(yearEnd, "namespaceSelector: {matchLabels: {env: prod}}, ", ""),
			[]string{`spec.target.namespaces: Required value`}},
		{"an unknown action, and one twice", edited(yearEnd, "[Create, Delete, RollOut, Scale]", "[Scale, Restart, Scale]"),
			[]string{`spec.deny[1]: Unsupported value: "Restart"`, `spec.deny[2]: Duplicate value: "Scale"`}},
		{"no action", edited(yearEnd, "[Create, Delete, RollOut, Scale]", "[]"), []string{`spec.deny: Required value`}},
		{"an unknown enforcement", edited(yearEnd, "enforcement: Deny", "enforcement: Hope"),
			[]string{`spec.enforcement: Unsupported value: "Hope"`}},
		{"a guard that begins after the freeze", edited(yearEnd, "enforcement: Deny", "guardAhead: -1s"),
			[]string{`spec.guardAhead: Invalid value: "-1s": duration "-1s" must be positive`}},
		{"an unknown answer to edits of labels", edited(yearEnd, "enforcement: Deny", "labelChanges: Hope"),
			[]string{`spec.labelChanges: Unsupported value: "Hope"`}},
		{"a broken selector", edited(weekly, "target: {", "target: {selector: {matchExpressions: [{key: a, operator: Near}]}, "),
			[]string{`spec.target.selector: Invalid value`}},
		{"no windows", edited(weekly, `[{name: tuesday, days: [Tue], from: "10:00", to: "12:00"}]`, "[]"),
			[]string{`spec.windows: Required value`}},
		{"a broken window", edited(weekly, `from: "10:00"`, `from: "25:00"`), []string{`spec.windows[0].from: Invalid value: "25:00"`}},
		{"a window on a date that never comes", edited(weekly, `days: [Tue], from: "10:00", to: "12:00"`, `cron: "0 10 30 2 *", duration: 2h`),
			[]string{`spec.windows[0].cron: Invalid value: "0 10 30 2 *"`}},
		{"a kind to suspend twice", edited(yearEnd, "deny:", "suspend: [{kind: A}, {kind: A}]\n  deny:"),
			[]string{`spec.suspend[1]: Duplicate value: "A"`}},
		{"a part of a kind to suspend besides the whole", edited(yearEnd, "deny:", "suspend: [{kind: A}, {kind: A, names: [a]}]\n  deny:"),
			[]string{`spec.suspend[1]: Duplicate value: "A"`}},
		{"two parts of a kind to suspend", edited(yearEnd, "deny:", "suspend: [{kind: A, names: [b]}, {kind: A, selector: {}}]\n  deny:"), nil},
		{"a kind to suspend by a broken selector and name",
			edited(weekly, "deny:", `suspend: [{kind: A}, {kind: B, names: ["a?"], selector: {matchExpressions: [{key: a, operator: Near}]}}]
  deny:`),
			[]string{`spec.suspend[1].names[0]: Invalid value: "a?"`, `spec.suspend[1].selector: Invalid value`}},
		{"namespaces of a kind to suspend that has none",
			edited(yearEnd, "deny:", "suspend: [{group: karpenter.sh, kind: NodePool, namespaces: [a]}]\n  deny:"),
			[]string{`spec.suspend[0].kind: Invalid value: "NodePool.karpenter.sh": lives outside namespaces`}},
		{"kinds to suspend that nothing reaches", edited(pools, "deny:", "suspend: [{group: batch, kind: CronJob}], deny:"),
			[]string{`spec.suspend: Invalid value: "": kinds that live in namespaces need`}},
		{"an exception that ends before it begins", edited(fix, "2026-12-20T14", "2026-12-20T09"),
			[]string{`spec.activeTo: Invalid value: "2026-12-20T09:00:00Z"`}},
		{"an exception that ends as it begins", edited(fix, "2026-12-20T14", "2026-12-20T10"),
			[]string{`spec.activeTo: Invalid value: "2026-12-20T10:00:00Z"`}},
		{"an exception without a reason", edited(fix, "reason: CVE fix", `reason: ""`), []string{`spec.reason: Required value`}},
		{"an exception of nothing", edited(fix, "[RollOut]", "[]"), []string{`spec.allow: Required value`}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			rule, exception, errs := freeze.CompileObject(parse(t, test.object), testContext)
			if len(errs) != len(test.want) {
				t.Fatalf("want %d errors, got %v", len(test.want), errs)
			}
			for i, e := range errs {
				if got := e.Error(); len(got) < len(test.want[i]) || got[:len(test.want[i])] != test.want[i] {
					t.Errorf("want %s, got %s", test.want[i], got)
				}
			}
			if broken := rule == nil && exception == nil; broken != (len(test.want) > 0) {
				t.Errorf("compiled to %v and %v", rule, exception)
			}
		})
	}
	if _, _, errs := freeze.CompileObject(&v1alpha1.Schedule{}, testContext); len(errs) == 0 {
		t.Error("a Schedule compiles to a freeze")
	}
}

func TestEditsThatWeakenAFreezeAreNamed(t *testing.T) {
	tests := []struct {
		reason, old, edited string
		want                []string
	}{
		{"nothing", yearEnd, yearEnd, nil},
		{"another message", yearEnd, edited(yearEnd, "year-end freeze", "holidays"), nil},
		{"another zone of a freeze", yearEnd, edited(yearEnd, "Europe/Berlin", "UTC"), nil},
		{"a later end and an earlier start", yearEnd, edited(yearEnd, "2027-01-03", "2027-01-09", "2026-12-20", "2026-12-01"), nil},
		{"an earlier end", yearEnd, edited(yearEnd, "2027-01-03", "2027-01-02"), []string{"spec.endTime"}},
		{"a later start", yearEnd, edited(yearEnd, "2026-12-20", "2026-12-21"), []string{"spec.startTime"}},
		{"another target", yearEnd, edited(yearEnd, "env: prod", "env: none"), []string{"spec.target"}},
		{"an action less", yearEnd, edited(yearEnd, "Delete, ", ""), []string{"spec.deny"}},
		{"an action more", edited(yearEnd, "Delete, ", ""), yearEnd, nil},
		{"milder", yearEnd, edited(yearEnd, "enforcement: Deny", "enforcement: Warn"), []string{"spec.enforcement"}},
		{"milder still", edited(yearEnd, "enforcement: Deny", "enforcement: Warn"), edited(yearEnd, "enforcement: Deny", "enforcement: Audit"),
			[]string{"spec.enforcement"}},
		{"stricter", edited(yearEnd, "enforcement: Deny", "enforcement: Warn"), yearEnd, nil},
		{"a shorter guard", yearEnd, edited(yearEnd, "enforcement: Deny", "guardAhead: 23h59m59s"), []string{"spec.guardAhead"}},
		{"the default guard in so many words", yearEnd, edited(yearEnd, "enforcement: Deny", "guardAhead: 24h"), nil},
		{"the same in days", yearEnd, edited(yearEnd, "enforcement: Deny", "guardAhead: 1d"), nil},
		{"a longer guard", yearEnd, edited(yearEnd, "enforcement: Deny", "guardAhead: 48h"), nil},
		{"a shorter guard of windows", weekly, edited(weekly, "deny:", "guardAhead: 0s\n  deny:"), []string{"spec.guardAhead"}},
		{"edits of labels that are refused no more", byLabel, edited(byLabel, "deny:", "labelChanges: Warn, deny:"),
			[]string{"spec.labelChanges"}},
		{"edits of labels that are refused now", edited(byLabel, "deny:", "labelChanges: Warn, deny:"), byLabel, nil},
		{"edits of labels that nothing depends on", named, edited(named, "deny:", "labelChanges: Warn, deny:"), nil},
		{"other windows in another zone", weekly, edited(weekly, "10:00", "09:00", "Europe/Berlin", "UTC"),
			[]string{"spec.windows", "spec.timeZone"}},
		{"a kind to suspend more", weekly, edited(weekly, "deny:", "suspend: [{kind: A}]\n  deny:"), nil},
		{"fewer objects to suspend", edited(weekly, "deny:", "suspend: [{kind: A}]\n  deny:"),
			edited(weekly, "deny:", "suspend: [{kind: A, excludeNames: [a]}]\n  deny:"), []string{"spec.suspend"}},
		{"the same objects to suspend in another order", edited(weekly, "deny:", "suspend: [{kind: A, names: [a]}, {kind: B}]\n  deny:"),
			edited(weekly, "deny:", "suspend: [{kind: B}, {kind: A, names: [a]}]\n  deny:"), nil},
		{"a kind to suspend less", edited(weekly, "deny:", "suspend: [{kind: A}]\n  deny:"), weekly, []string{"spec.suspend"}},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			got, err := freeze.Weakens(parse(t, test.old), parse(t, test.edited))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := freeze.Weakens(parse(t, fix), parse(t, fix)); err == nil {
		t.Error("an exception is taken for a rule")
	}
}

func names(rules []*freeze.Rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, r.ID().String())
	}
	return out
}

func TestFreezesGuardKindsAndNamespaces(t *testing.T) {
	wide := edited(weekly, "MaintenanceWindow", "ClusterMaintenanceWindow", ", namespace: shop", "",
		"target: {", "target: {namespaces: [bank], ")
	s := set(t, yearEnd, weekly, wide, selected, pools, edited(named, "deny: [Scale]", "deny: [Scale], enforcement: Warn"))
	during, before := at("2026-12-20T12:00:00Z"), at("2026-12-01T12:00:00Z")
	if diff := cmp.Diff([]string{"ClusterChangeFreeze/year-end", "ClusterMaintenanceWindow/weekly"},
		names(s.Guarding(deployments, false, during))); diff != "" {
		t.Errorf("guarding in the freeze:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ClusterMaintenanceWindow/weekly"}, names(s.Guarding(deployments, false, before))); diff != "" {
		t.Errorf("guarding before:\n%s", diff)
	}
	for _, test := range []struct {
		reason string
		req    freeze.UserChange
		want   []string
	}{
		{"the label that selects it goes", change(0, facts(labelled("tier", "front"), labelled())), []string{"ChangeFreeze/shop/a"}},
		{"it is excluded", change(0, facts(labelled("tier", "front"), labelled("tier", "front", "flyball.dev/exclude", "true"))),
			[]string{"ClusterChangeFreeze/year-end"}},
		{"it comes in", change(0, facts(labelled(), labelled("tier", "front"))), nil},
		{"other labels", change(0, facts(labelled("tier", "front"), labelled("tier", "front", "a", "b"))), nil},
		{"before the freeze", change(0, facts(labelled("tier", "front"), labelled()), now("2026-12-01T12:00:00Z")), nil},
		{"a deletion", change(0, facts(labelled("tier", "front"), nil)), nil},
	} {
		if diff := cmp.Diff(test.want, names(s.Escapes(test.req))); diff != "" {
			t.Errorf("%s:\n%s", test.reason, diff)
		}
	}
	if diff := cmp.Diff([]string{"ClusterChangeFreeze/year-end"},
		names(s.EscapesNamespace("shop", pairs("env", "prod"), pairs("env", "dev"), during))); diff != "" {
		t.Errorf("a namespace relabelled:\n%s", diff)
	}
	if got := s.EscapesNamespace("shop", pairs("env", "prod"), pairs("env", "prod", "a", "b"), during); len(got) > 0 {
		t.Errorf("a namespace with one label more: %v", names(got))
	}
}

// A freeze is guarded before it begins, and a maintenance window before it closes.
func TestGuardAhead(t *testing.T) {
	hour := edited(yearEnd, "enforcement: Deny", "guardAhead: 1h")
	never := edited(yearEnd, "enforcement: Deny", "guardAhead: 0s")
	start, closing := "2026-12-20T00:00:00Z", "2026-12-22T11:00:00Z"
	for _, test := range []struct {
		reason, policy, now string
		guarded             bool
		begins              string
	}{
		{"a day ahead by default", yearEnd, "2026-12-19T00:00:00Z", true, start},
		{"not earlier", yearEnd, "2026-12-18T23:59:59Z", false, ""},
		{"as long as asked", hour, "2026-12-19T23:00:00Z", true, start},
		{"not longer", hour, "2026-12-19T22:59:59Z", false, ""},
		{"not ahead at all", never, "2026-12-19T23:59:59Z", false, ""},
		{"while it is active", never, start, true, ""},
		{"until its end", yearEnd, "2027-01-02T23:59:59Z", true, ""},
		{"not once it is over", yearEnd, "2027-01-03T00:00:00Z", false, ""},
		{"a window that is open, and closes within a day", weekly, "2026-12-22T09:00:00Z", true, closing},
		{"a window that closes soon", edited(weekly, "deny:", "guardAhead: 1h\n  deny:"), "2026-12-22T10:00:00Z", true, closing},
		{"a window that does not close so soon", edited(weekly, "deny:", "guardAhead: 1h\n  deny:"), "2026-12-22T09:59:59Z", false, ""},
		{"a window that is guarded only while it is closed", edited(weekly, "deny:", "guardAhead: 0s\n  deny:"), "2026-12-22T10:59:59Z", false,
			""},
		{"a window that is closed", edited(weekly, "deny:", "guardAhead: 0s\n  deny:"), closing, true, ""},
	} {
		guarded, begins := set(t, test.policy).Rules()[0].Guarded(at(test.now))
		if guarded != test.guarded || (test.begins == "") != begins.IsZero() || test.begins != "" && !begins.Equal(at(test.begins)) {
			t.Errorf("%s: guarded %t, begins %s", test.reason, guarded, begins)
		}
	}
}

// The labels of namespaces are guarded exactly while a freeze that selects by them is guarded. Other labels are never
// guarded.
func TestGuardsNamespaces(t *testing.T) {
	byLabel := edited(yearEnd, "enforcement: Deny", "enforcement: Deny\n  guardAhead: 1h")
	named := edited(yearEnd, "year-end", "named", "namespaceSelector: {matchLabels: {env: prod}}", "namespaces: [shop]")
	days := edited(weekly, "MaintenanceWindow", "ClusterMaintenanceWindow", ", namespace: shop", "",
		"kinds: [{group: apps, kind: Deployment}]", "namespaceSelector: {matchLabels: {env: prod}}",
		"days: [Tue], from: \"10:00\", to: \"12:00\"", "days: [Tue], from: \"00:00\", to: \"24:00\"", "deny:", "guardAhead: 6h\n  deny:")
	for _, test := range []struct {
		reason   string
		policies []string
		now      string
		guarded  bool
		next     string
	}{
		{"long before", []string{byLabel, named}, "2026-12-01T00:00:00Z", false, "2026-12-19T23:00:00Z"},
		{"an hour before", []string{byLabel}, "2026-12-19T23:00:00Z", true, "2026-12-20T00:00:00Z"},
		{"its first second", []string{byLabel}, "2026-12-20T00:00:00Z", true, "2027-01-03T00:00:00Z"},
		{"its last second", []string{byLabel}, "2027-01-02T23:59:59Z", true, "2027-01-03T00:00:00Z"},
		{"once it is over", []string{byLabel}, "2027-01-03T00:00:00Z", false, ""},
		{"the earliest of two", []string{byLabel, edited(yearEnd, "year-end", "other")}, "2026-12-01T00:00:00Z", false, "2026-12-19T00:00:00Z"},
		{"a freeze of names", []string{named}, "2026-12-24T00:00:00Z", false, ""},
		{"one that only warns", []string{edited(byLabel, "enforcement: Deny", "enforcement: Warn")}, "2026-12-24T00:00:00Z", false, ""},
		{"a window that is open for long", []string{days}, "2026-12-22T16:59:59Z", false, "2026-12-22T17:00:00Z"},
		{"a window that closes soon", []string{days}, "2026-12-22T17:00:00Z", true, "2026-12-22T23:00:00Z"},
		{"a window that is closed", []string{days}, "2026-12-22T23:00:00Z", true, "2026-12-28T23:00:00Z"},
	} {
		guarded, next := set(t, test.policies...).GuardsNamespaces(at(test.now))
		if guarded != test.guarded || (test.next == "") != next.IsZero() || test.next != "" && !next.Equal(at(test.next)) {
			t.Errorf("%s: guarded %t, next %s", test.reason, guarded, next)
		}
	}
	s := set(t, byLabel)
	for now, want := range map[string]int{"2026-12-19T22:59:59Z": 0, "2026-12-19T23:00:00Z": 1, "2027-01-03T00:00:00Z": 0} {
		if got := s.EscapesNamespace("shop", pairs("env", "prod"), pairs("env", "dev"), at(now)); len(got) != want {
			t.Errorf("at %s a namespace escapes %v", now, names(got))
		}
	}
}

// An adapter is guarded by every guarded rule that needs it for its verdicts or that suspends its kind.
func TestAdaptersAreGuarded(t *testing.T) {
	scaling := edited(named, "deny: [Scale]", "deny: [Scale], suspend: [{group: batch, kind: CronJob}]")
	warning := edited(scaling, "deny: [Scale]", "deny: [Scale], enforcement: Warn")
	begin := at("2026-12-20T00:00:00Z")
	for _, test := range []struct {
		reason  string
		rule    string
		kind    schema.GroupKind
		governs bool
		now     time.Time
		want    bool
	}{
		{"active", scaling, deployments, false, begin, true},
		{"a day before", scaling, deployments, false, begin.Add(-24 * time.Hour), true},
		{"longer before", scaling, deployments, false, begin.Add(-24*time.Hour - time.Second), false},
		{"a warning judges nothing", warning, deployments, false, begin, false},
		{"a kind that is suspended", scaling, cronJobs, false, begin, true},
		{"and by a warning too", warning, cronJobs, false, begin, true},
		{"a kind that scales what must not be scaled", scaling, nodePools, true, begin, true},
		{"a kind that scales, where scaling is allowed", edited(scaling, "deny: [Scale]", "deny: [Delete]"), nodePools, true, begin, false},
		{"another kind", scaling, nodePools, false, begin, false},
		{"a freeze of one namespace", edited(scaling, "ClusterChangeFreeze", "ChangeFreeze", "{name: c}", "{name: c, namespace: shop}",
			"namespaces: [shop, bank], ", ""), deployments, false, begin, false},
	} {
		if got := len(set(t, test.rule).Guarding(test.kind, test.governs, test.now)) > 0; got != test.want {
			t.Errorf("%s: guarded %t", test.reason, got)
		}
	}
}

func TestInUse(t *testing.T) {
	s := set(t, yearEnd, weekly, pools)
	during, after := at("2026-12-20T12:00:00Z"), at("2027-06-01T00:00:00Z")
	for _, test := range []struct {
		reason string
		got    workload.Change
		want   workload.Change
	}{
		{"all of a namespaced kind", s.InUse(deployments, false, during).All(), create | remove | rollOut | scale},
		{"what is over counts no more", s.InUse(deployments, false, after).All(), rollOut},
		{"kinds that only a freeze without kinds reaches", s.InUse(cronJobs, false, after).All(), 0},
		{"a kind outside namespaces has to be listed", s.InUse(nodePools, true, during).All(), scale},
		{"not listed", set(t, yearEnd).InUse(nodePools, true, during).All(), 0},
		{"every update where objects may not leave by their labels",
			set(t, edited(byLabel, "[Scale]", "[Create]")).InUse(deployments, false, during).All(), create | rollOut},
		{"nothing more where they may", set(t, edited(byLabel, "deny: [Scale]", "labelChanges: Warn, deny: [Create]")).InUse(deployments, false,
			during).All(), create},
		{"nothing", (&freeze.Set{}).InUse(deployments, false, during).All(), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: want %v, got %v", test.reason, test.want.Names(), test.got.Names())
		}
	}
	if got := s.NextEnd(during); !got.Equal(at("2027-01-03T00:00:00Z")) {
		t.Errorf("the next end is %s", got)
	}
	if got := s.NextEnd(after); !got.IsZero() {
		t.Errorf("after all ends, the next is %s", got)
	}
}

func TestSetLookups(t *testing.T) {
	s := set(t, yearEnd, annotated, fix, edited(annotated, "name: b", "name: b2", "team: a", "owner: b, team: c"))
	if rules, exceptions := s.Len(); rules != 3 || exceptions != 1 {
		t.Errorf("%d rules, %d exceptions", rules, exceptions)
	}
	if diff := cmp.Diff([]string{"owner", "team"}, s.AnnotationKeys()); diff != "" {
		t.Error(diff)
	}
	year := workload.Policy{Kind: freeze.ClusterKind, Name: "year-end"}
	rule := s.Rule(year)
	if rule == nil || rule.Denies() != create|remove|rollOut|scale || rule.Enforcement() != v1alpha1.EnforcementDeny {
		t.Fatalf("got %+v", rule)
	}
	if active, since, until := rule.Active(at("2026-12-25T00:00:00Z")); !active || !since.Equal(at("2026-12-20T00:00:00Z")) ||
		!until.Equal(at("2027-01-03T00:00:00Z")) {
		t.Errorf("active %t from %s until %s", active, since, until)
	}
	exception := s.Exception(workload.Policy{Kind: freeze.ClusterExceptionKind, Name: "fix"})
	for _, test := range []struct{ now, state, next string }{
		{"2026-12-20T09:59:59Z", "Scheduled", "2026-12-20T10:00:00Z"},
		{"2026-12-20T10:00:00Z", "Active", "2026-12-20T14:00:00Z"},
		{"2026-12-20T14:00:00Z", "Expired", ""},
	} {
		name, next := exception.State(at(test.now))
		if name != test.state || (test.next == "") != next.IsZero() || test.next != "" && !next.Equal(at(test.next)) {
			t.Errorf("%s: %s until %s", test.now, name, next)
		}
	}
	gone := s.Without(year, exception.ID(), workload.Policy{Kind: freeze.Kind, Namespace: "shop", Name: "b2"})
	if diff := cmp.Diff([]string{"team"}, gone.AnnotationKeys()); diff != "" || gone.Rule(year) != nil ||
		gone.Exception(exception.ID()) != nil {
		t.Error("something is left of what was removed", diff)
	}
	if s.Rule(year) == nil {
		t.Error("the set before has lost it too")
	}
}

// The stored window continues to deny, because a rule for new objects does not apply to stored objects.
func TestAStoredWindowWithRepeatedNamesStaysInForce(t *testing.T) {
	const text = `
kind: MaintenanceWindow
metadata: {name: nights, namespace: shop}
spec:
  deny: [Scale]
  windows: [{name: night, from: "01:00", to: "02:00"}, {name: night, from: "03:00", to: "04:00"}]
`
	obj := parse(t, text).(*v1alpha1.MaintenanceWindow)
	if _, _, errs := freeze.CompileObject(obj, testContext); len(errs) != 1 || errs[0].Field != "spec.windows[1].name" {
		t.Errorf("at apply: %v", errs)
	}
	stored := testContext
	stored.Stored = true
	rule, _, errs := freeze.CompileObject(obj, stored)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for hour, denies := range map[int]bool{0: true, 1: false, 2: true, 3: false, 4: true} {
		at := time.Date(2026, 3, 2, hour, 30, 0, 0, time.UTC)
		if active, _, _ := rule.Active(at); active != denies {
			t.Errorf("at %s: denies %t", at, active)
		}
		if message := rule.Policy().State(at).Message; !strings.Contains(message, `spec.windows[1].name: Duplicate value: "night"`) {
			t.Errorf("at %s the status says %q", at, message)
		}
	}
	obj.Spec.Windows[1].Name = "morning"
	if rule, _, errs := freeze.CompileObject(obj, stored); len(errs) > 0 ||
		strings.Contains(rule.Policy().State(time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC)).Message, "spec.windows") {
		t.Errorf("with names of their own something is wrong with the windows: %v", errs)
	}
	obj.Spec.Windows[1].From = "25:00"
	if rule, _, errs := freeze.CompileObject(obj, stored); rule != nil || len(errs) != 1 {
		t.Errorf("what cannot be read is not excused: %v", errs)
	}
}
