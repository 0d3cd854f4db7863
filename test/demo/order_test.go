package main

import (
	"os"
	"regexp"
	"testing"
	"time"

	"flyball.dev/flyball/test/demo/simclock"
)

func TestTheAppWakesOnceItsDatabaseIsReady(t *testing.T) {
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
	text, err := os.ReadFile(said.Name())
	must(t, err)
	if !regexp.MustCompile(`✓ Order     the app woke after \d+\.\d s, once its database was ready\n`).Match(text) {
		t.Errorf("the demo said:\n%s", text)
	}
}
