package cli_test

import (
	"strings"
	"testing"
)

// TestReportAsPage checks that -o html writes only a page, with the targets and in the time zone of the flag.
func TestReportAsPage(t *testing.T) {
	got := outcome(t, "", append([]string{"report", "--for=24h", "-o=html", "--time-zone=America/New_York"}, strings.Fields(demo)...)...)
	if !strings.HasPrefix(got, "exit code 0\n--- standard output\n<!doctype html>\n") || !strings.HasSuffix(got, "</html>\n") {
		t.Errorf("%.600s", got)
	}
	for _, want := range []string{"Deployment.apps/shop/web", "America/New_York", "EDT"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
