package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// event is a line of "go test -json", as "go doc test2json" describes it.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64 // seconds
}

// SpecMark begins a line that a Ginkgo suite prints for each spec: the mark, passed or failed, seconds and the full name of the
// spec, separated by tabs.
const SpecMark = "flyball-spec"

// report collects the events of a run.
type report struct {
	out        io.Writer
	quarantine map[string]bool
	packages   map[string]*packageReport
	builds     map[string]string // the output of the compiler by import path
	rows       []string
	failed     bool // a package has failed
	unexcused  []string
}

// packageReport has the output and the tests of a package that still runs.
type packageReport struct {
	output []string
	failed []string // Go tests without subtests
	specs  []timed
	tests  []timed
}

// timed is a finished test or spec.
type timed struct {
	name    string
	seconds float64
	failed  bool
}

func newReport(out io.Writer, quarantine map[string]bool) *report {
	return &report{out: out, quarantine: quarantine, packages: map[string]*packageReport{}, builds: map[string]string{}}
}

// take adds an event.
func (r *report) take(e event) {
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] += e.Output
		return
	case "build-fail":
		return // the package that needs the build reports it
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &packageReport{}
		r.packages[e.Package] = p
	}
	p.take(e)
	if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
		r.end(e, p)
		delete(r.packages, e.Package)
	}
}

func (p *packageReport) take(e event) {
	if e.Action == "output" {
		if spec, ok := specOf(e.Output); ok {
			p.specs = append(p.specs, spec)
		} else {
			p.output = append(p.output, e.Output)
		}
	}
	if e.Test == "" || e.Action != "pass" && e.Action != "fail" {
		return
	}
	if !strings.Contains(e.Test, "/") {
		p.tests = append(p.tests, timed{e.Test, e.Elapsed, e.Action == "fail"})
	}
	if e.Action == "fail" && !strings.Contains(e.Test, "/") {
		p.failed = append(p.failed, e.Test)
	}
}

// specOf returns the spec that a line of output names after SpecMark.
func specOf(line string) (timed, bool) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(fields) != 4 || fields[0] != SpecMark {
		return timed{}, false
	}
	seconds, err := strconv.ParseFloat(fields[2], 64)
	return timed{fields[3], seconds, fields[1] == "failed"}, err == nil
}

// end prints a finished package and notes its times.
func (r *report) end(e event, p *packageReport) {
	last := "\n"
	if n := len(p.output); n > 0 {
		last = p.output[n-1] // "ok", the package and its time or "(cached)"
	}
	r.note(e, p)
	if e.Action != "fail" {
		_, _ = io.WriteString(r.out, last)
		return
	}
	r.failed = true
	_, _ = fmt.Fprintf(r.out, "%s%sFAIL\t%s\n", r.builds[e.FailedBuild], strings.Join(p.output, ""), e.Package)
	for _, name := range p.failures() {
		if r.quarantine[e.Package+" "+name] {
			_, _ = fmt.Fprintf(r.out, "QUARANTINED\t%s\t%s\n", e.Package, name)
		} else {
			r.unexcused = append(r.unexcused, e.Package+" "+name)
		}
	}
}

// failures returns the names of failed specs, or of failed tests if the package has no specs. A package that failed without
// either, for example because it was not built, has one failure without a name.
func (p *packageReport) failures() (names []string) {
	for _, s := range p.specs {
		if s.failed {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		names = p.failed
	}
	if len(names) == 0 {
		return []string{"(no test)"}
	}
	return names
}

// note adds a row with the time of a package and its three slowest specs or tests.
func (r *report) note(e event, p *packageReport) {
	all := p.specs
	if len(all) == 0 {
		all = p.tests
	}
	if len(all) == 0 {
		return
	}
	slowest := slices.SortedStableFunc(slices.Values(all), func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	row := fmt.Sprintf("%8.1f s  %s\n", e.Elapsed, e.Package)
	var parts []string
	for _, s := range slowest[:min(3, len(slowest))] {
		parts = append(parts, fmt.Sprintf("%.1f s %s", s.seconds, s.name))
	}
	r.rows = append(r.rows, strings.TrimSuffix(row, "\n")+": "+strings.Join(parts, "; ")+"\n")
}

// verdict returns nil if go test succeeded, or if all of its failures are in the quarantine.
func (r *report) verdict(err error) error {
	if err == nil || r.failed && len(r.unexcused) == 0 {
		return nil
	}
	if len(r.unexcused) == 0 {
		return err
	}
	return errors.New(strings.Join(r.unexcused, "\n  "))
}
