package replay

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

var monday = time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)

// recorded is a workload with a day and a night, a sample a minute.
func recorded(d time.Duration) Input {
	in := Input{
		Profile: "Balanced", Requests: map[string]tune.Request{"app": {CPU: 1000, Memory: 1 << 30}, "proxy": {CPU: 100}}, Scaled: "app", Scalable: true,
		Bounds: optimize.Bounds{Min: 3, Max: 100, PreferredMax: 30}, Min: 3, Max: 20, Utilisation: 70, At: monday.Add(d), Zone: time.UTC,
	}
	for at := monday; !at.After(in.At); at = at.Add(time.Minute) {
		demand := 2500 - 1500*math.Cos(2*math.Pi*at.Sub(monday).Hours()/24)
		n := math.Max(3, math.Ceil(demand/700))
		in.Samples = append(in.Samples,
			usage.Sample{At: at, Container: "app", CPU: demand / n, Memory: 400 << 20, Replicas: int(n)},
			usage.Sample{At: at, Container: "proxy", CPU: 0.02 * demand / n, Memory: 60 << 20, Replicas: int(n)})
	}
	return in
}

func run(t *testing.T, in Input) *Output {
	t.Helper()
	o, err := Run(in)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestNumbersAreThoseOfTheTuner: what a tuner in mode Auto arrives at, decision by decision.
func TestNumbersAreThoseOfTheTuner(t *testing.T) {
	in := recorded(2 * 24 * time.Hour)
	o := run(t, in)
	tuner, spec := tune.New(), tune.Defaults(optimize.Profiles["Balanced"], "app")
	set := tune.Setting{Requests: map[string]tune.Request{"app": {CPU: 1000, Memory: 1 << 30}, "proxy": {CPU: 100, Memory: 50 << 20}}, Min: 3, Max: 20, Utilisation: 70}
	for i := 0; i < len(in.Samples); i += 2 {
		tuner.Observe(in.Samples[i : i+2]...)
		n := max(in.Samples[i].Replicas, set.Min)
		set = tuner.Decide(spec, tune.Observed{Now: in.Samples[i].At, Setting: set, Replicas: n, Ready: n}).Setting
	}
	got := tune.Setting{Requests: map[string]tune.Request{}, Min: int(o.Min.Recommended), Max: int(o.Max.Recommended), Utilisation: int(o.Utilisation.Recommended)}
	for _, c := range o.Containers {
		got.Requests[c.Name] = tune.Request{CPU: c.CPU.Recommended, Memory: c.Memory.Recommended}
	}
	if diff := cmp.Diff(set, got); diff != "" {
		t.Errorf("the tuner (-) and the replay (+): %s", diff)
	}
	if o.Phase != "Working" || len(o.Hours) != 24 || o.Hours[12].Min <= o.Hours[0].Min || !o.Hours[0].From.Equal(in.At.Truncate(time.Hour)) {
		t.Errorf("it is %s, by hour %v", o.Phase, o.Hours)
	}
	if diff := cmp.Diff(o, run(t, in)); diff != "" {
		t.Errorf("the second time: %s", diff)
	}
}

// TestWhatIsLaterIsNotLookedAt, and progress goes from nothing to all.
func TestWhatIsLaterIsNotLookedAt(t *testing.T) {
	whole, half := recorded(30*time.Hour), recorded(15*time.Hour)
	whole.At = half.At
	last := 0.0
	whole.Progress = func(share float64) {
		if share <= last || share > 1 {
			t.Fatalf("progress goes from %v to %v", last, share)
		}
		last = share
	}
	if diff := cmp.Diff(run(t, half), run(t, whole)); diff != "" {
		t.Error(diff)
	}
	if last != 1 {
		t.Errorf("progress ends at %v", last)
	}
	whole.At = monday.Add(-time.Second)
	if _, err := Run(whole); err == nil {
		t.Error("before the first sample there is an answer")
	}
	whole.At, whole.Profile = half.At, "Bold"
	if _, err := Run(whole); err == nil {
		t.Error("there is a profile Bold")
	}
}

// TestEveryNumberHasAReason, in every profile, and after a minute as after a week.
func TestEveryNumberHasAReason(t *testing.T) {
	for _, profile := range []string{"Lean", "Balanced", "Safe", Original} {
		for _, d := range []time.Duration{time.Minute, time.Hour, 26 * time.Hour, 170 * time.Hour} {
			in := recorded(d)
			in.Profile = profile
			o := run(t, in)
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

// TestOriginal: with a week of slots bounds are half and twice the replicas there were; without metrics it is an emergency.
func TestOriginal(t *testing.T) {
	in := recorded(7 * 24 * time.Hour)
	in.Profile = Original
	o := run(t, in)
	if o.Phase != "Working" || o.Hours[12].Min != 3 || o.Hours[12].Max != 12 || o.Min.Recommended != 3 {
		t.Errorf("it is %s, the minimum %d, by hour %v", o.Phase, o.Min.Recommended, o.Hours)
	}
	if app := o.Containers[0]; app.CPU.Recommended >= 1000 || app.Memory.Recommended >= 1<<30 || o.Containers[1].Memory.Recommended != 0 {
		t.Errorf("requests are %+v", o.Containers)
	}
	in.At = in.At.Add(5 * time.Minute)
	if o := run(t, in); o.Phase != "Emergency" || o.Min.Recommended != o.Max.Recommended {
		t.Errorf("five minutes later it is %s, with bounds of %d and %d", o.Phase, o.Min.Recommended, o.Max.Recommended)
	}
}

// TestWithoutRequests something is recommended all the same, and without replicas their number stays.
func TestWithoutRequests(t *testing.T) {
	in := recorded(2 * time.Hour)
	in.Requests["app"] = tune.Request{}
	if o := run(t, in); o.Containers[0].CPU.Recommended < 300 || o.Containers[0].Memory.Recommended < 400<<20 {
		t.Errorf("requests are %+v", o.Containers[0])
	}
	in.Scalable = false
	if o := run(t, in); o.Then.Replicas != o.Now.Replicas {
		t.Errorf("%d replicas become %d", o.Now.Replicas, o.Then.Replicas)
	}
}
