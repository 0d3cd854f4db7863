package mercari_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

var (
	// sunday is the begin of the slots of a week.
	sunday = time.Date(2037, 5, 10, 0, 0, 0, 0, time.UTC)
	own    = map[string]tune.Requests{"app": {CPU: 1000, Memory: 1 << 30}, "side": {CPU: 100, Memory: 128 << 20}}
	spec   = tune.Defaults(tune.Profiles["Balanced"], "app")
	onPods = []tune.Target{{Percent: 70}}
)

func samples(at time.Time) []workload.Sample {
	day := 1 - 0.5*math.Cos(2*math.Pi*at.Sub(sunday).Hours()/24)
	return []workload.Sample{
		{At: at, Container: "app", CPU: 500 * day, Memory: 300 << 20, Replicas: 10},
		{At: at, Container: "side", CPU: 20 * day, Memory: 60 << 20, Replicas: 10},
	}
}

// observed returns the state of a target at an instant, with ten replicas and an autoscaler. All numbers are the owner's.
func observed(at time.Time) tune.Observed {
	return tune.Observed{Now: at, Since: sunday, Setting: tune.Setting{Requests: own, Min: 5, Max: 20, Utilisation: 70}, Replicas: 10,
		Ready: 10, Own: own, Attached: true, Targets: onPods}
}

// live runs a tuner for some time and carries its results out. It returns the last result and the last input.
func live(k *mercari.Tuner, s tune.Spec, from time.Time, long time.Duration, edit func(*tune.Observed)) (tune.Recommendation,
	tune.Observed) {
	var r tune.Recommendation
	o := observed(from)
	for at := from; !at.After(from.Add(long)); at = at.Add(10 * time.Minute) {
		k.Observe(samples(at)...)
		o.Now = at
		if edit != nil {
			edit(&o)
		}
		if r = k.Decide(s, o); !s.Dry {
			o.Setting = r.Setting
		}
	}
	return r, o
}

// TestNumbersAreThoseOfTheFormulas compares each decision of the tuner with the formulas, which the test calls
// itself.
func TestNumbersAreThoseOfTheFormulas(t *testing.T) {
	var recommender mercari.Recommender
	c := mercari.Default()
	formulas := mercari.NewFormulas(c, time.UTC)
	k := mercari.New()
	o := observed(sunday)
	target, rolled, bound := int32(70), 0, 0
	for at := sunday; at.Before(sunday.Add(9 * 24 * time.Hour)); at = at.Add(10 * time.Minute) {
		k.Observe(samples(at)...)
		for _, s := range samples(at) {
			recommender.Observe(s)
		}
		o.Now = at
		var all []mercari.Resource
		for _, name := range []string{"app", "side"} {
			cpu, cpuUpper := recommender.CPU(name, at)
			memory, memoryUpper := recommender.Memory(name, at)
			r := o.Setting.Requests[name]
			all = append(all,
				mercari.Resource{Container: name, Horizontal: name == "app", Request: r.CPU, Target: int64(cpu), Upper: int64(cpuUpper),
					Limits: c.CPU(0, 0), Utilisation: target},
				mercari.Resource{Container: name, Memory: true, Request: 1000 * r.Memory, Target: int64(1000 * memory),
					Upper: int64(1000 * memoryUpper), Limits: c.Memory(0, 0)})
		}
		d := formulas.Decide(mercari.Seen{Now: at, Replicas: 10, Minimum: int32(o.Setting.Min), Resources: all})
		want := map[string]tune.Requests{"app": o.Setting.Requests["app"], "side": o.Setting.Requests["side"]}
		if d.RollOut {
			rolled++
			want["app"] = tune.Requests{CPU: d.Sizes[0].Size, Memory: d.Sizes[1].Size / 1000}
			want["side"] = tune.Requests{CPU: d.Sizes[2].Size, Memory: d.Sizes[3].Size / 1000}
		}
		got := k.Decide(spec, o)
		if diff := cmp.Diff(want, got.Setting.Requests); diff != "" {
			t.Fatalf("%s: %s", at, diff)
		}
		if got.Unbound == d.Bound {
			t.Fatalf("%s: unbound is %t", at, got.Unbound)
		}
		if d.Bound {
			bound++
			target = d.Targets[0]
			if got.Setting.Min != int(d.Bounds.Min) || got.Setting.Max != int(d.Bounds.Max) || got.Setting.Utilisation != int(target) {
				t.Fatalf("%s: %+v, want %+v and %d %%", at, got.Setting, d.Bounds, target)
			}
		}
		o.Setting = got.Setting
	}
	if rolled == 0 || bound == 0 || o.Setting.Min != 5 || o.Setting.Max != 20 || target == 70 {
		t.Errorf("after nine days %d changes, %d bounds, %+v", rolled, bound, o.Setting)
	}
}

// TestVerticalResourcesAreSizedBeforeHorizontalOnes checks that requests are sized as soon as there is a
// recommendation. Resources that are scaled by replicas
// wait until every hour of the week was seen.
func TestVerticalResourcesAreSizedBeforeHorizontalOnes(t *testing.T) {
	k := mercari.New()
	if r := k.Decide(spec, observed(sunday)); r.Phase != tune.Initializing || !cmp.Equal(r.Setting.Requests, own) {
		t.Errorf("at first it is %+v", r)
	}
	r, _ := live(k, spec, sunday, 167*time.Hour-time.Minute, nil)
	if r.Phase != tune.PartlyWorking || !r.Unbound || r.Targets != nil || r.Setting.Requests["app"].CPU != 1000 ||
		r.Setting.Requests["app"].Memory >= 1<<30 {
		t.Errorf("before the week is over it is %+v", r)
	}
	r, _ = live(k, spec, sunday.Add(167*time.Hour), 0, nil)
	if r.Phase != tune.Working || r.Unbound || !cmp.Equal(r.Targets, []tune.Target{{Container: "app", Percent: r.Setting.Utilisation}}) {
		t.Errorf("after it is %+v", r)
	}
	if hours := k.Hours(spec, sunday.Add(167*time.Hour), 0); len(hours) != 24 || hours[0] != 5 {
		t.Errorf("by hour the minima are %v", hours)
	}
}

// TestWaysOfScaling checks how the way of scaling of each container follows from the autoscaler and the spec. The
// reasons
// show the way.
func TestWaysOfScaling(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		rules   mercari.Rules
		edit    func(*tune.Observed)
		unbound bool
		off     []string
	}{
		{"a metric of whole pods is that of the scaled container", mercari.Rules{}, nil, false, nil},
		{"a metric of the other container", mercari.Rules{},
			func(o *tune.Observed) { o.Targets = []tune.Target{{Container: "side", Percent: 60}} }, false, nil},
		{"no metric of CPU or memory", mercari.Rules{}, func(o *tune.Observed) { o.Targets = nil }, true, nil},
		{"no autoscaler", mercari.Rules{}, func(o *tune.Observed) { o.Targets, o.Attached = nil, false }, true, nil},
		{"a partial policy", mercari.Rules{Asked: map[string]mercari.Scalings{"app": {CPU: mercari.ByReplicas}}}, nil, false,
			[]string{"app memory", "side cpu", "side memory"}},
		{"a policy for what there is not", mercari.Rules{Asked: map[string]mercari.Scalings{"none": {CPU: mercari.BySize}}}, nil, false, nil},
		{"all by size", mercari.Rules{Asked: map[string]mercari.Scalings{"app": {CPU: mercari.BySize, Memory: mercari.BySize},
			"side": {CPU: mercari.BySize, Memory: mercari.BySize}}}, nil, true, nil},
	} {
		k := mercari.New()
		k.Rules = tc.rules
		r, _ := live(k, spec, sunday, 8*24*time.Hour, tc.edit)
		if r.Unbound != tc.unbound {
			t.Errorf("%s: unbound is %t", tc.reason, r.Unbound)
		}
		for _, of := range []string{"app memory", "side cpu", "side memory"} {
			off := false
			for _, why := range r.Reasons {
				off = off || why.Of == of && strings.Contains(why.Text, "does not name")
			}
			want := false
			for _, name := range tc.off {
				want = want || name == of
			}
			if off != want {
				t.Errorf("%s: %s is left alone: %t", tc.reason, of, off)
			}
		}
	}
}

// TestSpecChangesTheOriginalsParameters checks that the spec changes the parameters of the original.
func TestSpecChangesTheOriginalsParameters(t *testing.T) {
	k := mercari.New()
	k.Rules = mercari.Rules{Min: 12, Max: 15, PreferredMax: 14, StepDown: 0.5, Cooldown: 24 * time.Hour,
		Least: map[string]tune.Requests{"app": {Memory: 600 << 20}}}
	r, _ := live(k, spec, sunday, 20*time.Minute, nil)
	if got := r.Setting.Requests; got["app"].Memory != 600<<20 || got["side"].CPU != 50 {
		t.Errorf("after one step of half at most it is %v", got)
	}
	if r, _ = live(k, spec, sunday.Add(30*time.Minute), 8*24*time.Hour, nil); r.Setting.Min != 12 || r.Setting.Max != 15 {
		t.Errorf("the bounds are %d and %d", r.Setting.Min, r.Setting.Max)
	}
	k.Rules = mercari.Rules{Max: 2}
	if r, _ = live(k, spec, sunday.Add(9*24*time.Hour), 0, nil); r.Setting.Min != 2 || r.Setting.Max != 2 {
		t.Errorf("a maximum below the least minimum gives %d and %d", r.Setting.Min, r.Setting.Max)
	}
}

// TestAnOwnersEditWaits checks that after an edit by the owner, requests fall only after the cooldown.
func TestAnOwnersEditWaits(t *testing.T) {
	k := mercari.New()
	_, o := live(k, spec, sunday, 3*time.Hour, nil)
	edited := sunday.Add(3 * time.Hour).Add(time.Minute)
	o.Now, o.Changed, o.Setting = edited, true, tune.Setting{Requests: own, Min: 5, Max: 20, Utilisation: 70}
	if r := k.Decide(spec, o); !cmp.Equal(r.Setting.Requests, own) {
		t.Errorf("at once it takes away: %v", r.Setting.Requests)
	}
	o.Now, o.Changed = edited.Add(time.Hour), false
	k.Observe(samples(o.Now)...)
	if r := k.Decide(spec, o); r.Setting.Requests["app"].Memory >= 1<<30 {
		t.Errorf("after an hour it is %v", r.Setting.Requests)
	}
}

// TestDryRunIsOneStepFromPresentNumbers checks that a recommendation that is not carried out is always one step from
// the present
// values. Such steps never add up.
func TestDryRunIsOneStepFromPresentNumbers(t *testing.T) {
	dry := spec
	dry.Dry = true
	r, _ := live(mercari.New(), dry, sunday, 9*24*time.Hour, nil)
	if r.Setting.Requests["app"].Memory != int64(float64(1<<30)*0.8*1000)/1000 || r.Setting.Utilisation < 65 || r.Setting.Utilisation > 75 {
		t.Errorf("it recommends %+v", r.Setting)
	}
}

// TestLostMetricsBlindAutoscalerAndSpecBeginAnEmergency checks the three reasons for an emergency: lost metrics for
// five minutes, a blind autoscaler, and the
// spec.
func TestLostMetricsBlindAutoscalerAndSpecBeginAnEmergency(t *testing.T) {
	for name, edit := range map[string]func(*tune.Spec, *tune.Observed){
		"silence":    func(_ *tune.Spec, o *tune.Observed) { o.Now = o.Now.Add(5 * time.Minute) },
		"the spec":   func(s *tune.Spec, _ *tune.Observed) { s.Manual = true },
		"first look": func(_ *tune.Spec, o *tune.Observed) { o.Now, o.Since = o.Now.Add(time.Hour), o.Now.Add(55*time.Minute) },
	} {
		k := mercari.New()
		_, o := live(k, spec, sunday, 8*24*time.Hour, nil)
		s := spec
		before := o.Setting.Requests
		edit(&s, &o)
		if r := k.Decide(s, o); r.Phase != tune.Emergency || r.Setting.Min != 20 || r.Setting.Max != 20 ||
			!cmp.Equal(r.Setting.Requests, before) {
			t.Errorf("%s: it is %+v", name, r)
		}
	}
	k := mercari.New()
	_, o := live(k, spec, sunday, 8*24*time.Hour, nil)
	o.Stuck = true
	for i, want := range []tune.Phase{tune.Working, tune.Emergency} {
		o.Now = o.Now.Add(time.Duration(i) * 5 * time.Minute)
		k.Observe(samples(o.Now)...)
		if r := k.Decide(spec, o); r.Phase != want {
			t.Errorf("blind for %d times five minutes it is %s", i, r.Phase)
		}
	}
	o.Stuck, o.Now = false, o.Now.Add(time.Minute)
	k.Observe(samples(o.Now)...)
	o.Setting.Min = 20
	if r := k.Decide(spec, o); r.Phase != tune.BackToNormal || r.Setting.Min != 19 {
		t.Errorf("back it is %+v", r)
	}
}

// TestAnEmergencyBeforeTheWeekIsFull checks that such an emergency ends, and that the slots of the week are filled
// afterwards. Before the phase Working, lost metrics are no reason for an emergency.
func TestAnEmergencyBeforeTheWeekIsFull(t *testing.T) {
	for name, disturb := range map[string]func(k *mercari.Tuner, o *tune.Observed) tune.Phase{
		"the spec": func(k *mercari.Tuner, o *tune.Observed) tune.Phase {
			manual := spec
			manual.Manual = true
			return k.Decide(manual, *o).Phase
		},
		"silence": func(k *mercari.Tuner, o *tune.Observed) tune.Phase {
			o.Now = o.Now.Add(time.Hour)
			return k.Decide(spec, *o).Phase
		},
	} {
		k := mercari.New()
		_, o := live(k, spec, sunday, 3*24*time.Hour, nil)
		want := tune.PartlyWorking
		if name == "the spec" {
			want = tune.Emergency
		}
		if got := disturb(k, &o); got != want {
			t.Fatalf("%s: on the third day it is %s, want %s", name, got, want)
		}
		if r, _ := live(k, spec, o.Now.Add(10*time.Minute), 0, nil); r.Phase != tune.PartlyWorking || !r.Unbound {
			t.Errorf("%s: after it there is %+v", name, r)
		}
		if r, _ := live(k, spec, o.Now.Add(20*time.Minute), 7*24*time.Hour, nil); r.Phase != tune.Working || r.Unbound {
			t.Errorf("%s: a week later it is %s, unbound %t", name, r.Phase, r.Unbound)
		}
	}
}

// TestOnTheWayBackMetricsThatAreLostAreNoEmergency checks that metrics lost on the way back begin no emergency, as
// in the
// original. Once the way back has ended, they begin one.
func TestOnTheWayBackMetricsThatAreLostAreNoEmergency(t *testing.T) {
	k := mercari.New()
	_, o := live(k, spec, sunday, 8*24*time.Hour, nil)
	manual := spec
	manual.Manual = true
	o.Setting = k.Decide(manual, o).Setting
	var got []tune.Phase
	for minute := range 40 {
		o.Now = o.Now.Add(time.Minute)
		if minute == 0 {
			k.Observe(samples(o.Now)...)
		}
		r := k.Decide(spec, o)
		if len(got) == 0 || got[len(got)-1] != r.Phase {
			got = append(got, r.Phase)
		}
		o.Setting = r.Setting
	}
	if want := []tune.Phase{tune.BackToNormal, tune.Working, tune.Emergency}; !slices.Equal(got, want) {
		t.Errorf("without metrics on the way back it is %v, want %v", got, want)
	}
}

// TestARestartChangesNothing checks that restored state decides like the old state. Damaged state is refused.
func TestARestartChangesNothing(t *testing.T) {
	k := mercari.New()
	_, o := live(k, spec, sunday, 8*24*time.Hour+50*time.Minute, nil)
	raw, err := json.Marshal(k.Keep())
	if err != nil {
		t.Fatal(err)
	}
	var kept mercari.Kept
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	again, err := mercari.Restore(&kept)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		o.Now = o.Now.Add(10 * time.Minute)
		k.Observe(samples(o.Now)...)
		again.Observe(samples(o.Now)...)
		a, b := k.Decide(spec, o), again.Decide(spec, o)
		if diff := cmp.Diff(a.Setting, b.Setting); diff != "" || a.Phase != b.Phase {
			t.Fatalf("%s: %s", o.Now, diff)
		}
		o.Setting = a.Setting
	}
	short := kept
	short.Low = short.Low[1:]
	if _, err := mercari.Restore(&short); err == nil {
		t.Error("slots of another length are accepted")
	}
	kept.VPA.Containers = map[string]mercari.KeptContainer{"app": {CPU: []byte("nonsense")}}
	if _, err := mercari.Restore(&kept); err == nil {
		t.Error("a damaged histogram is accepted")
	}
}
