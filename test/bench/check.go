package main

import (
	"context"
	"fmt"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// checking measures the processor time for checking the most expensive policies that are known.
func (b *bench) checking(ctx context.Context) error {
	checks := map[string]func() error{"a Schedule": checkSchedule, "a Trigger": checkTrigger, "a MaintenanceWindow": checkWindow()}
	worst := 0.0
	for name, check := range checks {
		var rounds []float64
		for b.again(b.pureRounds, rounds) {
			const calls = 10
			before := cpuSeconds()
			for range calls {
				if err := check(); err != nil {
					return fmt.Errorf("check %s: %w", name, err)
				}
			}
			rounds = append(rounds, (cpuSeconds()-before)/calls*1000)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		b.report.rounds("policy_check_ms with "+name, rounds)
		worst = max(worst, median(rounds))
	}
	b.report.figure("policy_check_ms", worst, "ms")
	return nil
}

// costly returns as many windows with crons as a policy may have. The windows are short. They do not end together, and
// they are not known to be endless. The clock of their time zone changes by half an hour.
func costly() (zone string, windows []v1alpha1.Window) {
	kinds := []v1alpha1.Window{
		{Cron: "* 1-23/2 1-7 1,7 3", Duration: "1h"}, {Cron: "0 2 1-30 * 1-5", Duration: "25h"}, {Cron: "59 2 */2 * 1", Duration: "24h"},
		{Cron: "0,30 0-22 31 * 0,6", Duration: "24h"},
	}
	for i := range times.MaxCrons {
		windows = append(windows, kinds[i%len(kinds)])
	}
	return "Australia/Lord_Howe", windows
}

func checkSchedule() error {
	s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "costly"}}
	s.Spec.TimeZone, s.Spec.Asleep = costly()
	_, errs := schedule.Compile(s, schedule.Context{})
	return errs.ToAggregate()
}

// checkTrigger checks a Trigger in which each trigger may replace all triggers below it.
func checkTrigger() error {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "costly"}}
	zone, windows := costly()
	t.Spec.TimeZone = zone
	for i := range 64 {
		window := v1alpha1.Window{From: fmt.Sprintf("%02d:%02d", i%24, i%60), To: "23:59:30"}
		if i < len(windows) {
			window = windows[i]
		}
		t.Spec.Triggers = append(t.Spec.Triggers, v1alpha1.TimeTrigger{Name: fmt.Sprint("t", i), Priority: int32(i), Window: window,
			During: v1alpha1.TriggerValues{Replicas: ptr.To(int64(i))}})
	}
	_, errs := trigger.Compile(t, trigger.Context{})
	return errs.ToAggregate()
}

// checkWindow returns a function that checks a maintenance window beside ten others. They are never open at the same
// time.
func checkWindow() func() error {
	compile := func(name, minutes string) (*freeze.Rule, error) {
		w := &v1alpha1.MaintenanceWindow{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		w.Spec.TimeZone, _ = costly()
		for hour := range 24 {
			w.Spec.Windows = append(w.Spec.Windows, v1alpha1.Window{Cron: fmt.Sprintf("%s %d 1-30 * 1", minutes, hour), Duration: "30s"})
		}
		w.Spec.Deny, w.Spec.Enforcement = []v1alpha1.Action{v1alpha1.ActionRollOut}, v1alpha1.EnforcementDeny
		rule, _, errs := freeze.CompileObject(w, freeze.Context{})
		return rule, errs.ToAggregate()
	}
	others := &freeze.Set{}
	for i := range 10 {
		rule, err := compile(fmt.Sprint("other-", i), "*/2")
		if err != nil {
			return func() error { return err }
		}
		others = others.With(rule)
	}
	namespaces := func(yield func(string, workload.Pairs) bool) { yield("shop", nil) }
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	return func() error {
		rule, err := compile("costly", "1-59/2")
		if err == nil {
			others.Apart(rule, namespaces, now)
		}
		return err
	}
}
