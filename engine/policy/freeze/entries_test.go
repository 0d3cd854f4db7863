package freeze_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/freeze"
)

// exceptionOf compiles an exception that names some policies, either in the namespace shop or for the cluster.
func exceptionOf(t testing.TB, inNamespace bool, policies ...string) *freeze.Exception {
	t.Helper()
	text := fix
	if inNamespace {
		text = edited(local, "reason:", "policies: [year-end], reason:")
	}
	_, e, errs := freeze.CompileObject(parse(t, edited(text, "[year-end]", "["+strings.Join(policies, ", ")+"]")), testContext)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return e
}

func policyNames(e *freeze.Exception) []string {
	var out []string
	for _, p := range e.Policies() {
		out = append(out, p.String())
	}
	return out
}

// The policies of an entry follow only from its text and from the namespace of the exception.
func TestPoliciesOfAnEntryFollowFromItsText(t *testing.T) {
	for _, test := range []struct {
		inNamespace bool
		entries     []string
		want        []string
	}{
		{false, nil, nil},
		{false, []string{"a"}, []string{"ClusterChangeFreeze/a", "ClusterMaintenanceWindow/a"}},
		{true, []string{"a"}, []string{"ChangeFreeze/shop/a", "MaintenanceWindow/shop/a"}},
		{true, []string{"ChangeFreeze/a"}, []string{"ChangeFreeze/shop/a"}},
		{true, []string{"MaintenanceWindow/shop/a"}, []string{"MaintenanceWindow/shop/a"}},
		{false, []string{"ClusterMaintenanceWindow/a"}, []string{"ClusterMaintenanceWindow/a"}},
		{false, []string{"ChangeFreeze/bank/a", "ChangeFreeze/shop/a"}, []string{"ChangeFreeze/bank/a", "ChangeFreeze/shop/a"}},
		{true, []string{"b", "MaintenanceWindow/b"}, []string{"ChangeFreeze/shop/b", "MaintenanceWindow/shop/b"}},
	} {
		if diff := cmp.Diff(test.want, policyNames(exceptionOf(t, test.inNamespace, test.entries...))); diff != "" {
			t.Errorf("%v in a namespace %t (-want +got):\n%s", test.entries, test.inNamespace, diff)
		}
	}
}

func TestInvalidEntriesAreRefused(t *testing.T) {
	for _, test := range []struct{ reason, exception, entry, want string }{
		{"a cluster policy in a namespace", local, "ClusterChangeFreeze/a", "an exception of a namespace never lifts a cluster policy"},
		{"another namespace", local, "ChangeFreeze/bank/a", "an exception of a namespace lifts policies of its own namespace only"},
		{"a namespaced policy without its namespace", fix, "ChangeFreeze/a",
			"ChangeFreeze lives in a namespace: give ChangeFreeze/namespace/name"},
		{"a cluster policy with a namespace", fix, "ClusterChangeFreeze/shop/a",
			"ClusterChangeFreeze has no namespace: give ClusterChangeFreeze/name"},
		{"another kind", fix, "Schedule/shop/a",
			"the kind must be one of ChangeFreeze, MaintenanceWindow, ClusterChangeFreeze, ClusterMaintenanceWindow"},
		{"an exception", fix, "ClusterFreezeException/a",
			"the kind must be one of ChangeFreeze, MaintenanceWindow, ClusterChangeFreeze, ClusterMaintenanceWindow"},
		{"no name", fix, "ClusterChangeFreeze/", "give Kind/namespace/name, Kind/name or name"},
		{"no kind", fix, "/a", "give Kind/namespace/name, Kind/name or name"},
		{"too much", fix, "ChangeFreeze/shop/a/b", "give Kind/namespace/name, Kind/name or name"},
	} {
		text := edited(test.exception, "policies: [year-end]", "policies: [x, "+test.entry+"]", "reason: a try", "reason: a try, policies: [x, "+
			test.entry+"]")
		_, e, errs := freeze.CompileObject(parse(t, text), testContext)
		if len(errs) != 1 || errs[0].Field != "spec.policies[1]" || errs[0].Detail != test.want || e != nil {
			t.Errorf("%s: want spec.policies[1]: %s, got %v", test.reason, test.want, errs)
		}
	}
}

// An exception lifts a policy created later only if its text names this policy. So the author's right is checked for
// exactly the policies that can be lifted.
func TestExceptionsLiftOnlyNamedPolicies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objs, req := drawPolicies(t), drawRequest(t)
		s := compileAll(t, objs)
		for _, l := range s.Decide(req).Lifts {
			e := s.Exception(l.Exception)
			if named := e.Policies(); len(named) > 0 && !slices.Contains(named, l.Policy) {
				t.Fatalf("%s lifts %s, and names %v", l.Exception, l.Policy, named)
			}
			if e.ID().Namespace != "" && e.ID().Namespace != l.Policy.Namespace {
				t.Fatalf("%s lifts %s", l.Exception, l.Policy)
			}
		}
	})
}

func TestMissingNamesPoliciesThatDoNotExist(t *testing.T) {
	s := set(t, yearEnd, weekly)
	e := exceptionOf(t, false, "year-end", "nothing", "MaintenanceWindow/shop/weekly", "ChangeFreeze/shop/weekly")
	if diff := cmp.Diff([]string{"nothing", "ChangeFreeze/shop/weekly"}, s.Missing(e)); diff != "" {
		t.Error(diff)
	}
}

func TestLiftingNamesTheExceptionsOfAFreeze(t *testing.T) {
	s := set(t, yearEnd, weekly, fix, local, edited(fix, "name: fix", "name: other", "[year-end]", "[other]"),
		edited(fix, "name: fix", "name: scale", "[RollOut]", "[Scale]", "[year-end]", "[]"))
	for _, test := range []struct {
		reason, policy, now string
		want                []string
	}{
		{"by name, and all", "ClusterChangeFreeze/year-end", "2026-12-20T13:59:59Z",
			[]string{"ClusterFreezeException/fix", "ClusterFreezeException/scale"}},
		{"not another action", "MaintenanceWindow/shop/weekly", "2026-12-01T00:00:00Z", []string{"FreezeException/shop/local"}},
		{"not once it is over", "ClusterChangeFreeze/year-end", "2026-12-20T14:00:00Z", nil},
	} {
		var got []string
		for _, r := range s.Rules() {
			if r.ID().String() == test.policy {
				for _, e := range s.Lifting(r, at(test.now)) {
					got = append(got, e.ID().String())
				}
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
