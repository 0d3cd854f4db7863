package freeze_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

var cronJobs = schema.GroupKind{Group: "batch", Kind: "CronJob"}

// suspending returns a freeze of a week that puts CronJobs to sleep.
func suspending(t testing.TB, name, start, end string) *policy.Policy {
	t.Helper()
	obj := parse(t, `
kind: ClusterChangeFreeze
metadata: {name: `+name+`}
spec:
  target: {kinds: [{group: apps, kind: Deployment}], namespaces: [shop]}
  startTime: `+start+`
  endTime: `+end+`
  deny: [RollOut]
  suspend: [{group: batch, kind: CronJob}]
`)
	rule, _, errs := freeze.CompileObject(obj, testContext)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return rule.Policy()
}

func decide(t testing.TB, p *policy.Policy, now time.Time) pipeline.Decision {
	t.Helper()
	var trace pipeline.Trace
	d, err := p.Pipeline.Run(&pipeline.Input{Now: now, Target: workload.Observed{CanSuspend: true}}, &trace)
	if err != nil || len(trace.Lines) == 0 {
		t.Fatalf("%v, trace %q", err, trace.String())
	}
	return d
}

func TestSuspendSelectsItsKinds(t *testing.T) {
	p := suspending(t, "a", "2026-12-20T00:00:00Z", "2026-12-27T00:00:00Z")
	obj := &workload.Object{Namespace: "shop", Name: "mail"}
	if !p.Target.Matches(cronJobs, obj, nil) || p.Target.Matches(deployments, obj, nil) {
		t.Errorf("selects CronJobs %t, Deployments %t", p.Target.Matches(cronJobs, obj, nil), p.Target.Matches(deployments, obj, nil))
	}
	if diff := cmp.Diff([]v1alpha1.Capability{v1alpha1.CapabilitySuspend}, p.Needs); diff != "" {
		t.Error(diff)
	}
	rule, _, errs := freeze.CompileObject(parse(t, yearEnd), testContext)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if rule.Policy().Target.MatchesKind(cronJobs) || rule.Policy().Target.MatchesKind(deployments) {
		t.Error("a freeze that suspends nothing selects something")
	}
}

// An entry of suspend selects the objects of the target that also match the names, labels and namespaces of the entry.
// Each entry is independent of the others.
func TestSuspendEntriesNarrowTheTarget(t *testing.T) {
	applications := schema.GroupKind{Group: "argoproj.io", Kind: "Application"}
	const freezes = `
kind: ClusterChangeFreeze
metadata: {name: narrow}
spec:
  target: {namespaces: [shop, bank, kube-system], excludeNames: [vital]}
  startTime: 2026-12-20T00:00:00Z
  endTime: 2026-12-27T00:00:00Z
  deny: [RollOut]
  suspend:
  - {group: batch, kind: CronJob, names: ["mail-*", vital], excludeNames: [mail-night]}
  - {group: batch, kind: CronJob, selector: {matchLabels: {tier: report}}, excludeNamespaces: [bank]}
  - {group: apps, kind: Deployment, namespaces: [bank, park], namespaceSelector: {matchLabels: {env: test}}}
  - {group: argoproj.io, kind: Application}
`
	p := set(t, freezes).Rules()[0].Policy()
	own := set(t, edited(weekly, "deny:", "suspend: [{group: apps, kind: Deployment, names: [web]}]\n  deny:")).Rules()[0].Policy()
	for _, test := range []struct {
		policy          *policy.Policy
		gk              schema.GroupKind
		namespace, name string
		labels          workload.Pairs
		space           workload.Pairs
		fails           string
	}{
		{p, cronJobs, "shop", "mail-day", nil, nil, ""},
		{p, cronJobs, "shop", "mail-night", nil, nil, "suspend: excludeNames: mail-night is among mail-night; " +
			`selector: tier=report does not hold (there is no label tier)`},
		{p, cronJobs, "shop", "mail-night", pairs("tier", "report"), nil, ""},
		{p, cronJobs, "bank", "sum", pairs("tier", "report"), nil,
			"suspend: names: sum is not among vital, mail-*; excludeNamespaces: bank is listed"},
		{p, cronJobs, "shop", "vital", nil, nil, "excludeNames: vital is among vital"},
		{p, cronJobs, "park", "mail-day", nil, nil, "namespaces: park is not among bank, kube-system, shop"},
		{p, cronJobs, "kube-system", "mail-day", nil, nil, ""},
		{p, deployments, "bank", "web", nil, nil, ""},
		{p, deployments, "shop", "web", nil, pairs("env", "test"), ""},
		{p, deployments, "shop", "web", nil, pairs("env", "prod"),
			`suspend: namespaceSelector: namespace shop: env=test does not hold (env is "prod")`},
		{p, deployments, "park", "web", nil, nil, "namespaces: park is not among bank, kube-system, shop"},
		{p, applications, "bank", "web", nil, nil, ""},
		{own, deployments, "shop", "web", nil, nil, ""},
		{own, deployments, "shop", "api", nil, nil, "suspend: names: api is not among web"},
		{own, deployments, "bank", "web", nil, nil, "namespace: the policy acts in shop, the object is in bank"},
	} {
		obj := &workload.Object{Namespace: test.namespace, Name: test.name, Labels: test.labels}
		var fails []string
		for _, fail := range test.policy.Target.Mismatches(test.gk, obj, test.space) {
			fails = append(fails, fail.Term+": "+fail.Why)
		}
		if got := strings.Join(fails, " | "); got != test.fails {
			t.Errorf("%s %s/%s: %q, want %q", test.gk.Kind, test.namespace, test.name, got, test.fails)
		}
		if got := test.policy.Target.Matches(test.gk, obj, test.space); got != (test.fails == "") {
			t.Errorf("%s %s/%s: selected %t, but %q", test.gk.Kind, test.namespace, test.name, got, test.fails)
		}
	}
	one, vital := &workload.Object{Namespace: "shop", Name: "x"}, &workload.Object{Namespace: "shop", Name: "vital"}
	if !p.Selection().Matches(deployments, one, nil) || p.Selection().Matches(deployments, vital, nil) {
		t.Error("the entries of suspend change the objects whose changes are judged")
	}
}

func TestSuspendClaimsOnlyWhileActive(t *testing.T) {
	p := suspending(t, "a", "2026-12-20T00:00:00Z", "2026-12-27T00:00:00Z")
	start, end := at("2026-12-20T00:00:00Z"), at("2026-12-27T00:00:00Z")
	asleep := []workload.Intent{{
		By: workload.Policy{Kind: freeze.ClusterKind, Name: "a"}, Class: workload.ClassSleep, Mandatory: true, Since: start,
		Size: &workload.Size{Mode: workload.SizeSleep},
	}}
	for _, test := range []struct {
		reason string
		now    time.Time
		want   pipeline.Decision
		state  policy.Summary
	}{
		{"to come", start.Add(-time.Second), pipeline.Decision{Wake: start},
			policy.Summary{Name: "Scheduled", Next: start, Message: "changes are allowed until 2026-12-20T00:00:00Z (UTC)"}},
		{"its first second", start, pipeline.Decision{Intents: asleep, Wake: end},
			policy.Summary{Name: "Frozen", Asleep: true, Active: "a", Since: start, Next: end,
				Message: "changes are denied until 2026-12-27T00:00:00Z (UTC)"}},
		{"its last second", end.Add(-time.Second), pipeline.Decision{Intents: asleep, Wake: end},
			policy.Summary{Name: "Frozen", Asleep: true, Active: "a", Since: start, Next: end,
				Message: "changes are denied until 2026-12-27T00:00:00Z (UTC)"}},
		{"over", end, pipeline.Decision{}, policy.Summary{Name: "Ended", Since: end, Message: "the freeze is over"}},
	} {
		if diff := cmp.Diff(test.want, decide(t, p, test.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(test.state, p.State(test.now)); diff != "" {
			t.Errorf("%s: state (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestWindowState(t *testing.T) {
	rule, _, errs := freeze.CompileObject(parse(t, weekly), testContext)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	p := rule.Policy()
	open, closes := at("2026-12-22T09:00:00Z"), at("2026-12-22T11:00:00Z")
	if diff := cmp.Diff(policy.Summary{Name: "Open", Since: open, Next: closes,
		Message: "changes are allowed in window tuesday until 2026-12-22T12:00:00+01:00 (Europe/Berlin)"}, p.State(open)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(policy.Summary{Name: "Frozen", Active: "weekly", Since: closes, Next: open.AddDate(0, 0, 7),
		Message: "changes are denied until 2026-12-29T10:00:00+01:00 (Europe/Berlin)"}, p.State(closes)); diff != "" {
		t.Error(diff)
	}
}

// The state of a freeze that lets changes through does not call them denied.
func TestStateDescribesTheEnforcement(t *testing.T) {
	for enforcement, want := range map[string]string{"Deny": "changes are denied", "Warn": "changes pass with a warning",
		"Audit": "changes pass and are counted"} {
		rule, _, errs := freeze.CompileObject(parse(t, weekly+"  enforcement: "+enforcement+"\n"), testContext)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := rule.Policy().State(at("2026-12-22T11:00:00Z")).Message; got != want+" until 2026-12-29T10:00:00+01:00 (Europe/Berlin)" {
			t.Errorf("%s: %s", enforcement, got)
		}
	}
}

// A window without a name is described by its times, and a window that never closes has no end.
func TestStateOfOddWindows(t *testing.T) {
	open := at("2026-12-22T09:00:00Z")
	for _, test := range []struct{ reason, window, want string }{
		{"without a name", `{days: [Tue], from: "10:00", to: "12:00"}`,
			"changes are allowed in window Tue 10:00-12:00 Europe/Berlin until 2026-12-22T12:00:00+01:00 (Europe/Berlin)"},
		{"always open", `{name: always, from: "00:00", to: "24:00"}`, "changes are allowed in window always, with no end"},
	} {
		rule := set(t, edited(weekly, `{name: tuesday, days: [Tue], from: "10:00", to: "12:00"}`, test.window)).Rules()[0]
		if got := rule.Policy().State(open); got.Name != "Open" || got.Active != "" || got.Message != test.want {
			t.Errorf("%s: %+v", test.reason, got)
		}
	}
}

// The target sleeps, whatever other policies claim and whatever their priority is.
func TestNoPolicyWakesASuspendedTarget(t *testing.T) {
	p := suspending(t, "a", "2026-12-20T00:00:00Z", "2026-12-27T00:00:00Z")
	frozen := decide(t, p, at("2026-12-20T12:00:00Z")).Intents
	never, errs := schedule.Compile(&v1alpha1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "never"},
		Spec: v1alpha1.ScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Awake: []v1alpha1.Window{{From: "00:00", To: "24:00"}},
			Priority: math.MaxInt32}},
	}, schedule.Context{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rapid.Check(t, func(rt *rapid.T) {
		now := at("2026-12-20T12:00:00Z").Add(time.Duration(rapid.IntRange(0, 13*24).Draw(rt, "hours")) * time.Hour)
		intents := slices.Concat(decide(t, never, now).Intents, frozen)
		for range rapid.IntRange(0, 4).Draw(rt, "more") {
			one := int64(rapid.IntRange(0, 5).Draw(rt, "count"))
			intents = append(intents, workload.Intent{
				By:       workload.Policy{Kind: "Trigger", Name: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "by")},
				Priority: rapid.Int32().Draw(rt, "priority"),
				Class:    rapid.SampledFrom([]workload.Class{workload.ClassSet, workload.ClassSleep, workload.ClassAwake}).Draw(rt, "class"),
				Override: rapid.Bool().Draw(rt, "override"), Size: &workload.Size{Mode: workload.SizeExactly, Replicas: one, Capacity: one},
			})
		}
		plan, _ := pipeline.Merge(rapid.Permutation(intents).Draw(rt, "order")...)
		if plan.Size == nil || plan.Size.By != p.ID || plan.Size.Value.Mode != workload.SizeSleep {
			rt.Fatalf("the freeze does not have its way: %+v", plan.Size)
		}
	})
}

// Two freezes of one CronJob overlap. It sleeps from the start of the first freeze to the end of the last one, and then
// has exactly its owner's values.
func TestOverlappingFreezesSuspendUntilTheLastEnds(t *testing.T) {
	for _, test := range []struct{ reason, owner string }{
		{"suspend was absent", edited(mailing, "suspend: false, ", "")},
		{"suspend was false", mailing},
		{"the owner had suspended it", edited(mailing, "suspend: false", "suspend: true")},
	} {
		t.Run(test.reason, func(t *testing.T) {
			freezes := []*policy.Policy{
				suspending(t, "a", "2026-12-20T00:00:00Z", "2026-12-27T00:00:00Z"),
				suspending(t, "b", "2026-12-24T00:00:00Z", "2027-01-03T00:00:00Z"),
				suspending(t, "future", "2027-06-01T00:00:00Z", "2027-06-02T00:00:00Z"),
				suspending(t, "past", "2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z"),
			}
			a := shipped(t, "cronjobs.batch")
			owned := toJSON(t, test.owner)
			doc := owned
			for _, step := range []struct {
				now    string
				asleep bool
			}{
				{"2026-12-19T23:59:59Z", false}, {"2026-12-20T00:00:00Z", true}, {"2026-12-24T00:00:00Z", true},
				{"2026-12-27T00:00:00Z", true}, {"2027-01-02T23:59:59Z", true}, {"2027-01-03T00:00:00Z", false},
			} {
				doc = settle(t, a, doc, freezes, at(step.now))
				if suspended := contains(t, doc, `{spec: {suspend: true}}`); suspended != (step.asleep ||
					contains(t, owned, `{spec: {suspend: true}}`)) {
					t.Fatalf("%s: suspended %t: %s", step.now, suspended, doc)
				}
			}
			if !jsonpatch.Equal(owned, doc) { // the patch's precondition, resourceVersion, does not change here
				t.Errorf("not as it was:\n%s\n%s", owned, doc)
			}
		})
	}
}

func contains(t testing.TB, doc []byte, part string) bool {
	t.Helper()
	merged, err := jsonpatch.MergePatch(doc, toJSON(t, part))
	if err != nil {
		t.Fatal(err)
	}
	return jsonpatch.Equal(doc, merged)
}

// settle applies the claims of the policies until no write is needed.
func settle(t testing.TB, a *adapter.Adapter, doc []byte, policies []*policy.Policy, now time.Time) []byte {
	t.Helper()
	for range 4 {
		obj, err := a.Project(doc)
		if err != nil {
			t.Fatal(err)
		}
		var intents []workload.Intent
		for _, p := range policies {
			intents = append(intents, decide(t, p, now).Intents...)
		}
		plan, _ := pipeline.Merge(intents...)
		result, err := a.Render(obj, plan)
		if err != nil {
			t.Fatal(err)
		}
		if result.Patch == nil {
			return doc
		}
		if doc, err = jsonpatch.MergePatch(doc, result.Patch.Body); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it never settles")
	return nil
}
