package tuning

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Decided implements reconcile.Actuator. Rounds look at all targets, whatever was decided.
func (l *Actuator) Decided(ref workload.Ref, v *decide.Verdict) { l.rollouts.Decided(ref, v) }

// Mark implements reconcile.Actuator. It adds the state of tuning to the results of tuning policies.
func (l *Actuator) Mark(ref workload.Ref, opinions []decide.Opinion, results []status.TargetResult) {
	n := l.book.noteOf(ref)
	for i := range results {
		r, o := &results[i], &opinions[i]
		if o.Policy.Tuner == nil || o.OnBehalf || o.Left {
			continue
		}
		switch {
		case r.State == status.Failed:
		case n.Policy != (workload.Policy{}) && n.Policy != r.Policy:
			r.State, r.Override = status.Overridden, fmt.Sprintf("%s tunes it", n.Policy)
		case n.Failure != "":
			r.State, r.Failure = status.Failed, n.Failure
		case o.Silent && r.State == status.Set:
			r.State = status.Awake
		}
	}
	l.rollouts.Mark(ref, results)
}

// Report implements reconcile.Actuator. The fault is that of a policy's source of usage.
func (l *Actuator) Report(p *world.Policy, obj policy.Object) (reason, message string) {
	if p.Tuner == nil {
		return "", ""
	}
	p.Tuner.FillTuned(obj, l.book.summary(p.ID))
	return l.book.unmeasured(p.Policy.Policy)
}

// ChangedOn implements reconcile.Actuator: changes of pods are those of package resize.
func (l *Actuator) ChangedOn(schema.GroupKind) (int, string) { return 0, "" }

// Leftover implements reconcile.Actuator: changes of pods are those of package resize.
func (l *Actuator) Leftover(*world.Policy) string { return "" }
