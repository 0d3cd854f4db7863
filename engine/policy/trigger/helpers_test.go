package trigger

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// monday is a Monday at midnight.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func hour(h int) time.Time { return monday.Add(time.Duration(h) * time.Hour) }

func n(i int64) *int64 { return &i }

func values(low, high int64) v1alpha1.TriggerValues {
	return v1alpha1.TriggerValues{Min: &low, Max: &high}
}

func size(replicas int64) v1alpha1.TriggerValues { return v1alpha1.TriggerValues{Replicas: &replicas} }

func afterwards(low, high int64) *v1alpha1.TriggerValues {
	v := values(low, high)
	return &v
}

// daily is a trigger that is open every day.
func daily(name string, priority int32, from, to string, during v1alpha1.TriggerValues) v1alpha1.TimeTrigger {
	return v1alpha1.TimeTrigger{Name: name, Priority: priority, Window: v1alpha1.Window{From: from, To: to}, During: during}
}

func with(t v1alpha1.TimeTrigger, change func(*v1alpha1.TimeTrigger)) v1alpha1.TimeTrigger {
	change(&t)
	return t
}

// suspended is a trigger that is never in force.
var suspended = with(daily("off", 0, "08:00", "12:00", values(1, 2)), func(t *v1alpha1.TimeTrigger) { t.Suspend = true })

func ending(t v1alpha1.TimeTrigger, low, high int64) v1alpha1.TimeTrigger {
	return with(t, func(t *v1alpha1.TimeTrigger) { t.After = afterwards(low, high) })
}

func object(rules v1alpha1.TriggerRules) *v1alpha1.Trigger {
	return &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "peaks"}, Spec: v1alpha1.TriggerSpec{TriggerRules: rules}}
}

func rules(all ...v1alpha1.TimeTrigger) v1alpha1.TriggerRules {
	return v1alpha1.TriggerRules{Triggers: all}
}

func highest(all ...v1alpha1.TimeTrigger) v1alpha1.TriggerRules {
	return v1alpha1.TriggerRules{Overlap: v1alpha1.OverlapHighest, Triggers: all}
}

func compiled(t *testing.T, rules v1alpha1.TriggerRules) *policy.Policy {
	t.Helper()
	p, errs := Compile(object(rules), Context{})
	if len(errs) > 0 {
		t.Fatalf("compile: %v", errs.ToAggregate())
	}
	return p
}

var peaks = workload.Policy{Kind: KindName, Namespace: "shop", Name: "peaks"}

// decide runs a policy on a target.
func decide(t *testing.T, p *policy.Policy, now time.Time, seen workload.Observed) (pipeline.Decision, string) {
	t.Helper()
	var trace pipeline.Trace
	d, err := p.Pipeline.Run(&pipeline.Input{Now: now, Target: seen}, &trace)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	return d, trace.String()
}
