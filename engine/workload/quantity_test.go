package workload_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/workload"
)

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]string{
		"250m": "250m", "1.5": "1500m", "-512Mi": "-512Mi", "2E": "2E", "2Ei": "2Ei", "1e3": "1k", "1E-3": "1m", "+1e+99": "1e99", "0": "0",
	} {
		got, ok := workload.ParseQuantity(text)
		if !ok || got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%s is %s, %t", text, got.String(), ok)
		}
	}
}

// Otherwise one object could block every reader of its kind.
func TestQuantitiesWithLongExponentsAreInvalid(t *testing.T) {
	for _, text := range []string{
		"1e-999999999", "1e999999999", "1E+2000000000", "1.5e1000000", "1e100", "1e", "", "much", "1e1.5", "1e5e5", strings.Repeat("9", 1<<20),
		"0." + strings.Repeat("1", 1<<20),
	} {
		if got, ok := workload.ParseQuantity(text); ok {
			t.Errorf("%.20s is %s", text, got.String())
		}
	}
}

// TestValuesAreComparedLikeTheAPIServerDoes: a number equals its string, and amounts are compared by their quantity.
func TestValuesAreComparedLikeTheAPIServerDoes(t *testing.T) {
	for _, tc := range []struct {
		a, b           string
		number, amount bool
	}{
		{`0`, `"0"`, true, true},
		{`0`, `"1"`, false, false},
		{`"1.10"`, `"1.1"`, false, true}, // two versions, or one amount
		{`"1Gi"`, `"1024Mi"`, false, true},
		{`1000`, `"1k"`, true, true},
		{`"much"`, `"more"`, false, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true, true},
		{``, `0`, false, false},
		{``, ``, true, true},
		{`true`, `"true"`, false, false},
	} {
		if number, amount := workload.SameNumber(tc.a, tc.b), workload.SameValue(tc.a, tc.b, true); number != tc.number || amount != tc.amount {
			t.Errorf("%s and %s: same number %t, same amount %t", tc.a, tc.b, number, amount)
		}
	}
}
