// Package tortoise compiles a Tortoise or ClusterTortoise. Such a policy tunes the requests of its targets, and the bounds
// and target utilisation of their autoscalers, from the usage of their pods. The decisions are made in the packages below
// this one. The result for a target reaches the pipeline as advice. The pipeline only turns the advice into claims for the
// target and its autoscaler.
//
// Decisions (docs/decisions): 0037, 0045.
package tortoise

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of policies, as in ledger entries and messages.
const (
	KindName        = "Tortoise"
	ClusterKindName = "ClusterTortoise"
)

// Context is the input of compilation besides the spec.
type Context = policy.Context

// Compile compiles a Tortoise. With errors, the policy returned is policy.Broken.
func Compile(t *v1alpha1.Tortoise, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: KindName, Namespace: t.Namespace, Name: t.Name}
	selector, errs := selector.Namespaced(t.Spec.Target, t.Namespace, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, t.Spec.TortoiseRules, t, ctx)
}

// CompileCluster compiles a ClusterTortoise. With errors, the policy returned is policy.Broken.
func CompileCluster(t *v1alpha1.ClusterTortoise, ctx Context) (*policy.Policy, field.ErrorList) {
	id := workload.Policy{Kind: ClusterKindName, Name: t.Name}
	selector, errs := selector.Cluster(t.Spec.Target, ctx.Scope, field.NewPath("spec", "target"))
	return compile(id, selector, errs, t.Spec.TortoiseRules, nil, ctx)
}

// compile compiles rules. of is the Tortoise with these rules; nil: the rules are of a ClusterTortoise.
func compile(id workload.Policy, selector *selector.Selector, errs field.ErrorList, rules v1alpha1.TortoiseRules, of *v1alpha1.Tortoise,
	ctx Context) (*policy.Policy, field.ErrorList) {
	at := field.NewPath("spec")
	r, es := compileRules(rules, at)
	errs = append(errs, es...)
	errs = append(errs, ctx.RefuseKinds(selector.Kinds(), at.Child("target", "kinds"), func(k policy.AdaptedKind) bool { return !k.Requests },
		"its adapter does not say where requests are: see resources in the adapter")...)
	t := &tortoise{id: id, rules: r}
	if of != nil {
		errs = append(errs, t.made(of, ctx, at.Child("autoscaler"))...)
	}
	if len(errs) > 0 {
		broken := policy.Broken(id, errs)
		broken.Extras = t.extras()
		return broken, errs
	}
	return &policy.Policy{
		ID:     id,
		Target: selector,
		Needs:  []v1alpha1.Capability{v1alpha1.CapabilityResources},
		Pipeline: pipeline.Pipeline{
			{Name: "mode", Run: t.mode},
			{Name: "known", Run: t.known},
			{Name: "requests", Run: t.requests},
			{Name: "autoscaler", Run: t.autoscaler},
		},
		State:  t.state,
		Extras: t.extras(),
	}, nil
}

// tortoise is a compiled policy.
type tortoise struct {
	id    workload.Policy
	rules rules
	// template is the autoscaler to create; nil: none. deletesMade is true if the autoscaler is deleted with the policy.
	template    *policy.Template
	deletesMade bool
}

func (t *tortoise) extras() policy.Extras {
	return policy.Extras{Reporter: t, Tuner: t, Template: t.template, LeavesMade: !t.deletesMade}
}

func (t *tortoise) mode(f *pipeline.Frame) error {
	if !isOff(t.rules.mode) {
		return nil
	}
	f.Done = true
	if a := f.Input.Advice; f.Tracing() && a != nil && a.By == t.id {
		f.Sayf("Off: nothing is changed. It recommends %s, min %s, max %s. %s", amountsText(a.Amounts), numberText(a.Min), numberText(a.Max),
			strings.Join(a.Lines, "; "))
		return nil
	}
	f.Sayf("Off: nothing is changed")
	return nil
}

// known ends the pipeline if no result can be carried out yet. The earlier values then stay, on the target and its
// autoscaler. If another policy tunes the target, this policy claims nothing.
func (t *tortoise) known(f *pipeline.Frame) error {
	keep := []workload.Intent{{By: t.id, Class: workload.ClassKeep}, {By: t.id, Class: workload.ClassKeep, ForAutoscalers: true}}
	switch a := f.Input.Advice; {
	case a == nil:
		f.Sayf("too little is known yet: earlier values stay")
		f.Decision.Intents = keep
	case a.By != t.id:
		f.Sayf("%s tunes it", a.By)
	case a.Dry:
		f.Sayf("the known numbers were found with mode Off, and the first step is not chosen yet: earlier values stay")
		f.Decision.Intents = keep
	default:
		if f.Tracing() {
			f.Sayf("%s", strings.Join(a.Lines, "; "))
		}
		return nil
	}
	f.Done = true
	return nil
}

// requests claims the recommended requests of the target itself. Later changes by foreign writers are respected.
func (t *tortoise) requests(f *pipeline.Frame) error {
	a := f.Input.Advice
	amounts := a.Amounts
	if a.InPlace || a.OnCreate {
		of := workload.AmountInPlace
		if a.OnCreate {
			of = workload.AmountOnCreate
		}
		amounts = make(map[workload.Amount]int64, len(a.Amounts))
		for key, n := range a.Amounts {
			key.Kind = of
			amounts[key] = n
		}
	}
	f.Sayf("%s", amountsText(amounts))
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{
		By: t.id, Class: workload.ClassSet, Priority: t.rules.priority, Since: a.AmountsSince, Amounts: amounts, Limits: t.rules.limits,
		Reason: "tuned",
	})
	return nil
}

// autoscaler claims the recommended numbers of the target's autoscaler. They are enforced, so that in an emergency nobody
// can reduce the capacity unnoticed.
func (t *tortoise) autoscaler(f *pipeline.Frame) error {
	a := f.Input.Advice
	if a.Min == nil && a.Max == nil && len(a.Targets) == 0 {
		f.Sayf("none governs it, or it is left alone")
		return nil
	}
	f.Sayf("min %s, max %s, %s", numberText(a.Min), numberText(a.Max), amountsText(a.Targets))
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{
		By: t.id, Class: workload.ClassSet, Priority: t.rules.priority, Since: a.BoundsSince, Enforce: true, ForAutoscalers: true,
		Min: a.Min, Max: a.Max, Amounts: a.Targets, Reason: "tuned",
	})
	return nil
}

func numberText(n *int64) string {
	if n == nil {
		return "as it is"
	}
	return strconv.FormatInt(*n, 10)
}

// amountsText formats amounts.
func amountsText(m map[workload.Amount]int64) string {
	if len(m) == 0 {
		return "no amounts"
	}
	var parts []string
	for _, key := range workload.SortedAmounts(m) {
		parts = append(parts, fmt.Sprintf("%s %s", key, key.Text(m[key])))
	}
	return strings.Join(parts, ", ")
}

// state returns the state for status and printed columns.
func (t *tortoise) state(time.Time) policy.Summary {
	if isOff(t.rules.mode) {
		return policy.Summary{Name: "Off", Message: "spec.mode is Off: it recommends, and changes nothing"}
	}
	return policy.Summary{Name: string(t.rules.mode), Active: string(t.rules.mode),
		Message: fmt.Sprintf("spec.mode is %s: recommendations are carried out", t.rules.mode)}
}

// Condition implements policy.Reporter.
func (t *tortoise) Condition() string { return v1alpha1.ConditionActive }

// AppliedLimit implements policy.Reporter.
func (t *tortoise) AppliedLimit() int { return 0 }

// FillTuned implements policy.Tuner.
func (t *tortoise) FillTuned(obj policy.Object, s policy.TunedSummary) {
	var st *v1alpha1.TortoiseStatus
	switch o := obj.(type) {
	case *v1alpha1.Tortoise:
		st = &o.Status
	case *v1alpha1.ClusterTortoise:
		st = &o.Status
	default:
		return
	}
	st.Phases, st.Phase, st.Saved, st.NextChangeTime, st.Pods = nil, "", nil, nil, nil
	if s.Pods.Pods > 0 {
		st.Pods = policy.ResizedPods(s.Pods)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Phases)) {
		st.Phases = append(st.Phases, v1alpha1.PhaseCount{Phase: name, Targets: int32(s.Phases[name])})
		parts = append(parts, fmt.Sprintf("%s %d", name, s.Phases[name]))
	}
	if len(st.Phases) == 1 {
		parts = []string{st.Phases[0].Phase}
	}
	st.Phase = strings.Join(parts, ", ")
	if len(st.Phases) > 0 {
		cpu, memory := milli(s.Saved.MilliCPU), inBytes(s.Saved.MemoryBytes)
		st.Saved = &v1alpha1.Quantities{CPU: &cpu, Memory: &memory}
	}
	if !s.Next.IsZero() {
		st.NextChangeTime = &metav1.Time{Time: s.Next.Truncate(time.Second)}
	}
}

// FillStatus implements policy.Reporter.
func (t *tortoise) FillStatus(policy.Object, time.Time, policy.Summary, []policy.Applied) (activeBefore string) {
	if isOff(t.rules.mode) {
		return ""
	}
	return string(t.rules.mode)
}
