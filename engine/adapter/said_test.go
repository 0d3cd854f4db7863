package adapter

import (
	"slices"
	"strings"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestKindWithAPodTemplateSizesItsPods checks that the requests of a kind with a pod template are the requests of
// its pods,
// unless the adapter lists other requests.
func TestKindWithAPodTemplateSizesItsPods(t *testing.T) {
	for yaml, want := range map[string]bool{deploymentYAML: true, knativeYAML: true, allocatedYAML: false, cronJobYAML: false} {
		for _, keep := range []bool{true, false} {
			a := mustCompile(t, yaml, Keys{Amounts: keep})
			if a.SizesPods() != want || a.KeepsAmounts() != keep {
				t.Errorf("%.60q: it sizes pods: %t, and keeps amounts: %t, want %t", yaml, a.SizesPods(), a.KeepsAmounts(), keep)
			}
		}
	}
}

// TestUnreadableAmountNamesItsCause checks that the fault of an unreadable amount names its cause, and that a
// readable
// object has no fault.
func TestUnreadableAmountNamesItsCause(t *testing.T) {
	for _, tc := range []struct{ adapter, spec, want string }{
		{deploymentYAML, pod(`{"requests":{"cpu":"100m"}}`), ""},
		{deploymentYAML, pod(`{}`), ""},
		{deploymentYAML, pod(`{"requests":{"cpu":"much"}}`), `web cpu request is "much", which is no amount`},
		{deploymentYAML, pod(`{"requests":{"cpu":"-1"}}`), `web cpu request is "-1", which is no amount`},
		{allocatedYAML, `{"resources":"none"}`, "db cpu request has no place at /spec/resources/requests/cpu"},
		{allocatedYAML, `{"target":{"cpu":"half"}}`, `cpu utilisation is "half"`},
	} {
		a := mustCompile(t, tc.adapter, Keys{Amounts: true})
		got := a.AmountFault(projected(t, a, object(tc.spec)))
		if (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.spec, got, tc.want)
		}
	}
}

// TestPoliciesOfTheSizeAreListed checks that the policies of the size are listed, each once, and not those of other fields. A size that
// was set once does not count.
func TestPoliciesOfTheSizeAreListed(t *testing.T) {
	entry := func(pointer, was, set string, by workload.Policy) workload.Entry {
		return workload.Entry{Pointer: pointer, Was: was, Set: set, By: by.String(), Since: monday}
	}
	once := entry("/spec/pool/size/count", "3", "0", nights)
	once.Once = "0"
	count, least := entry("/spec/pool/size/count", "3", "0", nights), entry("/spec/pool/min", "1", "2", peaks)
	most, power := entry("/spec/pool/max", "5", "9", peaks), entry("/spec/power/main/on", "true", "false", peaks)
	lock := entry("/spec/power/lock", "", `{"by":"flyball"}`, nights)
	const spec = `{"pool":{"size":{"count":0},"min":2,"max":9},"power":{"main":{"on":false},"lock":{"by":"flyball"}}}`
	a := mustCompile(t, nestedYAML, Keys{})
	for _, tc := range []struct {
		reason string
		ledger []workload.Entry
		size   []workload.Policy
	}{
		{"nothing is set", nil, nil},
		{"a count", []workload.Entry{count}, []workload.Policy{nights}},
		{"a switch of suspend", []workload.Entry{power}, []workload.Policy{peaks}},
		{"a count and a switch of two", []workload.Entry{count, power}, []workload.Policy{nights, peaks}},
		{"bounds of one", []workload.Entry{least, most}, nil},
		{"what holds it is no size", []workload.Entry{lock}, nil},
		{"a count and bounds", []workload.Entry{count, least}, []workload.Policy{nights}},
		{"a count that was left to others", []workload.Entry{once, least}, nil},
	} {
		obj := projected(t, a, object(spec))
		if len(tc.ledger) > 0 {
			obj = projected(t, a, withLedger(t, spec, tc.ledger...))
		}
		size := a.SetBy(obj)
		slices.SortFunc(size, func(a, b workload.Policy) int { return strings.Compare(a.String(), b.String()) })
		if !slices.Equal(size, tc.size) {
			t.Errorf("%s: the size is of %v, want %v", tc.reason, size, tc.size)
		}
	}
}
