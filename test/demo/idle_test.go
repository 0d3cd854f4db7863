package main

import (
	"os"
	"regexp"
	"testing"
	"time"

	"flyball.dev/flyball/test/demo/simclock"
)

// TestTheAppSleepsWithoutRequests runs the part of the demo alone: a request wakes the app. Without HAProxy the part says that it is left
// out; the tests of schedules with idle show where it comes from.
func TestTheAppSleepsWithoutRequests(t *testing.T) {
	said, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	d := &demo{opts: options{plain: true, weekIn: time.Minute}, screen: newScreen(said, true), begin: monday(t),
		clock: simclock.New(monday(t))}
	must(t, d.openLog())
	defer func() {
		cleaned := d.cleanUp()
		d.closeLog(cleaned == nil && !t.Failed())
		must(t, cleaned)
	}()
	must(t, d.open(t.Context()))
	must(t, d.install(t.Context()))
	must(t, d.idle(t.Context()))
	text, err := os.ReadFile(said.Name())
	must(t, err)
	want := `✓ Idle      asleep \d+\.\d s after its last request, awake \d+\.\d s after the next one, served after \d+\.\d s\n`
	if haproxy() == "" {
		want = `Left out: it needs HAProxy`
	}
	if !regexp.MustCompile(want).Match(text) {
		t.Errorf("the demo said:\n%s", text)
	}
}
