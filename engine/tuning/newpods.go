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

// addNewPods adds the merged requests for created pods of a target. While a freeze denies scaling of the target, the
// earlier numbers stay: a new pod is like its siblings.
func (l *Actuator) addNewPods(ctx context.Context, ref workload.Ref, v *decide.Verdict, x *subject,
	st *v1alpha1.RecommendationStatus) error {
	if l.opts.NoNewPods {
		st.NewPods = nil
		return nil
	}
	if v.Kind != nil && v.Object != nil && isAsked(v.Plan) {
		if gate := decide.ScaleGate(l.world.Snapshot(), v.Kind, v.Object, l.opts.Clock.Now()); gate.Kind != decide.GateOpen {
			before, err := l.toldBefore(ctx, ref, x)
			st.NewPods = before
			return err
		}
	}
	st.NewPods = addClaimed(st.NewPods, v.Plan, st.Containers)
	return nil
}

// noWebhook is the reason why created pods stay as they are.
const noWebhook = "this manager serves no webhook for pods (--webhook, --webhook-pods)"

// boostTrouble returns the reason why pods of a target get no boost: no webhook for pods is served, or a pod could not come
// down from a boost.
func (l *Actuator) boostTrouble(f *workload.Fleet) string {
	if l.opts.NoNewPods {
		return noWebhook
	}
	return l.resized.Unable(f)
}

// noNewPods returns the reason why no number of a target can be carried out, or "".
func (l *Actuator) noNewPods(x *subject) string {
	if l.opts.NoNewPods && x.found.Advice != nil && x.found.Advice.OnCreate {
		return "spec.vertical.apply is OnCreate, and " + noWebhook
	}
	return ""
}

// toldBefore returns the last reported numbers for new pods, even if an earlier manager reported them. Numbers that
// were reported for a different object of that name are not returned.
func (l *Actuator) toldBefore(ctx context.Context, ref workload.Ref, x *subject) (*v1alpha1.NewPods, error) {
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

// isAsked reports whether a plan has requests for pods rather than for the target.
func isAsked(p workload.Plan) bool {
	for key := range p.Amounts {
		if key.Kind == workload.AmountInPlace || key.Kind == workload.AmountOnCreate {
			return true
		}
	}
	return false
}

// addClaimed adds the requests of a plan to the numbers for created pods; n may be nil.
func addClaimed(n *v1alpha1.NewPods, p workload.Plan, containers []v1alpha1.RecommendedContainer) *v1alpha1.NewPods {
	for _, of := range containers {
		c := v1alpha1.NewContainer{Name: of.Name}
		cpu, memory := claimOf(p, of.Name, workload.CPU), claimOf(p, of.Name, workload.Memory)
		if cpu == nil && memory == nil {
			continue
		}
		if n == nil {
			n = &v1alpha1.NewPods{}
		}
		if cpu != nil {
			c.CPU, n.Limits = resource.NewMilliQuantity(cpu.Value, resource.DecimalSI), policy.LimitsName(cpu.Limits)
		}
		if memory != nil {
			c.Memory, n.Limits = resource.NewQuantity(memory.Value, resource.BinarySI), policy.LimitsName(memory.Limits)
		}
		n.Containers = with(n.Containers, c)
	}
	return n
}

// claimOf returns the claim for a container of created pods, or nil if the template decides.
func claimOf(p workload.Plan, container string, of workload.Resource) *workload.Claim[int64] {
	for _, kind := range []workload.AmountKind{workload.AmountInPlace, workload.AmountOnCreate} {
		if claim, asked := p.Amounts[workload.Amount{Kind: kind, Component: container, Resource: of}]; asked {
			return &claim
		}
	}
	return nil
}

// with returns the containers with c: it replaces the container of the same name, or is appended.
func with(all []v1alpha1.NewContainer, c v1alpha1.NewContainer) []v1alpha1.NewContainer {
	for i := range all {
		if all[i].Name == c.Name {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}
