package schedule_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

// idle is a rule by requests, without use for two hours.
func idle(change ...func(*v1alpha1.IdleRule)) *v1alpha1.IdleRule {
	r := &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "2h"}
	for _, c := range change {
		c(r)
	}
	return r
}

// byUse returns the claims of a schedule as ofAge does. The target is used in certain hours. Its use is unknown in the hours of silent.
func byUse(t *testing.T, rules v1alpha1.ScheduleRules, in workload.Observed, used, silent string) string {
	t.Helper()
	p, errs := compile(rules)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	use := &workload.Use{}
	text := ""
	for h := range 24 {
		now := time.Date(2026, 3, 2, h, 0, 0, 0, time.UTC)
		switch {
		case silent[h] == '?':
			use = &workload.Use{Last: use.Last, Seen: use.Seen}
		case used[h] == 'u':
			use = &workload.Use{Last: now, Quiet: now, Seen: now}
		default:
			use = &workload.Use{Last: use.Last, Quiet: use.Quiet, Seen: now}
			if use.Quiet.IsZero() {
				use.Quiet = now
			}
		}
		d, err := p.Pipeline.Run(&pipeline.Input{Now: now, Target: in, Use: use}, &pipeline.Trace{})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Intents) != 1 {
			t.Fatalf("claims %+v", d.Intents)
		}
		text += map[workload.Class]string{workload.ClassSleep: "S", workload.ClassAwake: "A", workload.ClassKeep: "k"}[d.Intents[0].Class]
	}
	return text
}

func TestUseDecidesOutsideOfWindows(t *testing.T) {
	nights := []v1alpha1.Window{{From: "20:00", To: "06:00"}}
	known := strings.Repeat(".", 24)
	made := target()
	made.Created = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	job := target()
	job.RunsToCompletion = true
	inWindows := idle(func(r *v1alpha1.IdleRule) { r.InWindows, r.AwakeAtLeast = true, "1h" })
	for _, tc := range []struct {
		reason             string
		rules              v1alpha1.ScheduleRules
		in                 workload.Observed
		used, silent, want string
	}{
		{"alone", v1alpha1.ScheduleRules{Idle: idle()}, target(),
			"....u.....uuu...........", known, "kkSSAASSSSAAAASSSSSSSSSS"},
		{"the use of a new object", v1alpha1.ScheduleRules{Idle: idle()}, made,
			"........................", known, "---------AASSSSSSSSSSSSS"},
		{"silence", v1alpha1.ScheduleRules{Idle: idle()}, target(),
			"....u...................", "......?????.............", "kkSSAAkkkkkkkSSSSSSSSSSS"},
		{"silence after use", v1alpha1.ScheduleRules{Idle: idle()}, target(),
			"....u...................", ".....???????????????????", "kkSSAAkkkkkkkkkkkkkkkkkk"},
		{"nights, and their end counts as use", v1alpha1.ScheduleRules{Idle: idle(), Asleep: nights}, target(),
			"..u.......u..........u..", known, "SSSSSSAASSAASSSSSSSSSSSS"},
		{"the end of a night in silence", v1alpha1.ScheduleRules{Idle: idle(), Asleep: nights}, target(),
			"........................", strings.Repeat("?", 24), "SSSSSSAAkkkkkkkkkkkkSSSS"},
		{"in the night too", v1alpha1.ScheduleRules{Idle: inWindows, Asleep: nights}, target(),
			"..u.......u........uuu..", known, "kSASSSAASSAASSSSSSSAAASS"},
		{"a Job", v1alpha1.ScheduleRules{Idle: idle()}, job,
			"........................", known, "AAAAAAAAAAAAAAAAAAAAAAAA"},
	} {
		got := byUse(t, tc.rules, tc.in, tc.used, tc.silent)
		if !tc.in.Created.IsZero() { // there is no answer for the time before it was created
			got = strings.Repeat("-", tc.in.Created.Hour()) + got[tc.in.Created.Hour():]
		}
		if got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", tc.reason, got, tc.want)
		}
	}
}

func TestSleepWithoutUseIsExplained(t *testing.T) {
	p, errs := compile(v1alpha1.ScheduleRules{Idle: idle(), AsleepAs: &v1alpha1.AsleepAs{Replicas: new(int64(1))},
		OnManualChange: v1alpha1.ManualEnforce})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	last := monday.Add(-3 * time.Hour)
	trace := pipeline.Trace{}
	use := &workload.Use{Last: last, Quiet: last, Seen: monday}
	d, err := p.Pipeline.Run(&pipeline.Input{Now: monday, Target: target(), Use: use}, &trace)
	if err != nil || len(d.Intents) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if in := d.Intents[0]; in.Class != workload.ClassSleep || !in.Since.Equal(last.Add(2*time.Hour)) || in.Size.Replicas != 1 || !in.Enforce {
		t.Errorf("it claims %+v", in)
	}
	want := "window: asks for nothing, no further transition; idle: not used since 2026-03-02T17:00:00Z, at least; level: at most 1 replica"
	if got := trace.String(); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got, want := p.State(monday), (policy.Summary{Name: "OnDemand",
		Message: "asks for nothing, no further transition; each target sleeps after 2h without use"}); got != want {
		t.Errorf("its state is %+v, want %+v", got, want)
	}
}

func TestIdleIsChecked(t *testing.T) {
	with := func(change func(*v1alpha1.IdleRule)) v1alpha1.ScheduleRules {
		return v1alpha1.ScheduleRules{Idle: idle(change)}
	}
	for want, rules := range map[string]v1alpha1.ScheduleRules{
		`spec.idle.demand: Invalid value: "sum(": 1:5: parse error`: with(func(r *v1alpha1.IdleRule) { r.Demand = "sum(" }),
		`spec.idle.demand: Invalid value: "rate(a[2m])": a[2m] must reach back at least four intervals, 8m`: with(func(r *v1alpha1.IdleRule) {
			r.Demand, r.Interval = "rate(a[2m])", "2m"
		}),
		`spec.idle.asleepAfter: Invalid value: "soon"`:                        with(func(r *v1alpha1.IdleRule) { r.AsleepAfter = "soon" }),
		`spec.idle.asleepAfter: Invalid value: "5s": must be from 30s to 30d`: with(func(r *v1alpha1.IdleRule) { r.AsleepAfter = "5s" }),
		`spec.idle.awakeAtLeast: Invalid value: "3h": must be from 30s to 2h`: with(func(r *v1alpha1.IdleRule) { r.AwakeAtLeast = "3h" }),
		`spec.idle.interval: Invalid value: "1h": must be from 1s to 10m`: with(func(r *v1alpha1.IdleRule) {
			r.Interval, r.AsleepAfter = "1h", "3h"
		}),
		`spec.idle.demand: Invalid value: "rate(a[2m]) > 0": must not compare by >: spec.idle.above is the limit`: with(
			func(r *v1alpha1.IdleRule) { r.Demand = "rate(a[2m]) > 0" }),
		`spec.idle.labels.name: Invalid value: "the name": must be the name of a label of a series, such as service`: with(
			func(r *v1alpha1.IdleRule) { r.Labels.Name = "the name" }),
		`spec.idle.labels.namespace: Invalid value: "__name__"`: with(func(r *v1alpha1.IdleRule) { r.Labels.Namespace = "__name__" }),
		`spec.idle.labels.name: Duplicate value: "namespace"`:   with(func(r *v1alpha1.IdleRule) { r.Labels.Name = "namespace" }),
		`spec.idle.above: Invalid value: "-1": must not be negative`: with(func(r *v1alpha1.IdleRule) {
			r.Above = new(resource.MustParse("-1"))
		}),
		`spec.idle.inWindows: Forbidden: needs windows`:          with(func(r *v1alpha1.IdleRule) { r.InWindows = true }),
		`spec.idle.absent: Unsupported value: "Sleep"`:           with(func(r *v1alpha1.IdleRule) { r.Absent = "Sleep" }),
		`spec.idle: Forbidden: does not go with downscale alone`: {Idle: idle(), Downscale: "0 20 * * *"},
		`spec.otherwise: Forbidden: does not go with idle`: {Idle: idle(), Otherwise: v1alpha1.OtherwiseNothing,
			Asleep: []v1alpha1.Window{{From: "20:00", To: "06:00"}}},
	} {
		if _, errs := compile(rules); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
	none := idle(func(r *v1alpha1.IdleRule) { r.Demand = "sum(rate(a[2m]))" })
	want := `spec.idle.demand: Invalid value: "sum(rate(a[2m]))": names no target: no series has the label namespace or name`
	if _, errs := schedule.CompileIdle(none, "", field.NewPath("spec", "idle")); len(errs) != 1 || errs[0].Error() != want {
		t.Errorf("of a ClusterSchedule: %v, want %s", errs, want)
	}
}
