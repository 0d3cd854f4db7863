package freeze_test

import (
	"testing"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

func row(t *testing.T, name string) policy.Row {
	t.Helper()
	for _, k := range freeze.Kinds() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("there is no kind %s", name)
	return policy.Row{}
}

// An unreadable object becomes a broken policy under its own name, and neither a rule nor an exception.
func TestRowsCompileUnreadableObjectsAsBroken(t *testing.T) {
	tests := []struct {
		name, kind, object      string
		id                      workload.Policy
		broken, rule, exception bool
	}{
		{"a freeze", freeze.ClusterKind, yearEnd, workload.Policy{Kind: freeze.ClusterKind, Name: "year-end"}, false, true, false},
		{"a freeze with an unknown zone", freeze.ClusterKind, edited(yearEnd, "Europe/Berlin", "Nowhere"),
			workload.Policy{Kind: freeze.ClusterKind, Name: "year-end"}, true, false, false},
		{"a window", freeze.WindowKind, weekly, workload.Policy{Kind: freeze.WindowKind, Namespace: "shop", Name: "weekly"}, false, true, false},
		{"an exception", freeze.ClusterExceptionKind, fix, workload.Policy{Kind: freeze.ClusterExceptionKind, Name: "fix"}, false, false, true},
		{"an exception without a reason", freeze.ClusterExceptionKind, edited(fix, "CVE fix", "''"),
			workload.Policy{Kind: freeze.ClusterExceptionKind, Name: "fix"}, true, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, errs := row(t, test.kind).Compile(parse(t, test.object).(policy.Object), testContext)
			if p.ID != test.id || p.IsBroken() != test.broken || len(errs) > 0 != test.broken {
				t.Errorf("compiled to %s, broken: %t, %v", p.ID, p.IsBroken(), errs)
			}
			if rule, exception := freeze.RuleOf(p), freeze.ExceptionOf(p); rule != nil != test.rule || exception != nil != test.exception {
				t.Errorf("rule %v, exception %v", rule, exception)
			}
			if (p.Reporter != nil) != (test.kind != freeze.ClusterExceptionKind) {
				t.Error("freezes and windows have a status of their own, also broken ones; exceptions have none to fill")
			}
		})
	}
}

// Only objects with spec.suspend change targets. Exceptions act on no target.
func TestRowsReturnThePartsOfObjects(t *testing.T) {
	suspends := edited(yearEnd, "enforcement: Deny", "suspend: [{group: batch, kind: CronJob}]")
	for _, test := range []struct {
		kind, object    string
		acts, finalizer bool
	}{
		{freeze.ClusterKind, yearEnd, true, false},
		{freeze.ClusterKind, suspends, true, true},
		{freeze.WindowKind, weekly, true, false},
		{freeze.ClusterExceptionKind, fix, false, false},
	} {
		k, obj := row(t, test.kind), parse(t, test.object).(policy.Object)
		if k.ActsOnTargets() != test.acts || k.NeedsFinalizer(obj) != test.finalizer || !k.Restricts {
			t.Errorf("%s acts: %t, needs a finalizer: %t, restricts: %t", k.Name, k.ActsOnTargets(), k.NeedsFinalizer(obj), k.Restricts)
		}
	}
}
