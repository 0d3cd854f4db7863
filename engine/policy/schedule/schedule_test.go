package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// monday is a Monday, 20:00 UTC.
var (
	monday = time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	id     = workload.Policy{Kind: schedule.Kind, Namespace: "shop", Name: "nights"}
)

func calendars(name string) (timeline.Timeline, bool) {
	if name != "holidays" {
		return timeline.Timeline{}, false
	}
	c, errs := times.Calendar(name, v1alpha1.CalendarSpec{Dates: []v1alpha1.CalendarDate{{Date: "2026-03-03"}}}, times.Sources{},
		field.NewPath("spec"))
	return c.Days, len(errs) == 0
}

func compile(rules v1alpha1.ScheduleRules) (*policy.Policy, field.ErrorList) {
	return schedule.Compile(&v1alpha1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"},
		Spec:       v1alpha1.ScheduleSpec{ScheduleRules: rules},
	}, schedule.Context{Calendars: calendars})
}

// nights sleeps from 20:00 to 08:00.
func nights(change ...func(*v1alpha1.ScheduleRules)) v1alpha1.ScheduleRules {
	rules := v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *", Priority: 7}
	for _, c := range change {
		c(&rules)
	}
	return rules
}

func target() workload.Observed {
	return workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 4}}}
}

func TestScheduleDecidesByWindowsAndPairs(t *testing.T) {
	two, half := int64(2), int32(50)
	low, hold := int64(1), true
	five, unlimited := int64(5), int64(0)
	awake := func(since time.Time) []workload.Intent {
		return []workload.Intent{{By: id, Class: workload.ClassAwake, Priority: 7, Since: since}}
	}
	asleep := func(change func(*workload.Intent)) []workload.Intent {
		in := workload.Intent{By: id, Class: workload.ClassSleep, Priority: 7, Since: monday, Size: &workload.Size{Mode: workload.SizeSleep}}
		if change != nil {
			in.Size = nil
			change(&in)
		}
		return []workload.Intent{in}
	}
	as := func(a v1alpha1.AsleepAs) func(*v1alpha1.ScheduleRules) {
		return func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &a }
	}
	const awakeEffect = v1alpha1.OverrideAwake
	order := func(effect v1alpha1.OverrideEffect, hours int, policies ...string) pipeline.Override {
		return pipeline.Override{Effect: effect, Since: monday, Until: monday.Add(time.Duration(hours) * time.Hour), Policies: policies}
	}
	ordered := func(o pipeline.Override) pipeline.Input {
		return pipeline.Input{Now: monday, Overrides: []pipeline.Override{o}}
	}
	bounded := func(longest v1alpha1.Duration, effects ...v1alpha1.OverrideEffect) func(*v1alpha1.ScheduleRules) {
		return func(r *v1alpha1.ScheduleRules) {
			r.Overrides = &v1alpha1.OverrideBounds{MaxDuration: longest, Effects: effects}
		}
	}
	tests := []struct {
		reason string
		rules  v1alpha1.ScheduleRules
		in     pipeline.Input
		want   []workload.Intent
		wake   time.Time
	}{
		{reason: "awake by day, until the evening", rules: nights(), in: pipeline.Input{Now: monday.Add(-time.Hour)},
			want: awake(monday.Add(-12 * time.Hour)), wake: monday},
		{reason: "asleep from the transition on", rules: nights(), in: pipeline.Input{Now: monday}, want: asleep(nil),
			wake: monday.Add(12 * time.Hour)},
		{reason: "enforced where asked", rules: nights(func(r *v1alpha1.ScheduleRules) { r.OnManualChange = v1alpha1.ManualEnforce }),
			in: pipeline.Input{Now: monday}, wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) { in.Enforce, in.Size = true, &workload.Size{Mode: workload.SizeSleep} })},
		{reason: "at most so many", rules: nights(as(v1alpha1.AsleepAs{Replicas: &two})), in: pipeline.Input{Now: monday},
			wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) {
				in.Size = &workload.Size{Mode: workload.SizeAtMost, Replicas: 2, Capacity: 2}
			})},
		{reason: "a share", rules: nights(as(v1alpha1.AsleepAs{Percent: &half})), in: pipeline.Input{Now: monday},
			wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) {
				in.Size = &workload.Size{Mode: workload.SizePercent, Percent: 50, Capacity: 2}
			})},
		{reason: "bounds", rules: nights(as(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: &low, Max: &two}})),
			in: pipeline.Input{Now: monday}, wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) { in.Min, in.Max = &low, &two })},
		{reason: "bounds above the owner's, which are never raised",
			rules: nights(as(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: &two, Max: &five}})),
			in:    pipeline.Input{Now: monday, Target: workload.Observed{Bounds: workload.Bounds{Min: &low, Max: &two}}},
			wake:  monday.Add(12 * time.Hour),
			want:  asleep(func(in *workload.Intent) { in.Min, in.Max = &low, &two })},
		{reason: "bounds where the owner has no limit", rules: nights(as(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Max: &five}})),
			in:   pipeline.Input{Now: monday, Target: workload.Observed{Bounds: workload.Bounds{Min: &low, Max: &unlimited}}},
			wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) { in.Max = &five })},
		{reason: "held", rules: nights(as(v1alpha1.AsleepAs{Hold: &hold})), in: pipeline.Input{Now: monday}, wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) { in.Hold = true })},
		{reason: "annotated", rules: nights(as(v1alpha1.AsleepAs{Annotations: map[string]string{"a": "b"}})), in: pipeline.Input{Now: monday},
			wake: monday.Add(12 * time.Hour),
			want: asleep(func(in *workload.Intent) { in.Annotations = map[string]string{"a": "b"} })},
		{reason: "a suspended policy keeps what it has set, and never looks at the clock",
			rules: nights(func(r *v1alpha1.ScheduleRules) { r.Suspend = true }),
			in:    pipeline.Input{Now: monday}, want: []workload.Intent{{By: id, Class: workload.ClassKeep}}},
		{reason: "an Override to stay awake", rules: nights(), in: ordered(order(awakeEffect, 2)), wake: monday.Add(2 * time.Hour)},
		{reason: "an Override that names another schedule", rules: nights(), in: ordered(order(awakeEffect, 2, "office")), want: asleep(nil),
			wake: monday.Add(12 * time.Hour)},
		{reason: "an Override beyond the schedule's limit", rules: nights(bounded("1h")), in: ordered(order(awakeEffect, 2)),
			wake: monday.Add(time.Hour)},
		{reason: "an Override whose limit has passed", rules: nights(bounded("30m")), wake: monday.Add(12 * time.Hour), want: asleep(nil),
			in: pipeline.Input{Now: monday.Add(time.Hour), Overrides: []pipeline.Override{order(awakeEffect, 2)}}},
		{reason: "an effect to which the schedule does not yield", rules: nights(bounded("", v1alpha1.OverrideHold)),
			in: ordered(order(awakeEffect, 2)), want: asleep(nil), wake: monday.Add(12 * time.Hour)},
		{reason: "a calendar's day asleep", rules: nights(func(r *v1alpha1.ScheduleRules) {
			r.Calendars = []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAsleep}}
		}), in: pipeline.Input{Now: monday.Add(16 * time.Hour)}, want: asleep(nil), wake: monday.Add(36 * time.Hour)},
		{reason: "a calendar's day awake", rules: nights(func(r *v1alpha1.ScheduleRules) {
			r.Calendars = []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAwake}}
		}), in: pipeline.Input{Now: monday.Add(5 * time.Hour)}, want: awake(monday.Add(4 * time.Hour)), wake: monday.Add(28 * time.Hour)},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			p, errs := compile(tc.rules)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if len(tc.in.Target.Annotations) == 0 {
				bounds := tc.in.Target.Bounds
				tc.in.Target = target()
				tc.in.Target.Bounds = bounds
			}
			var trace pipeline.Trace
			d, err := p.Pipeline.Run(&tc.in, &trace)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pipeline.Decision{Intents: tc.want, Wake: tc.wake}, d); diff != "" {
				t.Errorf("decision (-want +got):\n%s\ntrace: %s", diff, trace.String())
			}
			if len(trace.Lines) == 0 {
				t.Error("the trace says nothing")
			}
		})
	}
}

// A Job created since the schedule fell asleep runs on until the next night. Older Jobs sleep, and so does every object
// that does not end by itself.
func TestJobsMadeAtNight(t *testing.T) {
	always := nights(func(r *v1alpha1.ScheduleRules) {
		r.Upscale, r.Downscale, r.Asleep = "", "", []v1alpha1.Window{{From: "00:00", To: "24:00"}}
	})
	at := monday.Add
	for _, tc := range []struct {
		reason    string
		rules     v1alpha1.ScheduleRules
		now, made time.Time
		endless   bool
		asleep    bool
	}{
		{reason: "made by day", rules: nights(), now: at(time.Hour), made: at(-time.Hour), asleep: true},
		{reason: "made at the second at which the night begins", rules: nights(), now: at(time.Hour), made: monday, asleep: true},
		{reason: "made at night", rules: nights(), now: at(time.Hour), made: at(time.Second)},
		{reason: "made at night, by a clock that is ahead", rules: nights(), now: at(time.Hour), made: at(time.Hour + time.Minute)},
		{reason: "of an age that cannot be", rules: nights(), now: at(time.Hour), made: at(1000 * time.Hour), asleep: true},
		{reason: "of no known age", rules: nights(), now: at(time.Hour), asleep: true},
		{reason: "made last night", rules: nights(), now: at(25 * time.Hour), made: at(time.Hour), asleep: true},
		{reason: "made at night, and does not end by itself", rules: nights(), now: at(time.Hour), made: at(time.Second), endless: true,
			asleep: true},
		{reason: "older than a schedule that is never awake", rules: always, now: at(time.Hour), made: at(-49 * time.Hour), asleep: true},
		{reason: "younger than a schedule that is never awake", rules: always, now: at(time.Hour), made: at(-47 * time.Hour)},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights",
				CreationTimestamp: metav1.NewTime(at(-48 * time.Hour))}}
			s.Spec.ScheduleRules = tc.rules
			p, errs := schedule.Compile(s, schedule.Context{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			var trace pipeline.Trace
			d, err := p.Pipeline.Run(&pipeline.Input{Now: tc.now, Target: workload.Observed{CanSuspend: true, RunsToCompletion: !tc.endless,
				Created: tc.made}}, &trace)
			if err != nil {
				t.Fatal(err)
			}
			if asleep := len(d.Intents) == 1 && d.Intents[0].Class == workload.ClassSleep; asleep != tc.asleep || !asleep && len(d.Intents) > 0 {
				t.Errorf("asks %v; want asleep: %t, and nothing otherwise\ntrace: %s", d.Intents, tc.asleep, trace.String())
			}
			if left := strings.Contains(trace.String(), "left alone until the next night"); left == tc.asleep {
				t.Errorf("trace: %s", trace.String())
			}
		})
	}
}

func TestStateHasTheNextTransition(t *testing.T) {
	p, errs := compile(nights())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := p.State(monday)
	want := policy.Summary{Name: "Asleep", Asleep: true, Since: monday, Next: monday.Add(12 * time.Hour),
		Message: "asleep since 2026-03-02T20:00:00Z (downscale), next transition 2026-03-03T08:00:00Z"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Keys that only look like reserved keys are allowed.
func TestKeysSimilarToReservedKeysAreAllowed(t *testing.T) {
	for _, key := range []string{"example.com/a", "flyball.dev", "k8s.io", "notk8s.io/a", "myflyball.dev/a", "kubernetes.io.example.com/a",
		"cluster.x-k8s.io/paused", "a"} {
		if _, errs := compile(nights(func(r *v1alpha1.ScheduleRules) {
			r.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{key: "x"}}
		})); len(errs) > 0 {
			t.Errorf("%s: %v", key, errs)
		}
	}
}

func TestErrorsNameTheField(t *testing.T) {
	negative, many := int64(-1), int32(101)
	three, two := int64(3), int64(2)
	no := false
	with := func(change func(*v1alpha1.ScheduleRules)) v1alpha1.ScheduleRules { return nights(change) }
	as := func(a v1alpha1.AsleepAs) v1alpha1.ScheduleRules {
		return with(func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &a })
	}
	windows := func(w v1alpha1.Window) v1alpha1.ScheduleRules {
		return v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{w}}
	}
	tests := []struct {
		reason string
		rules  v1alpha1.ScheduleRules
		want   []string
	}{
		{"unknown zone", with(func(r *v1alpha1.ScheduleRules) { r.TimeZone = "Europe/Nowhere" }), []string{"spec.timeZone"}},
		{"the machine's zone", with(func(r *v1alpha1.ScheduleRules) { r.TimeZone = "Local" }), []string{"spec.timeZone"}},
		{"overrides for no time", with(func(r *v1alpha1.ScheduleRules) { r.Overrides = &v1alpha1.OverrideBounds{MaxDuration: "0h"} }),
			[]string{"spec.overrides.maxDuration"}},
		{"bad cron", with(func(r *v1alpha1.ScheduleRules) { r.Upscale = "61 8 * * *" }), []string{"spec.upscale"}},
		{"impossible date", with(func(r *v1alpha1.ScheduleRules) { r.Downscale = "0 0 30 2 *" }), []string{"spec.downscale"}},
		{"downscale alone, with calendars", v1alpha1.ScheduleRules{Downscale: "0 20 * * *",
			Calendars: []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAwake}}},
			[]string{"spec.calendars"}},
		{"downscale alone, that is none", v1alpha1.ScheduleRules{Downscale: "20:00"}, []string{"spec.downscale"}},
		{"otherwise of a pair", with(func(r *v1alpha1.ScheduleRules) { r.Otherwise = v1alpha1.OtherwiseNothing }), []string{"spec.otherwise"}},
		{"otherwise of a downscale", v1alpha1.ScheduleRules{Downscale: "0 20 * * *", Otherwise: v1alpha1.OtherwiseAwake},
			[]string{"spec.otherwise"}},
		{"always asleep", v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "08:00", To: "20:00"}}, Otherwise: v1alpha1.OtherwiseAsleep},
			[]string{"spec.otherwise"}},
		{"always awake", v1alpha1.ScheduleRules{Awake: []v1alpha1.Window{{From: "08:00", To: "20:00"}}, Otherwise: v1alpha1.OtherwiseAwake},
			[]string{"spec.otherwise"}},
		{"an unknown otherwise", v1alpha1.ScheduleRules{Awake: []v1alpha1.Window{{From: "08:00", To: "20:00"}}, Otherwise: "Keep"},
			[]string{"spec.otherwise"}},
		{"one half of a pair", with(func(r *v1alpha1.ScheduleRules) { r.Downscale = "" }), []string{"spec.downscale"}},
		{"two forms", with(func(r *v1alpha1.ScheduleRules) { r.Awake = []v1alpha1.Window{{From: "08:00", To: "20:00"}} }), []string{"spec"}},
		{"no form", v1alpha1.ScheduleRules{}, []string{"spec"}},
		{"unknown weekday", windows(v1alpha1.Window{Days: []v1alpha1.Day{"Sunday"}, From: "08:00", To: "20:00"}),
			[]string{"spec.asleep[0].days[0]"}},
		{"bad time", windows(v1alpha1.Window{From: "8", To: "20:00"}), []string{"spec.asleep[0].from"}},
		{"percent over 100", as(v1alpha1.AsleepAs{Percent: &many}), []string{"spec.asleepAs.percent"}},
		{"negative replicas", as(v1alpha1.AsleepAs{Replicas: &negative}), []string{"spec.asleepAs.replicas"}},
		{"min above max", as(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: &three, Max: &two}}), []string{"spec.asleepAs.bounds.min"}},
		{"empty bounds", as(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{}}), []string{"spec.asleepAs.bounds"}},
		{"hold: false", as(v1alpha1.AsleepAs{Hold: &no}), []string{"spec.asleepAs.hold"}},
		{"two levels", as(v1alpha1.AsleepAs{Replicas: &two, Annotations: map[string]string{"a": "b"}}), []string{"spec.asleepAs"}},
		{"bad annotation key", as(v1alpha1.AsleepAs{Annotations: map[string]string{"a b": "c"}}), []string{"spec.asleepAs.annotations"}},
		{"Flyball's own annotations", as(v1alpha1.AsleepAs{Annotations: map[string]string{v1alpha1.AnnotationLedger: "{}"}}),
			[]string{"spec.asleepAs.annotations[flyball.dev/ledger]"}},
		{"those of Kubernetes", as(v1alpha1.AsleepAs{Annotations: map[string]string{"kubernetes.io/a": "", "k8s.io/a": "",
			"deployment.kubernetes.io/revision": "1",
			"cluster.x-k8s.io/paused":           "", "a.b.k8s.io/c": "", "KUBERNETES.io/b": ""}}),
			[]string{"spec.asleepAs.annotations[KUBERNETES.io/b]", "spec.asleepAs.annotations[a.b.k8s.io/c]",
				"spec.asleepAs.annotations[deployment.kubernetes.io/revision]",
				"spec.asleepAs.annotations[k8s.io/a]", "spec.asleepAs.annotations[kubernetes.io/a]"}},
		{"empty batch", with(func(r *v1alpha1.ScheduleRules) {
			r.UpscaleRateLimit = &v1alpha1.RateLimit{DelayBetweenBatches: "1s"}
		}), []string{"spec.upscaleRateLimit.batchSize"}},
		{"no delay", with(func(r *v1alpha1.ScheduleRules) { r.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1} }),
			[]string{"spec.downscaleRateLimit.delayBetweenBatches"}},
		{"delays that cannot be read", with(func(r *v1alpha1.ScheduleRules) {
			r.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "soon"}
			r.UpscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "0s"}
		}), []string{"spec.upscaleRateLimit.delayBetweenBatches", "spec.downscaleRateLimit.delayBetweenBatches"}},
		{"unknown calendar", with(func(r *v1alpha1.ScheduleRules) {
			r.Calendars = []v1alpha1.CalendarRef{{Name: "moon", Effect: v1alpha1.EffectAsleep}}
		}), []string{"spec.calendars[0].name"}},
		{"a calendar twice", with(func(r *v1alpha1.ScheduleRules) {
			r.Calendars = []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAsleep}, {Name: "holidays", Effect: v1alpha1.EffectAwake}}
		}), []string{"spec.calendars[1].name"}},
		{"unknown effect", with(func(r *v1alpha1.ScheduleRules) {
			r.Calendars = []v1alpha1.CalendarRef{{Name: "holidays", Effect: "Maybe"}}
		}), []string{"spec.calendars[0].effect"}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			p, errs := compile(tc.rules)
			var got []string
			for _, e := range errs {
				got = append(got, e.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s\n%v", diff, errs)
			}
			if !p.IsBroken() {
				t.Error("a policy with errors is not frozen")
			}
			if st := p.State(monday); st.Name != "Invalid" || st.Message == "" {
				t.Errorf("its state is %+v", st)
			}
		})
	}
}
