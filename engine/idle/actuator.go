package idle

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Decided implements target.Actuator. Each answer concerns all targets, whatever was decided.
func (l *Loop) Decided(workload.Ref, *decide.Verdict) {}

// Mark implements target.Actuator. A target that stays awake because its use is unknown is counted as unable to sleep.
func (l *Loop) Mark(ref workload.Ref, opinions []decide.Opinion, results []status.TargetResult) {
	for i := range results {
		r, o := &results[i], &opinions[i]
		if o.Policy.Idle == nil || o.Class != workload.ClassKeep || r.State != status.Awake {
			continue
		}
		if u := l.opts.World.Snapshot().Use(r.Policy, ref); u != nil && u.Doubt != "" {
			r.State, r.Unable = status.Unable, u.Doubt+": it stays as it is"
		}
	}
}

// Report implements target.Actuator. The fault is that of the demand.
func (l *Loop) Report(p *world.Policy, _ policy.Object) (reason, message string) {
	f := l.faultOf(p.ID)
	return f.reason, f.message
}

// ChangedOn implements target.Actuator: no pod is changed.
func (l *Loop) ChangedOn(schema.GroupKind) int { return 0 }

// Leftover implements target.Actuator: no pod is changed.
func (l *Loop) Leftover(*world.Policy) string { return "" }
