package reconcile

import (
	"cmp"
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Actuator acts on the pods or the requests of targets. It is told of each decision, and acts at its own pace.
type Actuator interface {
	// Decided records a decision about a target. The verdict has no object if the target is gone.
	Decided(ref workload.Ref, v *decide.Verdict)
	// Mark adds the state of a target's pods to the results of its policies. Results and opinions have the same order.
	Mark(ref workload.Ref, opinions []decide.Opinion, results []status.TargetResult)
	// Report sets the actuator's part of a policy's status in the object. It returns the reason and the message of a
	// fault that makes the policy unready; empty: no fault.
	Report(p *world.Policy, obj policy.Object) (reason, message string)
	// ChangedOn returns the number of objects of a kind with something to be restored on their pods. unread is the reason why
	// there may be more; empty: there are no more.
	ChangedOn(gk schema.GroupKind) (n int, unread string)
	// Leftover returns the reason why pods may still have to be restored for a policy being deleted, or "".
	Leftover(p *world.Policy) string
	// Run acts until the context ends.
	Run(ctx context.Context)
}

// Actuators are all actuators, in the order in which they mark results.
type Actuators []Actuator

func (all Actuators) decided(ref workload.Ref, v *decide.Verdict) {
	for _, a := range all {
		a.Decided(ref, v)
	}
}

func (all Actuators) mark(ref workload.Ref, opinions []decide.Opinion, results []status.TargetResult) {
	for _, a := range all {
		a.Mark(ref, opinions, results)
	}
}

// Report implements status.Actuators. It returns the first fault.
func (all Actuators) Report(p *world.Policy, obj policy.Object) (reason, message string) {
	for _, a := range all {
		why, text := a.Report(p, obj)
		reason, message = cmp.Or(reason, why), cmp.Or(message, text)
	}
	return reason, message
}

// ChangedOn returns the number of objects of a kind with something to be restored on their pods. unread is the first reason
// why there may be more; empty: there are no more.
func (all Actuators) ChangedOn(gk schema.GroupKind) (n int, unread string) {
	for _, a := range all {
		more, why := a.ChangedOn(gk)
		n, unread = n+more, cmp.Or(unread, why)
	}
	return n, unread
}

// Leftover returns the first reason why pods may still have to be restored for a policy being deleted, or "".
func (all Actuators) Leftover(p *world.Policy) string {
	for _, a := range all {
		if why := a.Leftover(p); why != "" {
			return why
		}
	}
	return ""
}

// Run runs all actuators until the context ends.
func (all Actuators) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, a := range all {
		wg.Go(func() { a.Run(ctx) })
	}
	wg.Wait()
}
