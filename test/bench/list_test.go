package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary run the hidden commands, as the command does.
func TestMain(m *testing.M) {
	if hidden := hiddenCommand(); hidden != nil {
		if err := hidden(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEveryFigureIsMeasured measures the whole list in its quick form, so that a figure is noticed that can no longer
// be measured.
func TestEveryFigureIsMeasured(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), options{quick: true}, &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	for _, name := range names() {
		if !strings.Contains(out.String(), "figure "+name+" ") {
			t.Errorf("%s was not printed", name)
		}
	}
}

func TestFailedPartDoesNotStopOthers(t *testing.T) {
	figure := func(name string, value float64) part {
		return part{[]string{name}, time.Minute, func(b *bench, _ context.Context) error {
			b.report.figure(name, value, "ratio")
			return nil
		}}
	}
	hangs := part{[]string{"hangs"}, time.Millisecond, func(_ *bench, ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	stays := part{[]string{"stays"}, time.Millisecond, func(*bench, context.Context) error {
		<-t.Context().Done()
		return nil
	}}
	breaks := part{[]string{"breaks"}, time.Minute, func(*bench, context.Context) error { return errors.New("broken") }}
	silent := part{[]string{"silent"}, time.Minute, func(*bench, context.Context) error { return nil }}
	var out bytes.Buffer
	b := &bench{report: &report{out: &out, log: t.Output()}, patience: time.Second}
	err := b.measureAll(t.Context(), []part{hangs, stays, breaks, silent,
		figure("edge_ratio", 1.2), figure("edge_requests_per_change", 1)})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"measure hangs: not measured within 1ms",
		"measure stays: not measured within 1ms, and not ended 1s later",
		"measure breaks: broken", "measure silent: no value for silent",
		"edge_ratio is 1.2, promised is at most 1.15",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "edge_requests_per_change") {
		t.Errorf("a promise that holds is in the error:\n%v", err)
	}
	if want := "figure edge_ratio 1.200 ratio\nfigure edge_requests_per_change 1.000 ratio\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

var (
	figureRow = regexp.MustCompile("^\\| `([a-z_0-9]+)`[^|]*\\|.*\\| ([^|]*) \\|$")
	bound     = regexp.MustCompile(`^(at most|at least) ([0-9.,]+)`)
)

func TestPromisesMatchDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, compared []string
	for line := range strings.Lines(string(text)) {
		row := figureRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil || row[2] == "" {
			continue
		}
		b := bound.FindStringSubmatch(row[2])
		if b == nil {
			t.Errorf("the promise of %s is %q; begin it with «at most» or «at least» and a number", row[1], row[2])
			continue
		}
		documented = append(documented, row[1]+" "+b[1]+" "+strings.ReplaceAll(b[2], ",", ""))
	}
	for _, p := range promises {
		compared = append(compared, p.figure+" "+p.String())
	}
	if diff := cmp.Diff(documented, compared); diff != "" {
		t.Errorf("docs (-), promises.go (+):\n%s", diff)
	}
}
