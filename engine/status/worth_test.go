package status_test

import (
	"slices"
	"strings"
	"testing"

	"flyball.dev/flyball/engine/status"
)

func TestSavingsAreWorthMoneyAndCO2(t *testing.T) {
	for _, c := range []struct {
		price, co2   string
		heads, cells []string
	}{
		{"", "", nil, nil},
		{"cpu=0.5,memory=0.25,currency=EUR", "", []string{"Cost EUR"}, []string{"7.00"}},
		{"cpu=0.5", "", []string{"Cost"}, []string{"5.00"}},
		{" memory=1e-1 , currency=€", "cpu=3", []string{"Cost €", "CO2 g"}, []string{"0.80", "30"}},
		{"", "memory=2,cpu=0", []string{"CO2 g"}, []string{"16"}},
	} {
		r, err := status.ParseRates(c.price, c.co2)
		if err != nil {
			t.Fatal(err)
		}
		if heads, cells := r.Heads(), r.Of(10, 8).Cells(); !slices.Equal(heads, c.heads) || !slices.Equal(cells, c.cells) {
			t.Errorf("%q and %q: %q with %q, want %q with %q", c.price, c.co2, heads, cells, c.heads, c.cells)
		}
	}
}

func TestUnreadableRates(t *testing.T) {
	for _, c := range []struct{ price, co2, want string }{
		{"cpu=x", "", "cpu=x is no number of 0 or more"},
		{"cpu=-1", "", "no number of 0 or more"},
		{"cpu=NaN", "", "no number of 0 or more"},
		{"memory=Inf", "", "no number of 0 or more"},
		{"cpu=1,cpu=2", "", "cpu is given twice"},
		{"cpi=1", "", `"cpi=1" is none of cpu=VALUE, memory=VALUE, currency=VALUE`},
		{"currency=EUR", "", "give the rate"},
		{"cpu=1,currency=a b", "", "no code or sign"},
		{"cpu=1,currency=", "", "no code or sign"},
		{"cpu=1,currency=ABCDEFGHI", "", "no code or sign"},
		{"", "cpu=1,currency=EUR", "is none of cpu=VALUE, memory=VALUE"},
		{"", ",", "is none of"},
	} {
		if _, err := status.ParseRates(c.price, c.co2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q and %q: %v, want %q", c.price, c.co2, err, c.want)
		}
	}
}
