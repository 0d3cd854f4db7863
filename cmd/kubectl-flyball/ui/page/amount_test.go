package page

import "testing"

// TestAmountsHaveGroupedDigitsAndNoFalsePrecision checks the numbers of tiles and tables.
func TestAmountsHaveGroupedDigitsAndNoFalsePrecision(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 1.66: "1.7", -9.94: "-9.9", 9.95: "10", 999.6: "1,000",
		2449: "2,449", 529110.5: "529,110", -1234567: "-1,234,567"} {
		if got := amount(f); got != want {
			t.Errorf("%v is %s, want %s", f, got, want)
		}
	}
}
