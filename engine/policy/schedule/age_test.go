package schedule_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// ofAge returns the claims of a schedule on a target of a certain age: one letter for each hour from Monday 00:00. S is
// sleep, A is awake, k is to keep, and - is nothing. It also checks that each change was announced before.
func ofAge(t *testing.T, rules v1alpha1.ScheduleRules, made time.Time, runs bool, hours int) string {
	t.Helper()
	p, errs := compile(rules)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	text, wake := "", time.Time{}
	for h := range hours {
		now := time.Date(2026, 3, 2, h, 0, 0, 0, time.UTC)
		in := target()
		in.Created, in.RunsToCompletion = made, runs
		d, err := p.Pipeline.Run(&pipeline.Input{Now: now, Target: in}, nil)
		if err != nil {
			t.Fatal(err)
		}
		letter := "-"
		if len(d.Intents) == 1 {
			letter = map[workload.Class]string{workload.ClassSleep: "S", workload.ClassAwake: "A", workload.ClassKeep: "k"}[d.Intents[0].Class]
		}
		if h > 0 && !strings.HasSuffix(text, letter) && (wake.IsZero() || wake.After(now)) {
			t.Errorf("made %s: turns to %s at %s, and is looked at again at %s only", made, letter, now, wake)
		}
		text, wake = text+letter, d.Wake
	}
	return text
}

func TestAgeRulePutsOldObjectsToSleep(t *testing.T) {
	nightly := []v1alpha1.Window{{From: "20:00", To: "06:00"}}
	six := &v1alpha1.AgeRule{AsleepAfter: "6h"}
	made := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		reason string
		rules  v1alpha1.ScheduleRules
		want   string
	}{
		{"age alone has no say before", v1alpha1.ScheduleRules{Age: six}, "---------------SSSSSSSSS"},
		{"with nights", v1alpha1.ScheduleRules{Age: six, Asleep: nightly}, "SSSSSSAAAAAAAAASSSSSSSSS"},
		{"with days awake", v1alpha1.ScheduleRules{Age: six, Awake: []v1alpha1.Window{{From: "06:00", To: "20:00"}}}, "SSSSSSAAAAAAAAASSSSSSSSS"},
		{"in the night already", v1alpha1.ScheduleRules{Age: &v1alpha1.AgeRule{AsleepAfter: "13h"}, Asleep: nightly}, "SSSSSSAAAAAAAAAAAAAASSSS"},
	} {
		if got := ofAge(t, tc.rules, made, false, 24); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
	}
	p, _ := compile(v1alpha1.ScheduleRules{Age: six})
	if st := p.State(made); st.Name != "Idle" ||
		st.Message != "asks for nothing, no further transition; each target sleeps from 6h after it was made" {
		t.Errorf("%+v", st)
	}
}

// A night is a transition also for a target past the age. So such a target that was woken by hand sleeps again from the
// begin of the night.
func TestNightsBeginForOldTargetsToo(t *testing.T) {
	p, _ := compile(v1alpha1.ScheduleRules{Age: &v1alpha1.AgeRule{AsleepAfter: "48h"},
		Asleep: []v1alpha1.Window{{From: "20:00", To: "06:00"}}})
	in := target()
	in.Created = time.Date(2026, 2, 20, 9, 0, 0, 0, time.UTC)
	old := in.Created.Add(48 * time.Hour)
	for h, want := range map[int]time.Time{12: old, 21: time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)} {
		d, err := p.Pipeline.Run(&pipeline.Input{Now: time.Date(2026, 3, 2, h, 0, 0, 0, time.UTC), Target: in}, nil)
		if err != nil || len(d.Intents) != 1 || !d.Intents[0].Since.Equal(want) {
			t.Errorf("at %d: %+v, %v, want asleep since %s", h, d.Intents, err, want)
		}
	}
}

// A target that has just been created is not put to sleep, before the night or in it. A Job that was created in the night
// may run until the next night.
func TestGracePeriod(t *testing.T) {
	rules := v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "20:00", To: "06:00"}}, GracePeriod: "2h"}
	at := func(h int) time.Time { return time.Date(2026, 3, 2, h, 0, 0, 0, time.UTC) }
	for _, tc := range []struct {
		reason string
		made   time.Time
		job    bool
		want   string
	}{
		{"long before", at(-30), false, "SSSSSSAAAAAAAAAAAAAASSSS"},
		{"an hour before the night", at(19), false, "SSSSSSAAAAAAAAAAAAAA-SSS"},
		{"in the night", at(21), false, "SSSSSSAAAAAAAAAAAAAA---S"},
		{"a Job, an hour before the night", at(19), true, "------AAAAAAAAAAAAAA-SSS"},
		{"a Job, in the night", at(21), true, "------AAAAAAAAAAAAAA----"},
	} {
		got := ofAge(t, rules, tc.made, tc.job, 24)
		if tc.made.After(at(0)) { // there is no answer for the time before it was created
			got, tc.want = got[tc.made.Hour():], tc.want[tc.made.Hour():]
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
	}
}

func TestAgeIsChecked(t *testing.T) {
	day := &v1alpha1.AgeRule{AsleepAfter: "1d"}
	nights := []v1alpha1.Window{{From: "20:00", To: "06:00"}}
	for want, rules := range map[string]v1alpha1.ScheduleRules{
		"spec.age.asleepAfter: Invalid value: \"soon\"":         {Age: &v1alpha1.AgeRule{AsleepAfter: "soon"}},
		"spec.gracePeriod: Invalid value: \"-5m\"":              {Asleep: nights, GracePeriod: "-5m"},
		"spec.age: Forbidden: does not go with downscale alone": {Age: day, Downscale: "0 20 * * *"},
		"spec.calendars: Forbidden: need windows": {Age: day,
			Calendars: []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAwake}}},
		"spec.otherwise: Forbidden: is for the time outside":      {Age: day, Otherwise: v1alpha1.OtherwiseNothing},
		"spec: Invalid value: 0: give exactly one of: downscale ": {},
	} {
		if _, errs := compile(rules); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
}
