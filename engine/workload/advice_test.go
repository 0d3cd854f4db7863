package workload_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Explanations do not matter.
func TestSameComparesTheValuesOfAdvice(t *testing.T) {
	cpu := workload.Amount{Component: "web", Resource: workload.CPU}
	advice := func(change func(*workload.Advice)) *workload.Advice {
		a := &workload.Advice{
			By: workload.Policy{Kind: "Tortoise", Name: "a"}, Amounts: map[workload.Amount]int64{cpu: 1}, AmountsSince: time.Unix(1, 0),
			Min: new(int64(2)), Max: new(int64(3)), Targets: map[workload.Amount]int64{cpu: 4}, BoundsSince: time.Unix(2, 0),
		}
		change(a)
		return a
	}
	one := advice(func(*workload.Advice) {})
	for name, tc := range map[string]struct {
		other *workload.Advice
		want  bool
	}{
		"equal":              {advice(func(*workload.Advice) {}), true},
		"in other words":     {advice(func(a *workload.Advice) { a.Lines = []string{"x"} }), true},
		"at the same time":   {advice(func(a *workload.Advice) { a.AmountsSince = a.AmountsSince.UTC() }), true},
		"none":               {nil, false},
		"of another policy":  {advice(func(a *workload.Advice) { a.By.Name = "b" }), false},
		"another request":    {advice(func(a *workload.Advice) { a.Amounts[cpu] = 9 }), false},
		"since another time": {advice(func(a *workload.Advice) { a.AmountsSince = time.Unix(9, 0) }), false},
		"another minimum":    {advice(func(a *workload.Advice) { a.Min = new(int64(9)) }), false},
		"no minimum":         {advice(func(a *workload.Advice) { a.Min = nil }), false},
		"another maximum":    {advice(func(a *workload.Advice) { a.Max = new(int64(9)) }), false},
		"another target":     {advice(func(a *workload.Advice) { a.Targets[cpu] = 9 }), false},
		"bounds of later":    {advice(func(a *workload.Advice) { a.BoundsSince = time.Unix(9, 0) }), false},
	} {
		if got, back := one.Same(tc.other), tc.other.Same(one); got != tc.want || back != tc.want {
			t.Errorf("%s: the same is %t, and %t the other way round", name, got, back)
		}
	}
	var none *workload.Advice
	if !none.Same(nil) {
		t.Error("none is not the same as none")
	}
	unbound := advice(func(a *workload.Advice) { a.Min, a.Max = nil, nil })
	if !unbound.Same(advice(func(a *workload.Advice) { a.Min, a.Max = nil, nil })) {
		t.Error("no bounds are not the same as none")
	}
}

// Metrics and messages use these names.
func TestNamesInMetricsAndMessages(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}.Label(), "shop/nights"},
		{workload.Policy{Kind: "ClusterSchedule", Name: "nights"}.Label(), "nights"},
		{workload.Origin{Of: "Deployment/web", Namespace: "shop"}.String(), "Deployment shop/web"},
		{workload.Origin{Of: "Node/a"}.String(), "Node a"},
	} {
		if tc.got != tc.want {
			t.Errorf("it is %q, want %q", tc.got, tc.want)
		}
	}
}

// The test covers a value, the notes of a ledger, and an entry in a list.
func TestExistenceOfValuesAndNotes(t *testing.T) {
	if (workload.Field{Depth: 2}).Exists() || !(workload.Field{Raw: "0"}).Exists() {
		t.Error("only a field with a text exists")
	}
	bare, noted := workload.Object{}, workload.Object{LedgerNotes: &workload.LedgerNotes{UID: "u"}}
	if bare.Notes().UID != "" || noted.Notes().UID != "u" {
		t.Error("notes are not those of the object")
	}
	for _, tc := range []struct {
		entry workload.Entry
		want  bool
	}{{workload.Entry{}, false}, {workload.Entry{Element: "a"}, true}, {workload.Entry{Place: "1 of 1"}, true}} {
		if got := tc.entry.IsInList(); got != tc.want {
			t.Errorf("%+v is in a list: %t", tc.entry, got)
		}
	}
}
