package cli_test

import (
	"strings"
	"testing"
)

// TestHelpShowsFlagsBeforeQueries checks that the help of recommend shows its flags before the Prometheus queries.
func TestHelpShowsFlagsBeforeQueries(t *testing.T) {
	got := outcome(t, "", "recommend", "--help")
	flags, queries := strings.Index(got, "\nFlags:\n"), strings.Index(got, "container_cpu_usage_seconds_total")
	if flags < 0 || queries < flags {
		t.Errorf("flags at %d, queries at %d:\n%s", flags, queries, got)
	}
	if got := outcome(t, "", "explain", "--help"); strings.Contains(got, "container_cpu_usage_seconds_total") {
		t.Error("the queries are in the help of another verb")
	}
}
