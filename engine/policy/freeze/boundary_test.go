package freeze_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// An exception that begins exactly at the instant of the request and lifts only a part of the denial does not change the
// next allowed instant.
func TestNextAllowedAsAnExceptionBegins(t *testing.T) {
	v := set(t, yearEnd, fix).Decide(change(rollOut|scale, now("2026-12-20T10:00:00Z")))
	if v.Allowed || !v.NextAllowed.Equal(at("2027-01-03T00:00:00Z")) {
		t.Errorf("allowed %t, next %s", v.Allowed, v.NextAllowed)
	}
}

func TestActionsInWords(t *testing.T) {
	for actions, want := range map[workload.Change]string{
		scale: "denies Scale:", rollOut | scale: "denies RollOut and Scale:", create | rollOut | scale: "denies Create, RollOut and Scale:",
	} {
		if v := set(t, yearEnd).Decide(change(actions)); !strings.Contains(v.Message, want) {
			t.Errorf("want %q in %q", want, v.Message)
		}
	}
}

// An exception that a namespace enters by new labels is returned as long as the exception is not over.
func TestEntersNamespace(t *testing.T) {
	byLabels := edited(fix, "namespaces: [shop]", "namespaceSelector: {matchLabels: {fast: lane}}")
	s := set(t, byLabels, local)
	fast, slow := pairs("fast", "lane"), pairs("fast", "no")
	for _, test := range []struct {
		reason   string
		old, cur workload.Pairs
		now      string
		want     int
	}{
		{"the way in", slow, fast, "2026-12-20T12:00:00Z", 1},
		{"before it begins", slow, fast, "2026-12-01T12:00:00Z", 1},
		{"its last second", slow, fast, "2026-12-20T13:59:59Z", 1},
		{"once it is over", slow, fast, "2026-12-20T14:00:00Z", 0},
		{"the way out", fast, slow, "2026-12-20T12:00:00Z", 0},
		{"inside before and after", fast, pairs("fast", "lane", "a", "b"), "2026-12-20T12:00:00Z", 0},
		{"outside before and after", slow, pairs("a", "b"), "2026-12-20T12:00:00Z", 0},
	} {
		if got := s.EntersNamespace("shop", test.old, test.cur, at(test.now)); len(got) != test.want {
			t.Errorf("%s: %d exceptions", test.reason, len(got))
		}
	}
}

// A rule is only in the given namespaces if they include all namespaces that it names, and no label can add others.
func TestOnlyInComparesTheNamedNamespaces(t *testing.T) {
	for _, test := range []struct {
		reason, policy string
		namespaces     []string
		want           bool
	}{
		{"both that it names", named, []string{"shop", "bank"}, true},
		{"more than it names", named, []string{"kube-system", "bank", "shop"}, true},
		{"one of two that it names", named, []string{"shop"}, false},
		{"none that it names", named, []string{"kube-system"}, false},
		{"no namespaces", named, nil, false},
		{"that in which it lives", weekly, []string{"shop"}, true},
		{"another one than that in which it lives", weekly, []string{"bank"}, false},
		{"it names none, and selects by labels", yearEnd, []string{"shop"}, false},
		{"it names them, and selects by labels as well", edited(yearEnd, "namespaceSelector:", "namespaces: [shop], namespaceSelector:"),
			[]string{"shop"}, false},
		{"what it selects is in no namespace", pools, []string{"shop"}, false},
	} {
		if got := set(t, test.policy).Rules()[0].OnlyIn(test.namespaces); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}

// The other freeze continues to deny.
func TestRemovingOneOfTwoFreezesKeepsTheDenial(t *testing.T) {
	first, second := edited(weekly, "name: weekly", "name: first"), edited(weekly, "name: weekly", "name: second")
	s := set(t, first, second)
	for i, rule := range s.Rules() {
		left := s.Rules()[1-i].ID()
		v := s.Without(rule.ID()).Decide(change(rollOut))
		if len(v.Denials) != 1 || v.Denials[0].Policy != left {
			t.Errorf("without %s it is denied by %v, want %s", rule.ID(), v.Denials, left)
		}
	}
}

func TestByNamespaceLabels(t *testing.T) {
	for _, test := range []struct {
		reason, policy string
		want           bool
	}{
		{"by labels", yearEnd, true},
		{"by labels, and it only warns", edited(yearEnd, "enforcement: Deny", "enforcement: Warn"), false},
		{"by name", named, false},
		{"in a namespace", weekly, false},
	} {
		if got := set(t, test.policy).Rules()[0].ByNamespaceLabels(); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
	byLabels := set(t, edited(fix, "namespaces: [shop]", "namespaceSelector: {matchLabels: {fast: lane}}")).Exceptions()[0]
	for now, want := range map[string]bool{"2026-12-01T00:00:00Z": true, "2026-12-20T13:59:59Z": true, "2026-12-20T14:00:00Z": false} {
		if got := byLabels.ByNamespaceLabels(at(now)); got != want {
			t.Errorf("an exception at %s: %t", now, got)
		}
	}
	if set(t, fix).Exceptions()[0].ByNamespaceLabels(at("2026-12-20T12:00:00Z")) {
		t.Error("an exception by name selects by labels")
	}
}

func TestExceptionIsActive(t *testing.T) {
	e := set(t, fix).Exceptions()[0]
	for now, want := range map[string]bool{
		"2026-12-20T09:59:59Z": false, "2026-12-20T10:00:00Z": true, "2026-12-20T13:59:59Z": true, "2026-12-20T14:00:00Z": false,
	} {
		if got := e.Active(at(now)); got != want {
			t.Errorf("%s: %t", now, got)
		}
	}
}

func TestNamesOfNamespaces(t *testing.T) {
	for _, test := range []struct {
		policy, namespace string
		want              bool
	}{{weekly, "shop", true}, {weekly, "bank", false}, {named, "bank", true}, {yearEnd, "shop", false}} {
		if got := set(t, test.policy).Rules()[0].Names(test.namespace); got != test.want {
			t.Errorf("%s: %t", test.namespace, got)
		}
	}
}

// The annotation keys of a set disappear with the last policy that reads them, by removal or replacement.
func TestAnnotationKeysGoWithTheirPolicies(t *testing.T) {
	exception := edited(fix, "target: {", "target: {annotations: {ticket: x}, ")
	s := set(t, annotated, exception)
	if diff := cmp.Diff([]string{"team", "ticket"}, s.AnnotationKeys()); diff != "" {
		t.Error(diff)
	}
	if got := set(t, annotated, exception, edited(annotated, "team: a", "owner: a"),
		edited(exception, "ticket: x", "number: x")).AnnotationKeys(); !cmp.Equal(got, []string{"number", "owner"}) {
		t.Errorf("once replaced: %v", got)
	}
	if got := s.Without(s.Rules()[0].ID(), s.Exceptions()[0].ID()).AnnotationKeys(); len(got) > 0 {
		t.Errorf("once removed: %v", got)
	}
}

func list(prefix string, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// A policy has at most 4096 index keys. A policy with more is examined for more objects, but selects the same objects.
func TestIndexKeysAreBounded(t *testing.T) {
	const two = "kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}]"
	for _, test := range []struct {
		reason     string
		target     string
		namespace  string
		candidates int
	}{
		{"as many names", "namespaces: [shop], names: " + list("n", 4096), "shop", 0},
		{"one name too many", "namespaces: [shop], names: " + list("n", 4097), "shop", 1},
		{"names for two kinds in two namespaces and outside", two + ", namespaces: [shop, bank], names: " + list("n", 683), "shop", 1},
		{"just not too many of them", two + ", namespaces: [shop, bank], names: " + list("n", 682), "shop", 0},
		{"as many namespaces", "namespaces: " + list("n", 4096), "shop", 0},
		{"one namespace too many", "namespaces: " + list("n", 4097), "shop", 1},
		{"namespaces for two kinds", two + ", namespaces: " + list("n", 2048), "shop", 1},
		{"just not too many", two + ", namespaces: " + list("n", 2047), "shop", 0},
	} {
		s := set(t, edited(named, "kinds: [{group: apps, kind: Deployment}], namespaces: [shop, bank], names: [web, api]", test.target))
		req := change(scale, func(r *freeze.UserChange) { r.Namespace = test.namespace })
		if got := s.Candidates(req); got != test.candidates || !s.Decide(req).Allowed {
			t.Errorf("%s: %d policies are looked at, allowed %t", test.reason, got, s.Decide(req).Allowed)
		}
	}
}

// From the first second after its end, a policy is no longer examined.
func TestEndedPoliciesAreNotExamined(t *testing.T) {
	s := set(t, yearEnd)
	for text, want := range map[string]int{"2026-12-01T00:00:00Z": 1, "2027-01-02T23:59:59Z": 1, "2027-01-03T00:00:00Z": 0} {
		if got := s.Candidates(change(scale, now(text))); got != want {
			t.Errorf("%s: %d policies are looked at", text, got)
		}
	}
}

func TestStrictestEnforcement(t *testing.T) {
	warn, audit := edited(yearEnd, "name: year-end", "name: w", "enforcement: Deny", "enforcement: Warn"),
		edited(yearEnd, "name: year-end", "name: a", "enforcement: Deny", "enforcement: Audit")
	for _, test := range []struct {
		policies []string
		want     v1alpha1.Enforcement
		denied   int
	}{
		{[]string{audit}, v1alpha1.EnforcementAudit, 0}, {[]string{audit, warn}, v1alpha1.EnforcementWarn, 0},
		{[]string{yearEnd, audit, warn}, v1alpha1.EnforcementDeny, 1}, {nil, "", 0},
	} {
		v := set(t, test.policies...).Decide(change(scale))
		if v.Enforcement != test.want || len(v.Of(v1alpha1.EnforcementDeny)) != test.denied || v.Allowed != (test.denied == 0) {
			t.Errorf("%d policies: %+v", len(test.policies), v)
		}
	}
}

func TestFreezeIsOverAtItsEndAndAWindowNever(t *testing.T) {
	end := at("2027-01-03T00:00:00Z")
	year, week := set(t, yearEnd).Rules()[0], set(t, weekly).Rules()[0]
	if year.Over(end.Add(-time.Second)) || !year.Over(end) || week.Over(end.AddDate(100, 0, 0)) {
		t.Error("a freeze is over from its end on, a maintenance window never")
	}
}
