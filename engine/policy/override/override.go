// Package override compiles an Override or ClusterOverride: an order of a person about targets for a time. To an order to
// stay awake, schedules yield, within their bounds; the order itself claims nothing. An order to sleep or to hold is a claim
// above every priority. The suspend of a freeze beats all orders.
package override

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of overrides in ledger entries and messages.
const (
	Kind        = "Override"
	ClusterKind = "ClusterOverride"
)

// Ended is the name of the state of an override after its end.
const Ended = "Ended"

// Compile compiles an Override. With errors, it returns policy.Broken.
func Compile(o *v1alpha1.Override, ctx policy.Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: Kind, Namespace: o.Namespace, Name: o.Name}
	target, errs := selector.Namespaced(o.Spec.Target, o.Namespace, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, target, append(errs, byAnnotations(o.Spec.Target)...), o.Spec.OverrideRules, &o.ObjectMeta)
}

// CompileCluster compiles a ClusterOverride. With errors, it returns policy.Broken.
func CompileCluster(o *v1alpha1.ClusterOverride, ctx policy.Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: ClusterKind, Name: o.Name}
	target, errs := selector.Cluster(o.Spec.Target, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, target, append(errs, byAnnotations(o.Spec.Target.TargetSelector)...), o.Spec.OverrideRules, &o.ObjectMeta)
}

// byAnnotations returns an error for each field that selects by annotations. Each new key would have Flyball list all objects of the
// cluster anew, for an author without a right on them.
func byAnnotations(target v1alpha1.TargetSelector) (errs field.ErrorList) {
	at := field.NewPath("spec", "target")
	if len(target.Annotations) > 0 {
		errs = append(errs, field.Forbidden(at.Child("annotations"), "select by kinds, names and labels"))
	}
	if target.AnnotationSelector != nil {
		errs = append(errs, field.Forbidden(at.Child("annotationSelector"), "select by kinds, names and labels"))
	}
	return errs
}

func compile(id workload.Policy, target *selector.Selector, errs field.ErrorList, rules v1alpha1.OverrideRules, meta *metav1.ObjectMeta) (
	*policy.Policy, field.ErrorList) {
	at := field.NewPath("spec")
	until, es := end(rules, meta.CreationTimestamp.Time, at)
	errs = append(errs, es...)
	errs = append(errs, policy.OneOf(at.Child("effect"), rules.Effect, effects...)...)
	if rules.Effect == "" {
		errs = append(errs, field.Required(at.Child("effect"), "give Awake, Asleep or Hold"))
	}
	if strings.TrimSpace(rules.Reason) == "" {
		errs = append(errs, field.Required(at.Child("reason"), "say why, for the people whose schedule yields"))
	}
	if len(errs) > 0 {
		return policy.Broken(id, errs), errs
	}
	o := &override{order: pipeline.Override{By: id, Effect: rules.Effect, Since: meta.CreationTimestamp.Time, Until: until,
		Policies: rules.Policies}, reason: workload.OneLine(rules.Reason, 256)}
	return &policy.Policy{
		ID: id, Target: target, Needs: needs(rules.Effect), State: o.state,
		Pipeline: pipeline.Pipeline{{Name: "active", Run: o.active}, {Name: "effect", Run: o.effect}},
		Extras:   policy.Extras{Override: &o.order, Reporter: reporter{until: until}},
	}, nil
}

var effects = []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake, v1alpha1.OverrideAsleep, v1alpha1.OverrideHold}

// end returns the end of an order that was created at an instant. It is zero for an order with spec.for that is not created
// yet.
func end(rules v1alpha1.OverrideRules, created time.Time, at *field.Path) (time.Time, field.ErrorList) {
	switch {
	case (rules.For == "") == (rules.Until == ""):
		return time.Time{}, field.ErrorList{field.Invalid(at, string(rules.For)+rules.Until, "give exactly one of for and until")}
	case rules.For != "":
		length, err := timeline.ParseDuration(string(rules.For))
		if err != nil {
			return time.Time{}, field.ErrorList{field.Invalid(at.Child("for"), rules.For, err.Error())}
		}
		if created.IsZero() {
			return time.Time{}, nil
		}
		return created.Add(length), nil
	}
	zone, errs := times.Zone(rules.TimeZone, at.Child("timeZone"))
	if len(errs) > 0 {
		return time.Time{}, errs
	}
	until, err := timeline.ParseUntil(rules.Until, zone)
	switch {
	case err == nil && until.IsZero():
		err = errors.New("give an instant, a local time or a date")
	case until.UTC().Year() > 9999:
		err = errors.New("the end is after the year 9999")
	case err == nil && until.UTC().Year() < 1:
		err = errors.New("the end is before the year 1")
	}
	if err != nil {
		return time.Time{}, field.ErrorList{field.Invalid(at.Child("until"), rules.Until, err.Error())}
	}
	return until, nil
}

// needs returns the capabilities for an effect. To stay awake needs none.
func needs(effect v1alpha1.OverrideEffect) []v1alpha1.Capability {
	switch effect {
	case v1alpha1.OverrideAsleep:
		return []v1alpha1.Capability{v1alpha1.CapabilitySuspend, v1alpha1.CapabilityScale}
	case v1alpha1.OverrideHold:
		return []v1alpha1.Capability{v1alpha1.CapabilityHold}
	}
	return nil
}

type override struct {
	order  pipeline.Override
	reason string
}

// active ends the pipeline after the end of the order. So the ledger restores the changes of the order.
func (o *override) active(f *pipeline.Frame) error {
	st := o.state(f.Input.Now)
	f.Decision.WakeAt(st.Next)
	f.Sayf("%s", st.Message)
	f.Done = st.Active == ""
	return nil
}

// bounds returns the limits of an order. An autoscaler and its scale target sleep and are held together, so an order to sleep or to
// hold has the limits of both. Schedules of the other object yield to an order to stay awake there.
func (o *override) bounds(in *pipeline.Input) []pipeline.Bounds {
	if o.order.Effect == v1alpha1.OverrideAwake {
		return in.Bounds
	}
	return slices.Concat(in.Bounds, in.Beside)
}

// effect claims the effect, unless a schedule of the target does not yield. The claim to stay awake is not needed: the
// schedules that yield claim nothing.
func (o *override) effect(f *pipeline.Frame) error {
	bounds := o.bounds(f.Input)
	for i := range bounds {
		b := &bounds[i]
		if o.order.Effect == v1alpha1.OverrideAwake && !o.order.Names(b.By) {
			continue
		}
		until, why := b.Yields(&o.order, f.Input.Now)
		if why != "" {
			f.Decision.Limited = append(f.Decision.Limited, why)
			continue
		}
		f.Decision.Yielding = append(f.Decision.Yielding, b.By)
		f.Decision.WakeAt(until)
	}
	if o.order.Effect == v1alpha1.OverrideHold && !f.Input.Target.CanHold {
		f.Decision.Limited = append(f.Decision.Limited, "no hold of the adapter fits the object")
	}
	if other := f.Input.Awake; o.order.Effect == v1alpha1.OverrideAsleep && other != nil {
		f.Decision.WakeAt(other.Until)
		f.Decision.Limited = append(f.Decision.Limited, fmt.Sprintf("%s keeps it awake, and more capacity wins", other.By))
	}
	if t := &f.Input.Target; o.order.Effect == v1alpha1.OverrideAsleep && t.RunsToCompletion && t.Created.After(o.order.Since) {
		f.Decision.Limited = append(f.Decision.Limited, "it was created during the order, and ends by itself")
	}
	for _, why := range f.Decision.Limited {
		f.Sayf("limited: %s", why)
	}
	if o.order.Effect == v1alpha1.OverrideAwake || len(f.Decision.Limited) > 0 {
		return nil
	}
	in := workload.Intent{By: o.order.By, Class: workload.ClassSet, Override: true, Enforce: true, Hold: true, Since: o.order.Since,
		Reason: o.reason}
	if o.order.Effect == v1alpha1.OverrideAsleep {
		in.Class, in.Hold, in.Enforce = workload.ClassSleep, false, false
		in.Size = &workload.Size{Mode: workload.SizeSleep}
		in.Size.Capacity = f.Input.Target.Capacity(*in.Size)
	}
	f.Decision.Intents = append(f.Decision.Intents, in)
	f.Sayf("in force")
	return nil
}

// text returns the order in one line.
func (o *override) text() string {
	text := map[v1alpha1.OverrideEffect]string{
		v1alpha1.OverrideAwake: "kept awake", v1alpha1.OverrideAsleep: "put to sleep", v1alpha1.OverrideHold: "held",
	}[o.order.Effect]
	if !o.order.Until.IsZero() {
		text += " until " + o.order.Until.Format(time.RFC3339)
	}
	return text + ": " + o.reason
}

// state returns the state for status, printed columns and metrics.
func (o *override) state(now time.Time) policy.Summary {
	if !o.order.IsActive(now) {
		return policy.Summary{Name: Ended, Since: o.order.Until, Message: "ended at " + o.order.Until.Format(time.RFC3339)}
	}
	return policy.Summary{Name: string(o.order.Effect), Asleep: o.order.Effect == v1alpha1.OverrideAsleep, Active: string(o.order.Effect),
		Since: o.order.Since, Next: o.order.Until, Message: o.text()}
}
