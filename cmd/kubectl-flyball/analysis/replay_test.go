package analysis

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

var firstMonday = time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)

// tunerOf returns a compiled Tortoise with a profile.
func tunerOf(t *testing.T, profile string) policy.Tuner {
	t.Helper()
	tuner, errs := tortoise.NewTuner(v1alpha1.TortoiseRules{Profile: v1alpha1.TortoiseProfile(profile)})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return tuner
}

// recorded returns an input with a workload whose usage differs by day and night, with one sample a minute.
func recorded(t *testing.T, profile string, d time.Duration) ReplayInput {
	t.Helper()
	low, top := int64(3), int64(20)
	in := ReplayInput{
		Policy: tunerOf(t, profile), Requests: map[string]tune.Requests{"app": {CPU: 1000, Memory: 1 << 30}, "proxy": {CPU: 100}}, Scaled: "app",
		Autoscaler: &policy.SeenAutoscaler{Bounds: workload.Bounds{Min: &low, Max: &top},
			Utilisation: []workload.Utilisation{{Container: "app", Resource: workload.CPU, Percent: 70}}},
		Bounds: tune.Bounds{Min: 3, Max: 100, PreferredMax: 30}, At: firstMonday.Add(d),
	}
	for at := firstMonday; !at.After(in.At); at = at.Add(time.Minute) {
		demand := 2500 - 1500*math.Cos(2*math.Pi*at.Sub(firstMonday).Hours()/24)
		n := math.Max(3, math.Ceil(demand/700))
		in.Samples = append(in.Samples,
			workload.Sample{At: at, Container: "app", CPU: demand / n, Memory: 400 << 20, Replicas: int(n)},
			workload.Sample{At: at, Container: "proxy", CPU: 0.02 * demand / n, Memory: 60 << 20, Replicas: int(n)})
	}
	return in
}

func replayed(t *testing.T, in ReplayInput) *Replayed {
	t.Helper()
	o, err := Replay(in)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestNumbersAreThoseOfTheManager checks that the numbers equal the final values of the manager's learner, decision
// by
// decision.
func TestNumbersAreThoseOfTheManager(t *testing.T) {
	in := recorded(t, "Balanced", 2*24*time.Hour)
	o := replayed(t, in)
	learner, err := in.Policy.NewLearner(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := policy.Seen{Since: firstMonday, Autoscaler: in.Autoscaler, Own: workload.Allocations{
		{Component: "app", Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 1 << 30}},
		{Component: "proxy", Requests: workload.Requests{MilliCPU: 100, MemoryBytes: 50 << 20}},
	}}
	var found policy.Found
	for i := 0; i < len(in.Samples); i += 2 {
		learner.Observe(in.Samples[i], in.Samples[i+1])
		seen.Now, seen.Replicas = in.Samples[i].At, in.Samples[i].Replicas
		if a := found.Report.Autoscaler; a != nil {
			seen.Replicas = max(seen.Replicas, int(a.Min.Recommended))
		}
		seen.Ready = seen.Replicas
		found = learner.Decide(seen)
	}
	st := found.Report
	if o.Min.Recommended != int64(st.Autoscaler.Min.Recommended) || o.Max.Recommended != int64(st.Autoscaler.Max.Recommended) ||
		o.Utilisation.Recommended != int64(st.Autoscaler.Utilisation.Recommended) {
		t.Errorf("the autoscaler has %+v, %+v and %+v, and the manager has %+v", o.Min, o.Max, o.Utilisation, st.Autoscaler)
	}
	for i, c := range o.Containers {
		if c.CPU.Recommended != st.Containers[i].CPU.Recommended.MilliValue() ||
			c.Memory.Recommended != st.Containers[i].Memory.Recommended.Value() {
			t.Errorf("%s has %+v, and the manager has %+v", c.Name, c, st.Containers[i])
		}
	}
	if o.Containers[0].CPU.Recommended >= 1000 || o.Containers[0].Memory.Recommended >= 1<<30 {
		t.Errorf("nothing is recommended: %+v", o.Containers[0])
	}
	if o.Phase != "Working" || len(o.Hours) != 24 || int64(o.Hours[0].Min) != o.Min.Recommended ||
		!o.Hours[0].From.Equal(in.At.Truncate(time.Hour)) {
		t.Errorf("it is %s, by hour %v", o.Phase, o.Hours)
	}
	if diff := cmp.Diff(o, replayed(t, in)); diff != "" {
		t.Errorf("the second time: %s", diff)
	}
}

// TestReplayIgnoresLaterSamples checks that samples after At change nothing, and that the progress goes from 0 to 1.
func TestReplayIgnoresLaterSamples(t *testing.T) {
	whole, half := recorded(t, "Balanced", 30*time.Hour), recorded(t, "Balanced", 15*time.Hour)
	whole.At = half.At
	last := 0.0
	whole.Progress = func(share float64) {
		if share <= last || share > 1 {
			t.Fatalf("progress goes from %v to %v", last, share)
		}
		last = share
	}
	if diff := cmp.Diff(replayed(t, half), replayed(t, whole)); diff != "" {
		t.Error(diff)
	}
	if last != 1 {
		t.Errorf("progress ends at %v", last)
	}
	whole.At, whole.Progress = firstMonday.Add(-time.Second), nil
	if _, err := Replay(whole); err == nil {
		t.Error("before the first sample there is an answer")
	}
	whole.At, whole.Requests = half.At, map[string]tune.Requests{}
	if _, err := Replay(whole); err == nil || !strings.Contains(err.Error(), "no container requests CPU") {
		t.Errorf("without containers the error is %v", err)
	}
}

// TestEveryNumberHasAReason checks that every number has a reason, in every profile, after a minute and after a week.
func TestEveryNumberHasAReason(t *testing.T) {
	for _, profile := range []string{"Lean", "Balanced", "Safe", mercari.Profile} {
		for _, d := range []time.Duration{time.Minute, time.Hour, 26 * time.Hour, 170 * time.Hour} {
			o := replayed(t, recorded(t, profile, d))
			numbers := map[string]Number{"min": o.Min, "max": o.Max, "utilisation": o.Utilisation}
			for _, c := range o.Containers {
				numbers[c.Name+" cpu"], numbers[c.Name+" memory"] = c.CPU, c.Memory
			}
			for name, n := range numbers {
				if len(n.Reasons) == 0 || strings.Join(n.Reasons, "") == "" || n.Own != 0 && n.Recommended == 0 {
					t.Errorf("%s after %s: %s is %+v", profile, d, name, n)
				}
			}
			if o.Phase == "" || o.PhaseReason == "" || o.Then.Replicas < 1 || o.Now.CPU == 0 {
				t.Errorf("%s after %s: %+v", profile, d, o)
			}
		}
	}
}

// TestReplayOfTheOriginalProfile checks the profile of the original Tortoise. With a week of history the bounds are
// half and twice the
// observed replicas. Without metrics there is an emergency.
func TestReplayOfTheOriginalProfile(t *testing.T) {
	in := recorded(t, mercari.Profile, 7*24*time.Hour)
	o := replayed(t, in)
	if o.Phase != "Working" || o.Hours[12].Min != 3 || o.Min.Recommended != 3 || o.Max.Recommended != 6 {
		t.Errorf("it is %s, the minimum %d, by hour %v", o.Phase, o.Min.Recommended, o.Hours)
	}
	if app := o.Containers[0]; app.CPU.Recommended >= 1000 || app.Memory.Recommended >= 1<<30 {
		t.Errorf("requests are %+v", o.Containers)
	}
	in.At = in.At.Add(5 * time.Minute)
	if o := replayed(t, in); o.Phase != "Emergency" || o.Min.Recommended != o.Max.Recommended {
		t.Errorf("five minutes later it is %s, with bounds of %d and %d", o.Phase, o.Min.Recommended, o.Max.Recommended)
	}
}

// TestWithoutRequests checks that requests are recommended although the owner has set none, and that a workload
// without
// replicas keeps their number.
func TestWithoutRequests(t *testing.T) {
	in := recorded(t, "Balanced", 2*time.Hour)
	in.Requests["app"] = tune.Requests{}
	if o := replayed(t, in); o.Containers[0].CPU.Recommended < 300 || o.Containers[0].Memory.Recommended < 400<<20 {
		t.Errorf("requests are %+v", o.Containers[0])
	}
	in.Autoscaler = nil
	if o := replayed(t, in); o.Then.Replicas != o.Now.Replicas {
		t.Errorf("%d replicas become %d", o.Now.Replicas, o.Then.Replicas)
	}
}

// TestNumbersAgree checks that the present minimum equals the minimum of the present hour, in every profile.
func TestNumbersAgree(t *testing.T) {
	for _, profile := range []string{"Lean", "Balanced", "Safe"} {
		for _, at := range []time.Duration{30 * time.Hour, 33*time.Hour + 40*time.Minute, 40*time.Hour + 59*time.Minute} {
			if o := replayed(t, recorded(t, profile, at)); len(o.Hours) == 0 || int64(o.Hours[0].Min) != o.Min.Recommended {
				t.Errorf("%s after %s: the minimum now is %d, by hour %v", profile, at, o.Min.Recommended, o.Hours)
			}
		}
	}
}

// TestAtTheBorder checks that the recommendation at the border equals the recommendation from a history that ends
// there.
func TestAtTheBorder(t *testing.T) {
	in := recorded(t, "Balanced", 40*time.Hour)
	in.Border = firstMonday.Add(30 * time.Hour)
	o := replayed(t, in)
	want := replayed(t, recorded(t, "Balanced", 30*time.Hour-time.Minute))
	got := o.Earlier
	if got == nil || !cmp.Equal(got.Containers, want.Containers) || !cmp.Equal(got.Hours, want.Hours) || !cmp.Equal(got.Min, want.Min) ||
		!cmp.Equal(got.Max, want.Max) || !cmp.Equal(got.Utilisation, want.Utilisation) {
		t.Errorf("at the border there is %+v, want %+v", got, want)
	}
	in.Border = time.Time{}
	if replayed(t, in).Earlier != nil {
		t.Error("without a border there is something")
	}
}
