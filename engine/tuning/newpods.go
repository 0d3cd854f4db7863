package tuning

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"

	"flyball.dev/flyball/engine/workload"
)

// addNewPods adds the merged requests for created pods of a target. While a freeze denies scaling of the target, the
// earlier numbers stay: a new pod is like its siblings.
func (l *Loop) addNewPods(ctx context.Context, ref workload.Ref, v *decide.Verdict, x *subject, st *v1alpha1.RecommendationStatus) error {
	if l.opts.NoNewPods {
		st.NewPods = nil
		return nil
	}
	if v.Kind != nil && v.Object != nil && IsAsked(v.Plan) {
		if gate := decide.ScaleGate(l.world.Snapshot(), v.Kind, v.Object, l.opts.Clock.Now()); gate.Kind != decide.GateOpen {
			before, err := l.toldBefore(ctx, ref, x)
			st.NewPods = before
			return err
		}
	}
	st.NewPods = Add(st.NewPods, v.Plan, st.Containers)
	return nil
}

// noNewPods returns the reason why no number of a target can be carried out, or "".
func (l *Loop) noNewPods(x *subject) string {
	if l.opts.NoNewPods && x.found.Advice != nil && x.found.Advice.OnCreate {
		return "spec.vertical.apply is OnCreate, and this manager serves no webhook for pods (--webhook, --webhook-pods)"
	}
	return ""
}

// toldBefore returns the last reported numbers for new pods, even if an earlier manager reported them. Numbers that
// were reported for a different object of that name are not returned.
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
