package tuning

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// addNewPods adds what pods of a target get as they are created: what its policies agree on for its pods. While a freeze denies that the target
// is scaled, that stays as it was: a pod that comes is like those that run.
func (l *Loop) addNewPods(ctx context.Context, ref workload.Ref, v *decide.Verdict, x *subject, st *v1alpha1.RecommendationStatus) error {
	if l.opts.NoNewPods {
		st.NewPods = nil
		return nil
	}
	if v.Kind != nil && v.Object != nil && isOfPods(v.Plan) {
		if gate := decide.ScaleGate(l.world.Snapshot(), v.Kind, v.Object, l.opts.Clock.Now()); gate.Kind != decide.GateOpen {
			before, err := l.toldBefore(ctx, ref, x)
			st.NewPods = before
			return err
		}
	}
	for _, c := range st.Containers {
		n := v1alpha1.NewContainer{Name: c.Name}
		cpu, memory := onCreate(v.Plan, c.Name, workload.CPU), onCreate(v.Plan, c.Name, workload.Memory)
		if cpu == nil && memory == nil {
			continue
		}
		if st.NewPods == nil {
			st.NewPods = &v1alpha1.NewPods{}
		}
		if cpu != nil {
			n.CPU, st.NewPods.Limits = resource.NewMilliQuantity(cpu.Value, resource.DecimalSI), policy.LimitsName(cpu.Limits)
		}
		if memory != nil {
			n.Memory, st.NewPods.Limits = resource.NewQuantity(memory.Value, resource.BinarySI), policy.LimitsName(memory.Limits)
		}
		st.NewPods.Containers = with(st.NewPods.Containers, n)
	}
	return nil
}

// noNewPods says why nothing of a target can be carried out; empty: it can.
func (l *Loop) noNewPods(x *subject) string {
	if l.opts.NoNewPods && x.found.Advice != nil && x.found.Advice.OnCreate {
		return "spec.vertical.apply is OnCreate, and this manager serves no webhook for pods (--webhook, --webhook-pods)"
	}
	return ""
}

// toldBefore is what was told last of new pods, also by an earlier manager. What was told of another object of that name says nothing.
func (l *Loop) toldBefore(ctx context.Context, ref workload.Ref, x *subject) (*v1alpha1.NewPods, error) {
	if x.made {
		return x.newPods, nil
	}
	told, err := l.store.Read(ctx, ref)
	of := func(o metav1.OwnerReference) bool { return string(o.UID) == x.uid }
	if err != nil || told == nil || told.Spec.Policy != x.policy.String() || !slices.ContainsFunc(told.OwnerReferences, of) {
		return nil, err
	}
	return told.Status.NewPods, nil
}

// isOfPods says whether something is asked of pods.
func isOfPods(p workload.Plan) bool {
	for key := range p.Amounts {
		if key.Kind == workload.AmountInPlace || key.Kind == workload.AmountOnCreate {
			return true
		}
	}
	return false
}

// onCreate is what is asked of a container of new pods; nil: what its template says.
func onCreate(p workload.Plan, container string, of workload.Resource) *workload.Claim[int64] {
	for _, kind := range []workload.AmountKind{workload.AmountInPlace, workload.AmountOnCreate} {
		if claim, asked := p.Amounts[workload.Amount{Kind: kind, Component: container, Resource: of}]; asked {
			return &claim
		}
	}
	return nil
}

// with puts a container in the place of the one of its name, or behind the others.
func with(all []v1alpha1.NewContainer, c v1alpha1.NewContainer) []v1alpha1.NewContainer {
	for i := range all {
		if all[i].Name == c.Name {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}
