// Package deletioncost compiles a DeletionCost or ClusterDeletionCost: a claim that the pods of targets get
// deletion costs, by an algorithm that assigns them with the fewest changes. Targets are not changed, so nothing is restored
// there; the costs are on the pods.
package deletioncost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of policies in messages.
const (
	Kind        = "DeletionCost"
	ClusterKind = "ClusterDeletionCost"
)

// defaultSpreadBy is the label of zones.
const defaultSpreadBy = "topology.kubernetes.io/zone"

// Context is the input of compiling a policy besides its spec.
type Context = policy.Context

// Compile compiles a DeletionCost. With errors, it returns policy.Broken.
func Compile(d *v1alpha1.DeletionCost, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: Kind, Namespace: d.Namespace, Name: d.Name}
	selector, errs := selector.Namespaced(d.Spec.Target, d.Namespace, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, d.Spec.DeletionCostRules, ctx)
}

// CompileCluster compiles a ClusterDeletionCost. With errors, it returns policy.Broken.
func CompileCluster(d *v1alpha1.ClusterDeletionCost, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: ClusterKind, Name: d.Name}
	selector, errs := selector.Cluster(d.Spec.Target, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, d.Spec.DeletionCostRules, ctx)
}

func compile(id workload.Policy, selector *selector.Selector, errs field.ErrorList, rules v1alpha1.DeletionCostRules,
	ctx Context) (*policy.Policy, field.ErrorList) {
	at := field.NewPath("spec")
	errs = append(errs, validate(rules, at)...)
	errs = append(errs, ctx.RefuseKinds(selector.Kinds(), at.Child("target", "kinds"),
		func(k policy.AdaptedKind) bool { return !k.HeedsCosts },
		"its controller ignores the deletion cost of pods: it decides by itself which pod goes. An adapter says otherwise with "+
			"pods.deletionCost: true")...)
	d := &deletionCost{id: id, rules: withDefaults(rules)}
	if len(errs) > 0 {
		broken := policy.Broken(id, errs)
		broken.Extras = d.extras()
		return broken, errs
	}
	return &policy.Policy{
		ID:     id,
		Target: selector,
		Needs:  []v1alpha1.Capability{v1alpha1.CapabilityDeletionCost},
		Pipeline: pipeline.Pipeline{
			{Name: "suspended", Run: d.suspended},
			{Name: "costs", Run: d.costs},
		},
		State:  d.state,
		Extras: d.extras(),
	}, nil
}

// withDefaults returns the rules with all defaults filled in.
func withDefaults(rules v1alpha1.DeletionCostRules) v1alpha1.DeletionCostRules {
	if rules.Algorithm == "" {
		rules.Algorithm = Default
	}
	if len(rules.SpreadBy) == 0 {
		rules.SpreadBy = v1alpha1.NodeLabels{defaultSpreadBy}
	}
	going := v1alpha1.GoingNodes{}
	if rules.GoingNodes != nil {
		going = *rules.GoingNodes
	}
	if going.Taints == nil {
		going.Taints = DefaultGoingTaints
	}
	if going.Labels == nil {
		going.Labels = DefaultGoingLabels
	}
	rules.GoingNodes = &going
	return rules
}

// deletionCost is a compiled policy. Its rules have their defaults.
type deletionCost struct {
	id    workload.Policy
	rules v1alpha1.DeletionCostRules
}

func (d *deletionCost) suspended(f *pipeline.Frame) error {
	if d.rules.Suspend {
		f.Sayf("spec.suspend is true: pods get no cost")
		f.Done = true
	}
	return nil
}

func (d *deletionCost) costs(f *pipeline.Frame) error {
	text := d.text()
	f.Sayf("%s", text)
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{By: d.id, Class: workload.ClassSet, Priority: d.rules.Priority,
		DeletionCosts: text})
	return nil
}

// text returns all parameters on which the costs depend.
func (d *deletionCost) text() string {
	parts := []string{d.rules.Algorithm}
	for _, w := range d.rules.Weights {
		parts = append(parts, fmt.Sprintf("%s x%d", w.Algorithm, max(w.Weight, 1)))
	}
	if d.uses("Spread") {
		parts = append(parts, "over "+strings.Join(d.rules.SpreadBy, " and "))
	}
	if d.uses("NodeLifetime") {
		labels := make([]string, 0, len(d.rules.GoingNodes.Labels))
		for _, key := range slices.Sorted(maps.Keys(d.rules.GoingNodes.Labels)) {
			labels = append(labels, key+"="+d.rules.GoingNodes.Labels[key])
		}
		parts = append(parts, fmt.Sprintf("by taints %v and labels %v", d.rules.GoingNodes.Taints, labels))
	}
	if d.rules.DuringRollOut {
		parts = append(parts, "also during roll-outs")
	}
	return strings.Join(parts, " ")
}

// uses reports whether an algorithm contributes to the costs.
func (d *deletionCost) uses(name string) bool {
	return d.rules.Algorithm == name || d.rules.Algorithm == Combined &&
		slices.ContainsFunc(d.rules.Weights, func(w v1alpha1.WeightedAlgorithm) bool { return w.Algorithm == name })
}

// state returns the state for status and printed columns.
func (d *deletionCost) state(time.Time) policy.Summary {
	if d.rules.Suspend {
		return policy.Summary{Name: "Suspended", Message: "spec.suspend is true: pods get no cost"}
	}
	return policy.Summary{Name: "Active", Active: d.rules.Algorithm, Message: d.text()}
}

func (d *deletionCost) params() Params {
	p := Params{SpreadBy: d.rules.SpreadBy, GoingTaints: d.rules.GoingNodes.Taints, GoingLabels: d.rules.GoingNodes.Labels}
	for _, w := range d.rules.Weights {
		p.Weights = append(p.Weights, Weight{Name: w.Algorithm, Weight: max(w.Weight, 1)})
	}
	return p
}

func (d *deletionCost) extras() policy.Extras { return policy.Extras{PodOrderer: d, Reporter: d} }

// NodeLabels implements policy.PodOrderer.
func (d *deletionCost) NodeLabels() []string {
	keys := slices.Clone(d.rules.SpreadBy)
	if d.uses("NodeLifetime") {
		keys = append(keys, slices.Sorted(maps.Keys(d.rules.GoingNodes.Labels))...)
	}
	return keys
}

// PlanCosts implements policy.PodOrderer.
func (d *deletionCost) PlanCosts(f *workload.Fleet, now time.Time) workload.CostPlan {
	return Make(d.rules.Algorithm, f, d.params(), d.rules.DuringRollOut, now)
}

// podsPerWrite is the number of pods for which the default rate grows by one write per second.
const podsPerWrite = 100

// WritesPerSecond implements policy.PodOrderer.
func (d *deletionCost) WritesPerSecond(pods int) float64 {
	if given := d.rules.WritesPerSecond; given != nil {
		return float64(*given)
	}
	return max(1, float64(pods)/podsPerWrite)
}
