package mercari

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

var (
	at     = time.Date(2037, 5, 10, 9, 0, 0, 0, time.UTC)
	scaled = tune.Defaults(tune.Profiles["Balanced"], "app")
)

// TestParametersAreTheOriginalsWithChangesByTheSpec checks that the parameters are those of the original, with the
// changes by the spec.
func TestParametersAreTheOriginalsWithChangesByTheSpec(t *testing.T) {
	if diff := cmp.Diff(Default(), New().config()); diff != "" {
		t.Errorf("without rules: %s", diff)
	}
	k := New()
	k.Rules = Rules{Min: 12, Max: 40, PreferredMax: 20, StepDown: 0.25, Cooldown: 2 * time.Hour}
	want := Default()
	want.MinimumMinReplicas, want.MaximumMinReplicas, want.MaximumMaxReplicas, want.PreferredMaxReplicas = 12, 12, 40, 20
	want.MaxStepDown, want.RestartInterval = 0.75, 2*time.Hour
	if diff := cmp.Diff(want, k.config()); diff != "" {
		t.Errorf("by the spec: %s", diff)
	}
}

// TestSinceWhenMetricsAreLost checks the time of the loss: the newest sample, or the begin of measuring if that is
// later.
// If only the autoscaler is blind, it is the present.
func TestSinceWhenMetricsAreLost(t *testing.T) {
	for _, tc := range []struct {
		reason string
		o      tune.Observed
		lost   bool
		since  time.Time
	}{
		{"a moment ago", tune.Observed{Now: at.Add(lostSlack - 1)}, false, time.Time{}},
		{"two minutes ago", tune.Observed{Now: at.Add(lostSlack)}, true, at},
		{"nobody looked before", tune.Observed{Now: at.Add(time.Hour), Since: at.Add(time.Hour - lostSlack)}, true,
			at.Add(time.Hour - lostSlack)},
		{"somebody looks now", tune.Observed{Now: at.Add(time.Hour), Since: at.Add(time.Hour)}, false, time.Time{}},
		{"blind", tune.Observed{Now: at.Add(time.Second), Stuck: true}, true, at.Add(time.Second)},
		{"blind and silent", tune.Observed{Now: at.Add(lostSlack), Stuck: true}, true, at},
	} {
		k := New()
		if k.lost(tc.o) {
			t.Errorf("%s: before the first sample metrics are lost", tc.reason)
		}
		k.newest = at
		if lost := k.lost(tc.o); lost != tc.lost || !k.formulas.LostSince.Equal(tc.since) {
			t.Errorf("%s: lost %t, since %v", tc.reason, lost, k.formulas.LostSince)
		}
	}
}

// TestLossBeforeARestartDoesNotCount checks that a loss before a restart does not count after it, because there may
// have
// been metrics in between.
func TestLossBeforeARestartDoesNotCount(t *testing.T) {
	for since, want := range map[time.Duration]time.Duration{-time.Hour: 0, 0: 0, 16 * time.Minute: 16 * time.Minute} {
		k := New()
		k.newest, k.formulas.LostSince = at.Add(20*time.Minute), at
		if !k.lost(tune.Observed{Now: at.Add(20 * time.Minute), Since: at.Add(since), Stuck: true}) || !k.formulas.LostSince.Equal(at.Add(want)) {
			t.Errorf("looked at since %s it is lost since %s", since, k.formulas.LostSince.Sub(at))
		}
	}
}

// TestFormulasSeeResourcesWithARequest checks the input of the formulas: only resources with a request, with the
// recommendation for
// each. Memory is in thousandths of a byte.
func TestFormulasSeeResourcesWithARequest(t *testing.T) {
	k := New()
	k.formulas.Config = k.config()
	k.Observe(workload.Sample{At: at, Container: "app", CPU: 300, Memory: 300 << 20, Replicas: 3},
		workload.Sample{At: at, Container: "bare", CPU: 10, Memory: 10 << 20, Replicas: 3})
	k.Rules.Least = map[string]tune.Requests{"app": {CPU: 7, Memory: 8}}
	k.Rules.Most = map[string]tune.Requests{"app": {CPU: 70, Memory: 80}}
	how := map[string]Scalings{"app": {CPU: ByReplicas, Memory: ByReplicas}, "bare": {CPU: BySize, Memory: BySize},
		"off": {CPU: Never, Memory: Never}}
	requests := map[string]tune.Requests{"app": {CPU: 1000, Memory: 1 << 30}, "bare": {}, "off": {CPU: 5, Memory: 5}}
	o := tune.Observed{Now: at, Targets: []tune.Target{{Percent: 70}, {Memory: true, Container: "app", Percent: 60},
		{Memory: true, Container: "other", Percent: 50}}}
	got := k.resources(how, scaled, o, requests)
	cpu, cpuUpper := k.vpa.CPU("app", at)
	memory, memoryUpper := k.vpa.Memory("app", at)
	want := []Resource{
		{Container: "app", Horizontal: true, Request: 1000, Target: int64(cpu), Upper: int64(cpuUpper), Limits: k.formulas.Config.CPU(7, 70),
			Utilisation: 70},
		{Container: "app", Memory: true, Horizontal: true, Request: 1000 << 30, Target: int64(1000 * memory), Upper: int64(1000 * memoryUpper),
			Limits: k.formulas.Config.Memory(8000, 80000), Utilisation: 60},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheTargetThatAResourceHas checks that a resource has the target that was set last, or else the owner's. The
// owner's
// target is the one of the container. The scaled container can also have the one of whole pods.
func TestTheTargetThatAResourceHas(t *testing.T) {
	app, side, memory := Resource{Container: "app", Horizontal: true}, Resource{Container: "side", Horizontal: true},
		Resource{Container: "app", Memory: true, Horizontal: true}
	pods, own, other := tune.Target{Percent: 70}, tune.Target{Container: "side", Percent: 60}, tune.Target{Memory: true, Percent: 50}
	for _, tc := range []struct {
		reason  string
		of      Resource
		targets []tune.Target
		want    int32
	}{
		{"whole pods", app, []tune.Target{pods, own, other}, 70},
		{"its own", side, []tune.Target{own, pods, other}, 60},
		{"whole pods are not for those that are not scaled", side, []tune.Target{pods, other}, 0},
		{"memory", memory, []tune.Target{other, pods, own}, 50},
		{"no metric", memory, []tune.Target{pods, own}, 0},
	} {
		k := New()
		if got := k.aimed(tc.of, scaled, tune.Observed{Targets: tc.targets}).Utilisation; got != tc.want {
			t.Errorf("%s: it is %d", tc.reason, got)
		}
		k.targets[tc.of.Key()] = 81
		if got := k.aimed(tc.of, scaled, tune.Observed{Targets: tc.targets}).Utilisation; got != 81 {
			t.Errorf("%s: set before to 81, it is %d", tc.reason, got)
		}
	}
}

// TestHowContainersAreScaled checks that a container without requests is not scaled. Without an autoscaler, every
// resource
// is scaled by size.
func TestHowContainersAreScaled(t *testing.T) {
	k := New()
	own := map[string]tune.Requests{"app": {CPU: 1, Memory: 1}, "bare": {}}
	got := k.scalings(scaled, tune.Observed{Own: own, Attached: true, Targets: []tune.Target{{Percent: 70}}})
	want := map[string]Scalings{"app": {CPU: ByReplicas, Memory: BySize}, "bare": {CPU: Never, Memory: Never}}
	if !maps.Equal(got, want) {
		t.Errorf("with an autoscaler %v", got)
	}
	want["app"] = Scalings{CPU: BySize, Memory: BySize}
	if got := k.scalings(scaled, tune.Observed{Own: own}); !maps.Equal(got, want) {
		t.Errorf("without one %v", got)
	}
	r := k.Decide(scaled, tune.Observed{Now: at, Own: own, Setting: tune.Setting{Requests: own}})
	if slices.ContainsFunc(r.Reasons, func(why tune.Reason) bool { return why.Of == "bare cpu" || why.Of == "bare memory" }) {
		t.Errorf("it gives reasons for what is not requested: %v", r.Reasons)
	}
}

// TestThePhaseOfATarget checks that a resource that is scaled by size is Working once it has a recommendation.
func TestThePhaseOfATarget(t *testing.T) {
	k := New()
	k.newest = at
	for target, want := range map[int64]tune.Phase{0: tune.GatheringData, 1: tune.Working} {
		if got := k.phase([]Resource{{Container: "app", Target: target}}, Decision{Mode: Working}); got != want {
			t.Errorf("with a recommendation of %d it is %s", target, got)
		}
	}
}

// TestEachNumberHasItsReasonAndValue checks the reason for each number: whether it stays or changes, and the value V.
func TestEachNumberHasItsReasonAndValue(t *testing.T) {
	k := New()
	k.formulas.Values["app/memory"], k.formulas.Values["app/cpu"] = 1000*(300<<20), 250
	key := (Resource{Container: "app"}).Key()
	k.formulas.Values[key] = 250
	resources := []Resource{{Container: "app", Request: 500}, {Container: "app", Memory: true, Request: 9}}
	for rollOut, want := range map[bool][]string{true: {"it stays: held; V is 250m", "less; V is 300 MiB"},
		false: {"it stays: held; V is 250m", "it stays until an hour after the last roll-out: less; V is 300 MiB"}} {
		r := tune.Recommendation{Unbound: true}
		k.explain(&r, scaled, resources, Decision{RollOut: rollOut, Sizes: []Sized{{Size: 500, Reason: "held"}, {Size: 8, Reason: "less"}}})
		if r.Reasons[0].Text != want[0] || r.Reasons[1].Text != want[1] || r.Reasons[0].Of != "request" || r.Reasons[1].Of != "app memory" {
			t.Errorf("it says %v", r.Reasons)
		}
	}
}

// TestTheMinimaOfADay checks that there is one minimum for each hour, from the present hour on.
func TestTheMinimaOfADay(t *testing.T) {
	k := New()
	if k.Hours(scaled, at, 0) != nil {
		t.Error("before every slot has a value there are minima")
	}
	for i := range k.formulas.Low {
		hour := int32(i)%7 + 3 // a minimum is at most 10
		for _, s := range []Slots{k.formulas.Low, k.formulas.Top} {
			s[i] = Slot{Value: hour, Updated: at}
		}
	}
	got := k.Hours(scaled, at.Add(30*time.Minute), 0)
	first := int(at.Weekday())*24 + at.Hour()
	for i, n := range got {
		if want := int(k.formulas.Low[(first+i)%len(k.formulas.Low)].Value); n != want {
			t.Errorf("hour %d has %d, want %d: %v", i, n, want, got)
		}
	}
	if len(got) != 24 {
		t.Errorf("there are %d", len(got))
	}
}

// TestValuesAreKept checks that values and targets are the same after a restart.
func TestValuesAreKept(t *testing.T) {
	k := New()
	k.formulas.Values["app/memory"] = 7
	k.targets["app"] = 66
	again, err := Restore(k.Keep())
	if err != nil || again.formulas.Values["app/memory"] != 7 || again.targets["app"] != 66 {
		t.Errorf("kept are %v and %v: %v", again.formulas.Values, again.targets, err)
	}
	empty := k.Keep()
	empty.Values, empty.Targets = nil, nil
	if again, err = Restore(empty); err != nil || again.formulas.Values == nil || again.targets == nil {
		t.Errorf("where nothing was kept there is nowhere to put it: %v", err)
	}
}

// TestSamplesOfStartingPodsAreIgnoredExceptKills checks that samples of starting pods are ignored, except for kills.
func TestSamplesOfStartingPodsAreIgnoredExceptKills(t *testing.T) {
	for kills, want := range map[int]time.Time{0: {}, 1: at} {
		k := New()
		k.Observe(workload.Sample{At: at, Container: "app", CPU: 100, Memory: 1 << 20, Replicas: 1, Starting: true, OOMKills: kills,
			MemoryLimit: 1 << 20})
		if !k.newest.Equal(want) || !k.first.Equal(want) {
			t.Errorf("with %d kills the newest sample is of %s", kills, k.newest)
		}
	}
}

// TestEmergencyGivesOnlyTheReasonOfThePhase checks that an emergency gives only the reason for the phase, because no
// request was
// decided.
func TestEmergencyGivesOnlyTheReasonOfThePhase(t *testing.T) {
	own := map[string]tune.Requests{"app": {CPU: 1000, Memory: 1 << 30}}
	for manual, want := range map[bool][]string{false: {"phase", "request", "app memory", "min", "max", "utilisation"}, true: {"phase"}} {
		k, spec := New(), scaled
		k.Observe(workload.Sample{At: at, Container: "app", CPU: 100, Memory: 1 << 20, Replicas: 1})
		spec.Manual = manual
		var got []string
		for _, why := range k.Decide(spec, tune.Observed{Now: at, Own: own, Setting: tune.Setting{Requests: own}}).Reasons {
			got = append(got, why.Of)
		}
		if !slices.Equal(got, want) {
			t.Errorf("in an emergency: %t, it says something of %q, want %q", manual, got, want)
		}
	}
}
