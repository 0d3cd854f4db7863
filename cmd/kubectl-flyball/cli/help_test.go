package cli_test

import (
	"strings"
	"testing"
)

// TestWideHelpShowsFlagsBeforeQueries checks that the wide help of suggest requests shows its flags before the Prometheus queries.
func TestWideHelpShowsFlagsBeforeQueries(t *testing.T) {
	got := outcome(t, "", "suggest", "requests", "--help", "-o", "wide")
	flags, queries := strings.Index(got, "\nFlags:\n"), strings.Index(got, "container_cpu_usage_seconds_total")
	if flags < 0 || queries < flags {
		t.Errorf("flags at %d, queries at %d:\n%s", flags, queries, got)
	}
	if got := outcome(t, "", "explain", "--help", "-o", "wide"); strings.Contains(got, "container_cpu_usage_seconds_total") {
		t.Error("the queries are in the help of another verb")
	}
}
