// Package trigger compiles a Trigger or ClusterTrigger: prioritised windows of time that set min, max and size of targets.
// The values in force at an instant follow only from the windows. They do not depend on earlier calls or on the order of
// the triggers. The package only returns claims, with the start of each claim and the time of the next change. The ledger
// restores the targets.
//
// Decisions (docs/decisions): 0010.
package trigger

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of triggers in ledger entries and messages.
const (
	KindName        = "Trigger"
	ClusterKindName = "ClusterTrigger"
)

// Context is the input of compiling a trigger besides its spec.
type Context = policy.Context

// Compile compiles a Trigger. With errors, it returns policy.Broken.
func Compile(t *v1alpha1.Trigger, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: KindName, Namespace: t.Namespace, Name: t.Name}
	selector, errs := selector.Namespaced(t.Spec.Target, t.Namespace, ctx.Scope, field.NewPath("spec", "target"))
	template, es := compileTemplate(t, selector, ctx)
	return compile(id, selector, append(errs, es...), t.Spec.TriggerRules, template, ctx)
}

// CompileCluster compiles a ClusterTrigger. With errors, it returns policy.Broken.
func CompileCluster(t *v1alpha1.ClusterTrigger, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: ClusterKindName, Name: t.Name}
	selector, errs := selector.Cluster(t.Spec.Target, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, t.Spec.TriggerRules, nil, ctx)
}

func compile(id workload.Policy, selector *selector.Selector, errs field.ErrorList, rules v1alpha1.TriggerRules, template *policy.Template,
	ctx Context) (*policy.Policy, field.ErrorList) {
	at := field.NewPath("spec")
	all, es := compileTriggers(rules, ctx.Calendars, at)
	errs = append(errs, es...)
	errs = append(errs, checkKinds(rules, selector.Kinds(), ctx, at.Child("triggers"))...)
	if len(errs) > 0 {
		broken := policy.Broken(id, errs)
		broken.Reporter = reporter{}
		return broken, errs
	}
	p := &triggers{id: id, set: newSet(all, rules.Overlap)}
	return &policy.Policy{
		ID:       id,
		Target:   selector,
		Needs:    needs(rules),
		Pipeline: p.pipeline(),
		State:    p.state,
		Extras:   policy.Extras{Reporter: reporter{}, FieldOf: p.field, Template: template},
	}, nil
}

// needs returns the capabilities that triggers need. Min and max need bounds. A size needs scale: it belongs to the object
// itself or to the target of an autoscaler.
func needs(rules v1alpha1.TriggerRules) []v1alpha1.Capability {
	out := []v1alpha1.Capability{v1alpha1.CapabilityBounds}
	for _, t := range rules.Triggers {
		if t.During.Replicas != nil || t.After != nil && t.After.Replicas != nil {
			return append(out, v1alpha1.CapabilityScale)
		}
	}
	return out
}

type triggers struct {
	id  workload.Policy
	set set
	// regimes are the last results of set. Callers only read them.
	regimes timeline.Kept[*regime]
}

// at returns the regime at an instant.
func (p *triggers) at(now time.Time) *regime {
	return p.regimes.At(now, func(now time.Time) *regime {
		r := p.set.at(now)
		return &r
	})
}

// pipeline reads from top to bottom. The windows decide the triggers in force and their combined values. The size is then
// enforced, or set only once if the target has an autoscaler.
func (p *triggers) pipeline() pipeline.Pipeline {
	return pipeline.Pipeline{
		{Name: "window", Run: p.window},
		{Name: "size", Run: p.size},
	}
}

func (p *triggers) window(f *pipeline.Frame) error {
	r := p.at(f.Input.Now)
	f.Decision.WakeAt(r.until)
	if f.Tracing() {
		f.Sayf("%s", r.describe(p.set.next(*r)))
	}
	if r.phase == idle {
		f.Done = true
		return nil
	}
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{
		By: p.id, Class: workload.ClassSet, Priority: r.priority, Since: r.since, Enforce: true, Min: r.min, Max: r.max, Reason: r.active(),
	})
	if r.replicas == nil {
		f.Done = true
		return nil
	}
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{
		By: p.id, Class: workload.ClassSet, Priority: r.priority, Since: r.begun, Once: true, Resumed: r.resumed, Reason: r.active(),
		Size: &workload.Size{Mode: workload.SizeExactly, Replicas: *r.replicas},
	})
	return nil
}

// size completes the second intent, the claim for the size. An interrupted window does not set the size again.
func (p *triggers) size(f *pipeline.Frame) error {
	seen := &f.Input.Target
	values, sized := &f.Decision.Intents[0], &f.Decision.Intents[1]
	sized.Size.Capacity = seen.Capacity(*sized.Size)
	switch {
	case seen.Governs, seen.Governed:
		sized.ForGoverned = seen.Governs
		if seen.Governs {
			sized.Size.Capacity = sized.Size.Replicas // the scale target is not known here
		}
		if sized.Resumed {
			f.Sayf("was set when %s began", sized.Reason)
			return nil
		}
		f.Sayf("set once to %d, inside the autoscaler's bounds", sized.Size.Replicas)
		return nil
	case len(seen.Components) == 0 && (values.Min != nil || values.Max != nil):
		f.Sayf("the kind has bounds but no count")
	default:
		values.Size = sized.Size
		f.Sayf("held at %d", sized.Size.Replicas)
	}
	f.Decision.Intents = f.Decision.Intents[:1]
	return nil
}

// state returns the state for status, printed columns and metrics.
func (p *triggers) state(now time.Time) policy.Summary {
	r := p.at(now)
	next := p.set.next(*r)
	return policy.Summary{Name: r.phase.String(), Active: r.active(), Since: r.since, Next: next, Message: r.describe(next)}
}

// field returns the fields of the spec that give the value of a bound at an instant.
func (p *triggers) field(now time.Time, facet string) string {
	r := p.at(now)
	part := "during"
	if r.phase == after {
		part = "after"
	}
	var fields []string
	for i := range p.set.all {
		t := &p.set.all[i]
		values := &t.during
		if r.phase == after {
			values = t.after
		}
		if r.phase == idle || values == nil || !slices.Contains(r.names, t.name) {
			continue
		}
		asked, inForce := values.Min, r.min
		if facet == "max" {
			asked, inForce = values.Max, r.max
		}
		if asked != nil && ptr.Equal(asked, inForce) {
			fields = append(fields, fmt.Sprintf("spec.triggers[%d].%s.%s", t.index, part, facet))
		}
	}
	return strings.Join(fields, ", ")
}

func (r *regime) describe(next time.Time) string {
	text := "no window is open"
	if r.phase != idle {
		text = r.active()
		if r.phase == after {
			text = "after " + text
		}
	}
	if !r.since.IsZero() {
		text += " since " + r.since.Format(time.RFC3339)
	}
	for _, v := range []struct {
		name string
		n    *int64
	}{{"min", r.min}, {"max", r.max}, {"replicas", r.replicas}} {
		if v.n != nil {
			text += fmt.Sprintf(", %s %d", v.name, *v.n)
		}
	}
	if next.IsZero() {
		return text + ", no further transition"
	}
	return text + ", next transition " + next.Format(time.RFC3339)
}
