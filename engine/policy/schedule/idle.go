package schedule

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

const (
	// defaultInterval and defaultAwake are the defaults of interval and awakeAtLeast.
	defaultInterval, defaultAwake = 15 * time.Second, 15 * time.Minute
	// The interval and the time without use are within these bounds. The bounds limit the work of the Prometheus server.
	minInterval, maxInterval       = time.Second, 10 * time.Minute
	minAsleepAfter, maxAsleepAfter = 10 * time.Second, 30 * 24 * time.Hour
)

// CompileIdle compiles a rule by use. namespace is that of the policy; empty: it has none.
func CompileIdle(rule *v1alpha1.IdleRule, namespace string, at *field.Path) (*demand.Rule, field.ErrorList) {
	if rule == nil {
		return nil, nil
	}
	r := &demand.Rule{
		Namespace: namespace, Text: rule.Demand, NamespaceLabel: cmp.Or(rule.Labels.Namespace, "namespace"),
		NameLabel: cmp.Or(rule.Labels.Name, "name"), AbsentIdle: rule.Absent == v1alpha1.AbsentIdle, InWindows: rule.InWindows,
		Interval: defaultInterval,
	}
	var errs field.ErrorList
	if rule.Above != nil {
		if r.Above = rule.Above.AsApproximateFloat64(); r.Above < 0 {
			errs = append(errs, field.Invalid(at.Child("above"), rule.Above.String(), "must not be negative: then no demand is use"))
		}
	}
	for name, label := range map[string]string{"namespace": r.NamespaceLabel, "name": r.NameLabel} {
		if !model.LegacyValidation.IsValidLabelName(label) || strings.HasPrefix(label, "__") {
			errs = append(errs, field.Invalid(at.Child("labels", name), label, "must be the name of a label of a series, such as service"))
		}
	}
	if r.NamespaceLabel == r.NameLabel {
		errs = append(errs, field.Duplicate(at.Child("labels", "name"), r.NameLabel))
	}
	within := func(name string, text v1alpha1.Duration, least, most time.Duration) time.Duration {
		d, err := timeline.ParseDuration(string(text))
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at.Child(name), text, err.Error()))
		case d < least || d > most:
			errs = append(errs, field.Invalid(at.Child(name), text, fmt.Sprintf("must be from %s to %s", boundText(least), boundText(most))))
		}
		return d
	}
	if rule.Interval != "" {
		r.Interval = within("interval", rule.Interval, minInterval, maxInterval)
	}
	r.AsleepAfter = within("asleepAfter", rule.AsleepAfter, max(minAsleepAfter, r.Fresh()), maxAsleepAfter)
	r.AwakeAtLeast = min(defaultAwake, r.AsleepAfter)
	if rule.AwakeAtLeast != "" {
		r.AwakeAtLeast = within("awakeAtLeast", rule.AwakeAtLeast, r.Fresh(), r.AsleepAfter)
	}
	errs = append(errs, policy.OneOf(at.Child("absent"), rule.Absent, v1alpha1.AbsentKeep, v1alpha1.AbsentIdle)...)
	if len(errs) > 0 {
		return nil, errs
	}
	if _, err := r.Query(""); err != nil {
		errs = append(errs, field.Invalid(at.Child("demand"), r.Text, err.Error()))
	}
	return r, errs
}

func boundText(d time.Duration) string {
	if d == maxAsleepAfter {
		return "30d"
	}
	return timeline.DurationText(d)
}

// byUse decides by the use of the target, where the window leaves the decision to it: outside of the time asleep, and inside if use
// wakes there too. The end of a window counts as use, so that its targets wake as without the rule.
func (s *schedule) byUse(f *pipeline.Frame) error {
	in := &f.Decision.Intents[0]
	inWindow := in.Class == workload.ClassSleep
	if s.idle == nil || inWindow && !s.idle.InWindows {
		return nil
	}
	if f.Input.Target.RunsToCompletion {
		f.Sayf("left to the window, because it ends by itself")
		f.Done = !inWindow
		return nil
	}
	awake := in.Since
	if made := f.Input.Target.Created; made.Before(f.Input.Now.Add(maxSkew)) {
		awake = timeline.Later(awake, made.Add(max(0, s.grace-s.idle.AsleepAfter)))
	}
	a := s.idle.At(f.Input.Use, f.Input.Now, awake, inWindow)
	f.Decision.WakeAt(a.Wake)
	f.Sayf("%s", a.Text)
	switch a.Class {
	case workload.ClassSleep:
		if !inWindow {
			in.Since = a.Since
		}
		in.Class, in.Enforce = workload.ClassSleep, s.rules.OnManualChange == v1alpha1.ManualEnforce
	case workload.ClassAwake:
		in.Class, in.Enforce, f.Done = workload.ClassAwake, false, true
	default:
		*in = workload.Intent{By: s.bounds.By, Class: workload.ClassKeep, Priority: in.Priority, Yields: true}
		f.Done = true
	}
	return nil
}
