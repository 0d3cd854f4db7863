package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

func ptr[T any](v T) *T { return &v }

func asleepAs(a *v1alpha1.AsleepAs) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) { r.AsleepAs = a }
}

// Each form of asleepAs gives the capabilities that it needs and a description.
func TestFormsOfAsleepAs(t *testing.T) {
	for _, test := range []struct {
		reason string
		as     *v1alpha1.AsleepAs
		needs  []v1alpha1.Capability
		text   string
		keys   []string
	}{
		{"absent", nil, []v1alpha1.Capability{v1alpha1.CapabilitySuspend, v1alpha1.CapabilityScale},
			"suspended, or every component at its minimum", nil},
		{"replicas", &v1alpha1.AsleepAs{Replicas: ptr(int64(2))}, []v1alpha1.Capability{v1alpha1.CapabilityScale}, "at most 2 replicas", nil},
		{"percent", &v1alpha1.AsleepAs{Percent: ptr(int32(50))}, []v1alpha1.Capability{v1alpha1.CapabilityScale}, "50% of the replicas", nil},
		{"bounds", &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: ptr(int64(1))}}, []v1alpha1.Capability{v1alpha1.CapabilityBounds},
			"bounds narrowed", nil},
		{"hold", &v1alpha1.AsleepAs{Hold: ptr(true)}, []v1alpha1.Capability{v1alpha1.CapabilityHold}, "held", nil},
		{"annotations", &v1alpha1.AsleepAs{Annotations: map[string]string{"a": "1", "b": "2"}},
			[]v1alpha1.Capability{v1alpha1.CapabilityAnnotate}, "annotated", []string{"a", "b"}},
	} {
		p, errs := compile(nights(asleepAs(test.as)))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var trace pipeline.Trace
		if _, err := p.Pipeline.Run(&pipeline.Input{Now: monday, Target: target()}, &trace); err != nil {
			t.Fatal(err)
		}
		keys := slices.Sorted(slices.Values(p.SetAnnotations))
		if !slices.Equal(p.Needs, test.needs) || !slices.Equal(keys, test.keys) || trace.Lines[len(trace.Lines)-1].Text != test.text {
			t.Errorf("%s: needs %v, sets %v, says %q", test.reason, p.Needs, keys, trace.String())
		}
	}
}

// Values at the ends of their ranges are allowed.
func TestLimitsAreInclusive(t *testing.T) {
	for _, as := range []v1alpha1.AsleepAs{
		{Replicas: ptr(int64(0))}, {Replicas: ptr(int64(1<<31 - 1))}, {Percent: ptr(int32(0))}, {Percent: ptr(int32(100))},
		{Bounds: &v1alpha1.BoundsValue{Min: ptr(int64(3)), Max: ptr(int64(3))}}, {Bounds: &v1alpha1.BoundsValue{Max: ptr(int64(3))}},
	} {
		if _, errs := compile(nights(asleepAs(&as))); len(errs) > 0 {
			t.Errorf("%+v: %v", as, errs)
		}
	}
	for field, as := range map[string]v1alpha1.AsleepAs{
		"spec.asleepAs.replicas": {Replicas: ptr(int64(1 << 31))}, "spec.asleepAs.percent": {Percent: ptr(int32(-1))},
	} {
		if _, errs := compile(nights(asleepAs(&as))); len(errs) != 1 || errs[0].Field != field {
			t.Errorf("%s: %v", field, errs)
		}
	}
}

func TestRateLimits(t *testing.T) {
	p, errs := compile(nights(func(r *v1alpha1.ScheduleRules) {
		r.UpscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "1ms"}
		r.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 50, DelayBetweenBatches: "1d12h"}
	}))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if p.Up != (policy.Limit{Batch: 1, Delay: time.Millisecond}) || p.Down != (policy.Limit{Batch: 50, Delay: 36 * time.Hour}) {
		t.Errorf("up %+v, down %+v", p.Up, p.Down)
	}
	if p, _ := compile(nights()); p.Up != (policy.Limit{}) || p.Down != (policy.Limit{}) {
		t.Errorf("without limits: up %+v, down %+v", p.Up, p.Down)
	}
}

func TestClusterSchedule(t *testing.T) {
	o := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights"}}
	o.Spec.ScheduleRules = nights()
	if _, errs := schedule.CompileCluster(o, schedule.Context{}); len(errs) != 1 || errs[0].Field != "spec.target.namespaces" {
		t.Errorf("a target without namespaces: %v", errs)
	}
	o.Spec.Target.Namespaces = []string{"shop"}
	p, errs := schedule.CompileCluster(o, schedule.Context{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if want := (workload.Policy{Kind: schedule.ClusterKind, Name: "nights"}); p.ID != want || !p.Target.MatchesNamespace("shop", nil) {
		t.Errorf("is %s, selects %s", p.ID, p.Target)
	}
	want := policy.Summary{Name: "Asleep", Asleep: true, Since: monday, Next: monday.Add(12 * time.Hour),
		Message: "asleep since 2026-03-02T20:00:00Z (downscale), next transition 2026-03-03T08:00:00Z"}
	if diff := cmp.Diff(want, p.State(monday)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Crons that always fire together would leave the targets asleep for ever, so they are refused. A schedule with windows
// that are always asleep is accepted.
func TestPairsThatNeverWake(t *testing.T) {
	for _, tc := range []struct {
		up, down string
		refused  bool
	}{
		{"0 8 * * *", "0 20 * * *", false},
		{"0 8 * * *", "0 8 * * *", true},
		{"0 8 * * 1-5", "0 8 * * *", true},
		{"0 8 * * *", "0 8 * * 1-5", false},
		{"0 8 * * *", "*/30 * * * *", true},
		{"0 8,20 * * *", "0 20 * * *", false},
		{"@daily", "0 0 * * *", true},
		{"0 8 L * *", "0 8 28-31 * *", true},
	} {
		_, errs := compile(nights(func(r *v1alpha1.ScheduleRules) { r.Upscale, r.Downscale = tc.up, tc.down }))
		if (len(errs) > 0) != tc.refused || tc.refused && !strings.HasPrefix(errs[0].Error(), `spec.upscale: Invalid value: "`+tc.up+
			`": whenever it fires, downscale fires too`) {
			t.Errorf("up %s, down %s: %q", tc.up, tc.down, errs)
		}
	}
	if _, errs := compile(v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "00:00", To: "24:00"}}}); len(errs) > 0 {
		t.Errorf("always asleep: %v", errs)
	}
}

// hours returns the claims of a schedule, one letter for each hour of 3 March 2026, which is a holiday. S is sleep, A is
// awake, k is to keep the values it has set, and - is nothing.
func hours(t *testing.T, p *policy.Policy, made time.Time) string {
	t.Helper()
	text := ""
	for h := range 24 {
		now := time.Date(2026, 3, 3, h, 30, 0, 0, time.UTC)
		in := target()
		in.Created = made
		d, err := p.Pipeline.Run(&pipeline.Input{Now: now, Target: in}, nil)
		if err != nil {
			t.Fatal(err)
		}
		letter := "-"
		if len(d.Intents) == 1 {
			letter = map[workload.Class]string{workload.ClassSleep: "S", workload.ClassAwake: "A", workload.ClassKeep: "k"}[d.Intents[0].Class]
		}
		text += letter
		wantState := map[string]string{"S": "Asleep", "A": "Awake", "k": "Idle", "-": "Idle"}[letter]
		if st := p.State(now); made.IsZero() && (st.Name != wantState || st.Asleep != (letter == "S")) {
			t.Errorf("at %s asks %s, and the state is %+v", now, letter, st)
		}
		if wake := p.State(now).Next; !made.IsZero() && !wake.Equal(d.Wake) {
			t.Errorf("at %s the next transition is %s, and the target is looked at again at %s", now, wake, d.Wake)
		}
	}
	return text
}

// Outside of its windows, a schedule claims the state given by otherwise.
func TestOtherwiseIsClaimedOutsideOfWindows(t *testing.T) {
	lunch := []v1alpha1.Window{{Name: "lunch", From: "12:00", To: "14:00"}}
	holidays := func(e v1alpha1.CalendarEffect) []v1alpha1.CalendarRef {
		return []v1alpha1.CalendarRef{{Name: "holidays", Effect: e}}
	}
	for _, tc := range []struct {
		reason string
		rules  v1alpha1.ScheduleRules
		want   string
	}{
		{"asleep", v1alpha1.ScheduleRules{Asleep: lunch}, "AAAAAAAAAAAASSAAAAAAAAAA"},
		{"asleep, otherwise awake", v1alpha1.ScheduleRules{Asleep: lunch, Otherwise: v1alpha1.OtherwiseAwake}, "AAAAAAAAAAAASSAAAAAAAAAA"},
		{"asleep, otherwise nothing", v1alpha1.ScheduleRules{Asleep: lunch, Otherwise: v1alpha1.OtherwiseNothing}, "------------SS----------"},
		{"awake, otherwise asleep", v1alpha1.ScheduleRules{Awake: lunch, Otherwise: v1alpha1.OtherwiseAsleep}, "SSSSSSSSSSSSAASSSSSSSSSS"},
		{"awake, otherwise nothing", v1alpha1.ScheduleRules{Awake: lunch, Otherwise: v1alpha1.OtherwiseNothing}, "------------AA----------"},
		{"nothing, and a holiday to sleep", v1alpha1.ScheduleRules{Awake: lunch, Otherwise: v1alpha1.OtherwiseNothing,
			Calendars: holidays(v1alpha1.EffectAsleep)},
			"SSSSSSSSSSSSSSSSSSSSSSSS"},
		{"nothing, and a holiday to be awake", v1alpha1.ScheduleRules{Asleep: lunch, Otherwise: v1alpha1.OtherwiseNothing,
			Calendars: holidays(v1alpha1.EffectAwake)},
			"AAAAAAAAAAAAAAAAAAAAAAAA"},
	} {
		p, errs := compile(tc.rules)
		if len(errs) > 0 {
			t.Fatal(tc.reason, errs)
		}
		if got := hours(t, p, time.Time{}); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
		hours(t, p, monday)
	}
	p, _ := compile(v1alpha1.ScheduleRules{Asleep: lunch, Otherwise: v1alpha1.OtherwiseNothing})
	want := policy.Summary{Name: "Idle", Since: monday.Add(-6 * time.Hour), Next: monday.Add(16 * time.Hour),
		Message: "asks for nothing since 2026-03-02T14:00:00Z, next transition 2026-03-03T12:00:00Z"}
	if diff := cmp.Diff(want, p.State(monday)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A downscale without an upscale puts targets to sleep at each firing. Before its first firing it only keeps its values.
// The same holds for targets created since the last firing.
func TestDownscaleAlone(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	for _, tc := range []struct {
		reason        string
		created, made time.Time
		want          string
	}{
		{"an old schedule", at(1, 0), time.Time{}, "SSSSSSSSSSSSSSSSSSSSSSSS"},
		{"a schedule of the morning", at(3, 9), time.Time{}, "kkkkkkkkkkkkkkkkkkkkSSSS"},
		{"an object of the night, after the firing", at(1, 0), at(3, 0), "kkkkkkkkkkkkkkkkkkkkSSSS"},
		{"an object of yesterday, before the firing", at(1, 0), at(2, 19), "SSSSSSSSSSSSSSSSSSSSSSSS"},
	} {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights", CreationTimestamp: metav1.NewTime(tc.created)}}
		s.Spec.ScheduleRules = v1alpha1.ScheduleRules{Downscale: "0 20 * * *"}
		p, errs := schedule.Compile(s, schedule.Context{})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if got := hours(t, p, tc.made); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
		d, err := p.Pipeline.Run(&pipeline.Input{Now: at(4, 21), Target: target()}, nil)
		if err != nil || len(d.Intents) != 1 || !d.Intents[0].Since.Equal(at(4, 20)) || !d.Wake.Equal(at(5, 20)) {
			t.Errorf("%s: %+v, %v; want to sleep since the last firing, until the next", tc.reason, d, err)
		}
	}
}

// Both forms of windows give the expected states over a day.
func TestWindowForms(t *testing.T) {
	for _, test := range []struct {
		reason string
		rules  v1alpha1.ScheduleRules
		asleep []int
	}{
		{"asleep", v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "02:00", To: "04:00"}, {From: "03:00", To: "05:00"}}}, []int{2, 3, 4}},
		{"awake", v1alpha1.ScheduleRules{Awake: []v1alpha1.Window{{From: "02:00", To: "23:00"}}}, []int{0, 1, 23}},
		{"a pair", v1alpha1.ScheduleRules{Upscale: "0 2 * * *", Downscale: "0 22 * * *"}, []int{0, 1, 22, 23}},
		{"in a zone", v1alpha1.ScheduleRules{TimeZone: "Europe/Berlin", Asleep: []v1alpha1.Window{{From: "02:00", To: "04:00"}}}, []int{1, 2}},
		{"calendars that disagree are awake", v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "00:00", To: "24:00"}},
			Calendars: []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAwake}}}, nil},
	} {
		p, errs := compile(test.rules)
		if len(errs) > 0 {
			t.Fatal(test.reason, errs)
		}
		var got []int
		for h := range 24 {
			if p.State(time.Date(2026, 3, 3, h, 0, 0, 0, time.UTC)).Asleep {
				got = append(got, h)
			}
		}
		if !slices.Equal(got, test.asleep) {
			t.Errorf("%s: asleep at %v, want %v", test.reason, got, test.asleep)
		}
	}
}

func TestStateMessages(t *testing.T) {
	for _, test := range []struct {
		reason string
		rules  v1alpha1.ScheduleRules
		want   policy.Summary
	}{
		{"suspended", nights(func(r *v1alpha1.ScheduleRules) { r.Suspend = true }),
			policy.Summary{Name: "Suspended", Message: "spec.suspend is true: everything stays as it is"}},
		{"always awake", v1alpha1.ScheduleRules{Awake: []v1alpha1.Window{{From: "00:00", To: "24:00"}}},
			policy.Summary{Name: "Awake", Message: "awake (daily 00:00-24:00 UTC), no further transition"}},
		{"never again", v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{Name: "move", Start: "2026-03-01", End: "2026-03-01"}}},
			policy.Summary{Name: "Awake", Since: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC),
				Message: "awake since 2026-03-02T00:00:00Z, no further transition"}},
		{"in a named window", v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{Name: "night", From: "20:00", To: "08:00"}}},
			policy.Summary{Name: "Asleep", Asleep: true, Since: monday, Next: monday.Add(12 * time.Hour),
				Message: "asleep since 2026-03-02T20:00:00Z (night), next transition 2026-03-03T08:00:00Z"}},
	} {
		p, errs := compile(test.rules)
		if len(errs) > 0 {
			t.Fatal(test.reason, errs)
		}
		if diff := cmp.Diff(test.want, p.State(monday)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}
