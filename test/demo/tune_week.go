package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
)

const (
	tunedContainer = "main"
	// decideStep is the time between two decisions of the simulated week.
	decideStep = 10 * time.Minute
)

// tunedDay is a day of the simulated week.
type tunedDay struct {
	begin time.Time
	// setting has the values at the end of the day. lowest and highest are the range of the minimum.
	setting         setting
	lowest, highest int32
	// owner and tuned are the core hours requested with the owner's values, and with the tuned values.
	owner, tuned float64
	// short is the number of minutes in which the load exceeded the pods' requests.
	short time.Duration
}

// tunedWeek tunes the simulated app from one instant to another by the policy's own code. Each measurement covers the
// pods that an autoscaler would set with the values at that time. It returns the trained learner and the days.
func tunedWeek(t *v1alpha1.Tortoise, owner setting, from, to time.Time) (policy.Learner, []tunedDay, error) {
	compiled, errs := tortoise.Compile(t, tortoise.Context{})
	if len(errs) > 0 {
		return nil, nil, errs.ToAggregate()
	}
	learner, err := compiled.Tuner.NewLearner(nil)
	if err != nil {
		return nil, nil, err
	}
	now := owner
	var days []tunedDay
	for at := from; !at.After(to); at = at.Add(tunedStep) {
		if len(days) == 0 || !at.Before(days[len(days)-1].begin.Add(24*time.Hour)) {
			days = append(days, tunedDay{begin: at, lowest: now.minimum, highest: now.minimum})
		}
		need, pods := load(at), now.pods(load(at), now.minimum)
		learner.Observe(workload.Sample{At: at, Container: tunedContainer, CPU: need / pods, Memory: tunedMemory, Replicas: int(pods)})
		if at.Sub(from)%decideStep == 0 {
			now = now.with(learner.Decide(owner.seen(at, from, int(pods))).Advice)
		}
		day := &days[len(days)-1]
		day.setting, day.lowest, day.highest = now, min(day.lowest, now.minimum), max(day.highest, now.minimum)
		day.owner += owner.pods(need, owner.minimum) * float64(owner.milliCPU) / 1000 * tunedStep.Hours()
		day.tuned += pods * float64(now.milliCPU) / 1000 * tunedStep.Hours()
		if need > pods*float64(now.milliCPU) {
			day.short += tunedStep
		}
	}
	return learner, days, nil
}

// seen returns the policy's observation of the app with the owner's values s.
func (s setting) seen(now, since time.Time, pods int) policy.Seen {
	return policy.Seen{
		Now: now, Since: since, Replicas: pods, Ready: pods,
		Own: workload.Allocations{{Component: tunedContainer, Requests: workload.Requests{MilliCPU: s.milliCPU, MemoryBytes: s.memory}}},
		Autoscaler: &policy.SeenAutoscaler{
			Bounds:      workload.Bounds{Min: ptr.To(int64(s.minimum)), Max: ptr.To(int64(s.maximum))},
			Utilisation: []workload.Utilisation{{Resource: workload.CPU, Percent: int64(s.percent)}},
		},
	}
}

// with returns a setting with some advice applied.
func (s setting) with(a *workload.Advice) setting {
	if a == nil {
		return s
	}
	for amount, n := range a.Amounts {
		switch amount.Resource {
		case workload.CPU:
			s.milliCPU = n
		case workload.Memory:
			s.memory = n
		}
	}
	if a.Min != nil {
		s.minimum = int32(*a.Min)
	}
	if a.Max != nil {
		s.maximum = int32(*a.Max)
	}
	for _, percent := range a.Targets {
		s.percent = int32(percent)
	}
	return s
}

// showDays prints the days.
func (d *demo) showDays(days []tunedDay) {
	d.say("%-5s %-18s %-14s %-16s %-22s %s", "", "a pod requests", "pods at least", "another above", "core hours", "load above requests")
	for _, day := range days[:min(len(days), 7)] {
		s := day.setting
		d.say("%-5s %-18s %-14s %-16s %-22s %s", day.begin.Format("Mon"), fmt.Sprintf("%dm, %dMi", s.milliCPU, s.memory>>20),
			fmt.Sprintf("%d to %d", day.lowest, day.highest), fmt.Sprintf("%d %%", s.percent),
			fmt.Sprintf("%.0f instead of %.0f", day.tuned, day.owner), day.short)
	}
	d.screen.printf("\n")
}

// remember stores the learnt usage of the week in the manager's checkpoint.
func (d *demo) remember(ctx context.Context, learner policy.Learner) error {
	var live appsv1.Deployment
	if err := d.env.Client.Get(ctx, client.ObjectKey{Namespace: tunedNamespace, Name: tunedApp}, &live); err != nil {
		return err
	}
	kept := &v1alpha1.UsageCheckpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: tunedNamespace, Name: "deployment.apps-" + tunedApp},
		Spec: v1alpha1.UsageCheckpointSpec{
			Target: v1alpha1.TunedTarget{Group: "apps", Kind: "Deployment", Name: tunedApp}, Policy: "Tortoise/" + tunedNamespace + "/" + tunedApp,
			TargetUID: string(live.UID), Data: base64.StdEncoding.EncodeToString(learner.Keep()),
		},
	}
	if err := d.env.Client.Create(ctx, kept); err != nil {
		return fmt.Errorf("keep what was learnt: %w", err)
	}
	return nil
}
