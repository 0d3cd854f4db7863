package freeze_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Actions are judged in the namespaces named by a rule, or everywhere if it names none or selects them by labels.
func TestInUseHasTheNamespacesOfTheRules(t *testing.T) {
	during := at("2026-12-21T00:00:00Z")
	everywhere := freeze.Use{Everywhere: create | remove | rollOut | scale}
	named := edited(yearEnd, `{namespaceSelector: {matchLabels: {env: prod}}, exclude: {matchLabels: {flyball.dev/exclude: "true"}}}`,
		`{namespaces: [shop, bank], kinds: [{group: apps, kind: Deployment}]}`)
	for _, tc := range []struct {
		reason string
		set    *freeze.Set
		want   freeze.Use
	}{
		{"by labels", set(t, yearEnd), everywhere},
		{"by names", set(t, named), freeze.Use{In: map[string]workload.Change{"shop": create | remove | rollOut | scale,
			"bank": create | remove | rollOut | scale}}},
		{"one of a namespace", set(t, weekly), freeze.Use{In: map[string]workload.Change{"shop": rollOut}}},
		{"both", set(t, named, weekly), freeze.Use{In: map[string]workload.Change{"shop": create | remove | rollOut | scale,
			"bank": create | remove | rollOut | scale}}},
	} {
		if got := tc.set.InUse(deployments, false, during); got.Everywhere != tc.want.Everywhere || !maps.Equal(got.In, tc.want.In) {
			t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
		}
		scaling := tc.set.ScaleInUse(during)
		if got, want := scaling.All(), tc.want.All()&scale; got != want {
			t.Errorf("%s: scaling is judged: %v, want %v", tc.reason, got, want)
		}
		for ns, actions := range scaling.In {
			if actions != tc.want.In[ns]&scale {
				t.Errorf("%s: scaling is judged in %s: %v", tc.reason, ns, actions)
			}
		}
	}
	outside := set(t, edited(named, "{namespaces: [shop, bank], kinds: [{group: apps, kind: Deployment}]}",
		"{kinds: [{group: karpenter.sh, kind: NodePool}]}"))
	if got := outside.ScaleInUse(during); got.Everywhere != scale || len(got.In) > 0 {
		t.Errorf("outside namespaces scaling is judged: %v", got)
	}
	if got := set(t, yearEnd).ScaleInUse(at("2027-01-03T00:00:00Z")).All(); got != 0 {
		t.Errorf("a freeze that is over still judges %v", got)
	}
}

func compiled(t *testing.T, kind, text string) (policy.Object, *policy.Policy) {
	t.Helper()
	obj := parse(t, text).(policy.Object)
	p, _ := row(t, kind).Compile(obj, testContext)
	if p.Judge == nil {
		t.Fatalf("%s judges nothing", kind)
	}
	return obj, p
}

// A freeze judges the selected objects; an unreadable freeze judges nothing.
func TestAFreezeJudgesItsSelection(t *testing.T) {
	web := &workload.Object{Namespace: "shop", Name: "web"}
	_, window := compiled(t, freeze.WindowKind, weekly)
	if kinds := window.Judge.JudgedBy().Kinds(); !slices.Equal(kinds, []schema.GroupKind{deployments}) ||
		!window.Judge.JudgedBy().Matches(deployments, web, nil) || window.Judge.JudgedBy().Matches(cronJobs, web, nil) {
		t.Errorf("the window judges %v", kinds)
	}
	_, broken := compiled(t, freeze.WindowKind, edited(weekly, "Europe/Berlin", "Nowhere"))
	if kinds := broken.Judge.JudgedBy().Kinds(); len(kinds) > 0 || broken.Judge.JudgedBy().Matches(deployments, web, nil) {
		t.Errorf("a window that cannot be read judges %v", kinds)
	}
	if window.Reporter.Condition() != v1alpha1.ConditionActive || window.Reporter.AppliedLimit() != 0 {
		t.Errorf("the condition is %s, and %d targets are listed", window.Reporter.Condition(), window.Reporter.AppliedLimit())
	}
}

// While a freeze denies, its status has the end. Otherwise the status has the next start. If no change follows, it has
// neither.
func TestStatusHasTheNextStartOrEnd(t *testing.T) {
	obj, p := compiled(t, freeze.ClusterKind, yearEnd)
	state := func(now time.Time) policy.Summary { return p.State(now) }
	tests := []struct {
		now          string
		active       bool
		freezes, end string
	}{
		{"2026-12-19T00:00:00Z", false, "2026-12-20T00:00:00Z", ""},
		{"2026-12-20T00:00:00Z", true, "", "2027-01-03T00:00:00Z"},
		{"2027-01-03T00:00:00Z", false, "", ""},
	}
	for _, tc := range tests {
		if before := p.Reporter.FillStatus(obj, at(tc.now), state(at(tc.now)), nil); before != "" {
			t.Errorf("%s: it says that %q was active before", tc.now, before)
		}
		st := freeze.StatusOf(obj)
		if st.Active != tc.active || (tc.freezes == "") != (st.NextFreezeTime == nil) || (tc.end == "") != (st.NextOpenTime == nil) {
			t.Fatalf("%s: active %t, next freeze %v, next open %v", tc.now, st.Active, st.NextFreezeTime, st.NextOpenTime)
		}
		if tc.freezes != "" && !st.NextFreezeTime.Time.Equal(at(tc.freezes)) || tc.end != "" && !st.NextOpenTime.Time.Equal(at(tc.end)) {
			t.Errorf("%s: next freeze %v, next open %v", tc.now, st.NextFreezeTime, st.NextOpenTime)
		}
	}
	later := at("2026-12-21T00:00:00Z")
	p.Reporter.FillStatus(parse(t, fix).(policy.Object), later, state(later), nil) // an exception has no such status
}

// The accounts of the control plane are listed one by one. An account with a similar name is not one of them.
func TestControlPlaneAccounts(t *testing.T) {
	users := freeze.ControlPlaneUsers()
	if len(users) < 15 || !slices.IsSorted(users) {
		t.Errorf("the accounts are %v", users)
	}
	for _, user := range users {
		if !freeze.ControlPlane(user) {
			t.Errorf("%s is listed and does not pass", user)
		}
	}
	for _, user := range []string{"", "alice", "system:serviceaccount:kube-system:default", "system:serviceaccount:shop:deployment-controller",
		"deployment-controller", "system:masters"} {
		if freeze.ControlPlane(user) {
			t.Errorf("%q passes for the control plane", user)
		}
	}
}

// A refusal without room for its reasons has the maximum size and still ends with the next allowed instant.
func TestALongRefusalKeepsTheNextAllowedInstant(t *testing.T) {
	var policies []string
	for i := range 10 {
		policies = append(policies, edited(yearEnd, "name: year-end", "name: "+strings.Repeat("n", 200)+string(rune('a'+i)),
			"reason: year-end freeze", "reason: "+strings.Repeat("x", 5000)))
	}
	v := set(t, policies...).Decide(change(rollOut))
	if n := len(v.Message); n > 4<<10 || n < 4<<10-20 || !strings.HasSuffix(v.Message, "(Europe/Berlin)") {
		t.Errorf("%d bytes: %s", n, v.Message)
	}
}

// The getters return the values of the spec.
func TestExceptionReturnsItsSpec(t *testing.T) {
	e := set(t, fix).Exceptions()[0]
	from, to := e.Period()
	if !from.Equal(at("2026-12-20T10:00:00Z")) || !to.Equal(at("2026-12-20T14:00:00Z")) || e.Allows() != rollOut || e.Reason() != "CVE fix" {
		t.Errorf("from %v to %v it allows %v: %s", from, to, e.Allows(), e.Reason())
	}
	web := &workload.Object{Namespace: "shop", Name: "web"}
	if !e.Selects(deployments, web, nil) || e.Selects(deployments, &workload.Object{Namespace: "bank", Name: "web"}, nil) ||
		!e.SelectsIn("shop", nil) || e.SelectsIn("bank", nil) {
		t.Error("it does not select what is in shop, and nothing else")
	}
	r := set(t, yearEnd).Rules()[0]
	if !r.Selects(deployments, web, pairs("env", "prod")) || r.Selects(deployments, web, pairs("env", "dev")) ||
		!r.SelectsIn("shop", pairs("env", "prod")) || r.SelectsIn("shop", nil) {
		t.Error("the freeze does not select by the labels of the namespace")
	}
	if m := r.Message(); m.Reason != "year-end freeze" || m.Contact != "#release" || m.DocsURL != "https://wiki/freeze" {
		t.Errorf("the freeze says %+v", m)
	}
}
