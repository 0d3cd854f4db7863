package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const pkg = "example.com/suite"

func failedRun(t *testing.T, quarantine string, outputs ...string) (*report, string) {
	t.Helper()
	var in, out bytes.Buffer
	for _, e := range append(eventsOf(outputs),
		event{Action: "fail", Package: pkg, Test: "TestSuite"}, event{Action: "fail", Package: pkg, Elapsed: 7}) {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	r := newReport(&out, quarantined(quarantine))
	if err := r.read(&in); err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

func eventsOf(outputs []string) (events []event) {
	for _, o := range outputs {
		events = append(events, event{Action: "output", Package: pkg, Test: "TestSuite", Output: o})
	}
	return events
}

var errExit = errors.New("exit status 1")

func TestFailureOutsideQuarantineFailsTheRun(t *testing.T) {
	r, out := failedRun(t, "", "seen: 3, want: 4\n", "flyball-spec\tpassed\t1.0\tsleeps\n", "flyball-spec\tfailed\t2.0\twakes up\n")
	if err := r.verdict(errExit); err == nil || err.Error() != pkg+" wakes up" {
		t.Errorf("the verdict is %v", err)
	}
	if !strings.Contains(out, "seen: 3, want: 4") {
		t.Errorf("the output of the failed package is missing in %q", out)
	}
}

func TestQuarantinedSpecIsPrintedAndDoesNotFailTheRun(t *testing.T) {
	list := "2026-01-31\t" + pkg + "\twakes up\ttimes out\n"
	r, out := failedRun(t, list, "flyball-spec\tfailed\t2.0\twakes up\n")
	if err := r.verdict(errExit); err != nil {
		t.Errorf("the verdict is %v", err)
	}
	if !strings.Contains(out, "QUARANTINED\t"+pkg+"\twakes up") {
		t.Errorf("the failure is missing in %q", out)
	}
	r, _ = failedRun(t, list, "flyball-spec\tfailed\t2.0\twakes up\n", "flyball-spec\tfailed\t2.0\tsleeps\n")
	if r.verdict(errExit) == nil {
		t.Error("a second failed spec was excused")
	}
}

func TestFailedBuildOrGoCommandFailsTheRun(t *testing.T) {
	r := newReport(&bytes.Buffer{}, nil)
	r.take(event{Action: "build-output", ImportPath: pkg + " [test]", Output: "undefined: x\n"})
	r.take(event{Action: "fail", Package: pkg, FailedBuild: pkg + " [test]"})
	if r.verdict(errExit) == nil || !strings.Contains(r.out.(*bytes.Buffer).String(), "undefined: x") {
		t.Errorf("the verdict is %v, the output %q", r.verdict(errExit), r.out)
	}
	if newReport(&bytes.Buffer{}, nil).verdict(errExit) == nil {
		t.Error("a failure of the go command without a package was excused")
	}
}

func TestRowHasTimeAndThreeSlowestSpecs(t *testing.T) {
	r, _ := failedRun(t, "", "flyball-spec\tpassed\t1\ta\n", "flyball-spec\tpassed\t4\tb\n", "flyball-spec\tpassed\t3\tc\n",
		"flyball-spec\tpassed\t2\td\n")
	if want := "     7.0 s  " + pkg + ": 4.0 s b; 3.0 s c; 2.0 s d\n"; len(r.rows) != 1 || r.rows[0] != want {
		t.Errorf("the rows are %q, want %q", r.rows, want)
	}
}

func TestQuarantineHasAtMostThreeEntriesWithDateAndCause(t *testing.T) {
	lines := 0
	for line := range strings.Lines(quarantine) {
		if !strings.HasPrefix(line, "#") {
			lines++
		}
	}
	if n := len(quarantined(quarantine)); n != lines || n > 3 {
		t.Errorf("the quarantine has %d lines with %d readable entries, at most three are allowed", lines, n)
	}
}
