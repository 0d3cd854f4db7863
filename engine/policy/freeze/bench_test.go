package freeze_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// fleet returns a set of n policies of all kinds, as in a large organisation. Most of them select one namespace, the
// namespaces of a team or one object. Many are over. Five policies apply to the object of the request.
func fleet(tb testing.TB, n int) *freeze.Set {
	tb.Helper()
	between := func(start, end string) v1alpha1.FreezePeriod {
		return v1alpha1.FreezePeriod{Period: v1alpha1.Period{StartTime: metav1.NewTime(at(start)), EndTime: metav1.NewTime(at(end))}}
	}
	period, past := between("2026-12-20T00:00:00Z", "2027-01-03T00:00:00Z"), between("2025-12-20T00:00:00Z", "2026-01-03T00:00:00Z")
	deny := v1alpha1.FreezeRules{Deny: []v1alpha1.Action{v1alpha1.ActionScale}}
	labels := func(k, v string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
	}
	texts := []string{yearEnd, selected, annotated, named, fix}
	s := set(tb, texts...)
	var rules []*freeze.Rule
	add := func(obj any) {
		rule, _, errs := freeze.CompileObject(obj, testContext)
		if len(errs) > 0 {
			tb.Fatal(errs)
		}
		rules = append(rules, rule)
	}
	for i := len(texts); i < n; i++ {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}
		inside := metav1.ObjectMeta{Name: meta.Name, Namespace: fmt.Sprintf("team-%d", i)}
		mine := metav1.ObjectMeta{Name: meta.Name, Namespace: "shop"}
		var everywhere, byTeam v1alpha1.ClusterTargetSelector
		everywhere.NamespaceSelector = &metav1.LabelSelector{}
		byTeam.NamespaceSelector = labels("team", meta.Name)
		switch i % 5 {
		case 0:
			add(&v1alpha1.ChangeFreeze{ObjectMeta: inside, Spec: v1alpha1.ChangeFreezeSpec{FreezePeriod: period, FreezeRules: deny}})
		case 1:
			add(&v1alpha1.ClusterChangeFreeze{ObjectMeta: meta, Spec: v1alpha1.ClusterChangeFreezeSpec{Target: byTeam, FreezePeriod: period,
				FreezeRules: deny}})
		case 2:
			add(&v1alpha1.ChangeFreeze{ObjectMeta: mine,
				Spec: v1alpha1.ChangeFreezeSpec{Target: v1alpha1.TargetSelector{Selector: labels("app", meta.Name)}, FreezePeriod: period,
					FreezeRules: deny}})
		case 3:
			add(&v1alpha1.ClusterChangeFreeze{ObjectMeta: meta, Spec: v1alpha1.ClusterChangeFreezeSpec{Target: everywhere, FreezePeriod: past,
				FreezeRules: deny}})
		default:
			everywhere.Names = []string{meta.Name}
			add(&v1alpha1.ClusterMaintenanceWindow{ObjectMeta: meta, Spec: v1alpha1.ClusterMaintenanceWindowSpec{
				Target: everywhere, Windows: []v1alpha1.Window{{From: "02:00", To: "04:00"}}, FreezeRules: deny}})
		}
	}
	return s.With(rules...)
}

var sizes = []int{10, 1_000, 10_000}

// BenchmarkDecide judges a change to which five policies apply, among a growing number of others.
func BenchmarkDecide(b *testing.B) {
	for _, n := range sizes {
		for _, test := range []struct {
			name string
			req  freeze.UserChange
		}{
			{"denied", change(workload.ChangeScale)},
			{"lifted", change(workload.ChangeRollOut)},
			{"elsewhere", change(workload.ChangeScale, func(r *freeze.UserChange) { r.Namespace, r.NamespaceLabels = "lab", nil })},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, test.name), func(b *testing.B) {
				s := fleet(b, n)
				b.ReportAllocs()
				for b.Loop() {
					s.Decide(test.req)
				}
			})
		}
	}
}

// BenchmarkWith replaces one policy among many.
func BenchmarkWith(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := fleet(b, n)
			rule := s.Rules()[0]
			for b.Loop() {
				s.With(rule)
			}
		})
	}
}

// A decision among 10,000 policies examines no more of them than a decision among 10, because the index leaves out all
// others. The time is measured by make bench.
func TestDecisionExaminesOnlyRelevantPolicies(t *testing.T) {
	req := change(workload.ChangeScale)
	few, many := fleet(t, 10).Candidates(req), fleet(t, 10_000).Candidates(req)
	if few == 0 || many > few {
		t.Errorf("looks at %d of 10 policies and at %d of 10,000", few, many)
	}
}
