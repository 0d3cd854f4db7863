package source_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

func TestRunUp(t *testing.T) {
	now := time.Date(2037, 5, 13, 19, 0, 0, 500, time.UTC)
	whole := now.Truncate(time.Second)
	for name, test := range map[string]struct{ now, at, start time.Time }{
		"now":            {now, whole, whole},
		"past":           {now, now.Add(-time.Hour), now.Add(-time.Hour)},
		"tonight":        {now, now.Add(time.Hour), whole},
		"far away":       {now, now.AddDate(3, 0, 0), now.AddDate(3, 0, 0).Add(-source.LongestRunUp)},
		"no clock given": {time.Time{}, now, now},
	} {
		if got := source.RunUp(test.now, test.at); !got.Equal(test.start) {
			t.Errorf("%s: it begins at %s, want %s", name, got, test.start)
		}
		past := test.at.Before(test.now)
		if note := source.Hypothetical(test.now, test.at); strings.Contains(note, "hypothetical") != (past && name == "past") {
			t.Errorf("%s: the note is %q", name, note)
		}
	}
}
