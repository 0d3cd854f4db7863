package main

import (
	"os"
	"regexp"
	"testing"
	"time"

	"flyball.dev/flyball/test/demo/simclock"
)

// TestAppWakesInOrderAndSleepsWithoutRequests runs two parts of the demo, in its order and on one control plane. Without HAProxy the second
// part says that it is left out; the tests of schedules with idle show where it comes from.
func TestAppWakesInOrderAndSleepsWithoutRequests(t *testing.T) {
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
	must(t, d.workloads(t.Context()))
	must(t, d.manage(t.Context()))
	must(t, d.order(t.Context()))
	must(t, d.idle(t.Context()))
	text, err := os.ReadFile(said.Name())
	must(t, err)
	idle := `✓ Idle      asleep \d+\.\d s after its last request, awake \d+\.\d s after the next one, served after \d+\.\d s\n`
	if haproxy() == "" {
		idle = `Left out: it needs HAProxy`
	}
	for _, want := range []string{`✓ Order     the app woke after \d+\.\d s, once its database was ready\n`, idle} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("the demo did not say %q:\n%s", want, text)
		}
	}
}
