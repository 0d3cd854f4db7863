package deploy

import (
	"regexp"
	"testing"
)

// TestNoDateCanBePast checks that the dates in documents and samples are far in the future, because readers copy them.
// The year 2037 has the required days of the week.
func TestNoDateCanBePast(t *testing.T) {
	date := regexp.MustCompile(`\b(20\d\d)-\d\d-\d\d`)
	seen := 0
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/policies/*.md", "samples/*/*.yaml", "deploy/helm/flyball/values.yaml",
		"deploy/helm/flyball/templates/*"} {
		for file, text := range read(t, pattern) {
			switch file {
			case "../../samples/calendars/german-holidays.yaml": // the holidays of twelve years
				continue
			case "../../docs/holidays.md", "../../docs/kinds.md", "../../docs/benchmarks.md", "../../docs/comparison.md":
				continue // the days on which something was read, tried or measured
			}
			for _, m := range date.FindAllStringSubmatch(text, -1) {
				if seen++; m[1] < "2037" {
					t.Errorf("%s has the date %s", file, m[0])
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("found only %d dates", seen)
	}
}
