package printer_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

// TestReasonsDoNotRepeatTheState checks that the begin and the end of a state, which stand beside its reason, are not in it again.
func TestReasonsDoNotRepeatTheState(t *testing.T) {
	since, until := time.Date(2037, 5, 13, 6, 0, 0, 0, time.UTC), time.Date(2037, 5, 13, 18, 0, 0, 0, time.UTC)
	const from, to = "2037-05-13T08:00:00+02:00", "2037-05-13T18:00:00Z"
	for reason, want := range map[string]string{
		"awake since " + from + ", next transition " + to:                             "",
		"awake since " + from + " (open), next transition " + to:                      "open",
		"awake since " + from + "; each target sleeps after 2h":                       "each target sleeps after 2h",
		"changes are denied until " + to + " (Europe/Berlin)":                         "changes are denied",
		"changes are denied until " + to + " (Europe/Berlin); there is no Calendar x": "changes are denied; there is no Calendar x",
		"kept awake until " + to + ": the release":                                    "kept awake: the release",
		"kept awake until 2037-05-14T18:00:00Z: the release":                          "kept awake until 2037-05-14T18:00:00Z: the release",
		"peak since " + from + ", min 3, next transition " + to:                       "peak, min 3",
		"awake at " + to: "",
		"spec.suspend is true: everything stays as it is": "spec.suspend is true: everything stays as it is",
	} {
		if got := printer.Beyond(reason, "Awake", since, until); got != want {
			t.Errorf("%q becomes %q, want %q", reason, got, want)
		}
	}
}
