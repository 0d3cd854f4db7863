package pipeline_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

func step(name string, run func(*pipeline.Frame) error) pipeline.Step {
	return pipeline.Step{Name: name, Run: run}
}

func says(name string) pipeline.Step {
	return step(name, func(f *pipeline.Frame) error {
		f.Sayf("%s at %d", name, f.Input.Now.Hour())
		f.Decision.Intents = append(f.Decision.Intents, workload.Intent{Reason: name})
		return nil
	})
}

func TestPipelineRunsItsSteps(t *testing.T) {
	last := step("last", func(f *pipeline.Frame) error { f.Done = true; return nil })
	broken := step("broken", func(f *pipeline.Frame) error {
		f.Decision.WakeAt(start)
		return errors.New("no idea")
	})
	for _, test := range []struct {
		reason  string
		steps   pipeline.Pipeline
		intents []string
		trace   string
		err     string
	}{
		{"no steps", nil, nil, "", ""},
		{"in order", pipeline.Pipeline{says("a"), says("b")}, []string{"a", "b"}, "a: a at 20; b: b at 20", ""},
		{"until one is done", pipeline.Pipeline{says("a"), last, says("b")}, []string{"a"}, "a: a at 20", ""},
		{"an error leaves nothing", pipeline.Pipeline{says("a"), broken, says("b")}, nil, "a: a at 20", "step broken: no idea"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			for _, trace := range []*pipeline.Trace{nil, {}} {
				d, err := test.steps.Run(&pipeline.Input{Now: start}, trace)
				var got []string
				for _, in := range d.Intents {
					got = append(got, in.Reason)
				}
				if diff := cmp.Diff(test.intents, got); diff != "" || !d.Wake.IsZero() {
					t.Errorf("%s, wake %s", diff, d.Wake)
				}
				if (err == nil) != (test.err == "") || err != nil && err.Error() != test.err {
					t.Errorf("error %v, want %q", err, test.err)
				}
				if trace != nil && trace.String() != test.trace {
					t.Errorf("trace %q, want %q", trace.String(), test.trace)
				}
			}
		})
	}
	if got := (*pipeline.Trace)(nil).String(); got != "" {
		t.Errorf("no trace says %q", got)
	}
}

// A step asks whether a trace is recorded before it computes texts only for the trace.
func TestTraceHasEachStep(t *testing.T) {
	for _, trace := range []*pipeline.Trace{nil, {}} {
		var tracing bool
		if _, err := (pipeline.Pipeline{step("a", func(f *pipeline.Frame) error { tracing = f.Tracing(); return nil })}).Run(&pipeline.Input{},
			trace); err != nil {
			t.Fatal(err)
		}
		if tracing != (trace != nil) {
			t.Errorf("tracing %t with trace %v", tracing, trace)
		}
	}
}

func TestWakeAt(t *testing.T) {
	hour := func(h int) time.Time { return start.Add(time.Duration(h) * time.Hour) }
	for _, test := range []struct {
		at   []time.Time
		want time.Time
	}{
		{nil, time.Time{}},
		{[]time.Time{{}}, time.Time{}},
		{[]time.Time{hour(1)}, hour(1)},
		{[]time.Time{hour(2), hour(1), hour(3)}, hour(1)},
		{[]time.Time{hour(2), {}}, hour(2)},
	} {
		var d pipeline.Decision
		for _, at := range test.at {
			d.WakeAt(at)
		}
		if !d.Wake.Equal(test.want) {
			t.Errorf("%v: wakes at %s, want %s", test.at, d.Wake, test.want)
		}
	}
}
