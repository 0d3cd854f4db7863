package tuning

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/tuning/rollout"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Refusals returns the cause for which pods of a target are refused.
type Refusals interface {
	Why(ctx context.Context, kind schema.GroupVersionKind, ref workload.Ref, uid string, missing bool, unready []*workload.Pod) (string, error)
}

// stuck returns the reason why the roll-out of tuned values does not become ready: for rollout.Longest no further pod
// became ready with the requests, and the cluster reports a cause. It returns "" if the roll-out is complete, goes on,
// or is not blocked, for example while it is paused.
func (l *Actuator) stuck(ctx context.Context, s *world.Snapshot, ref workload.Ref, x *subject, f *workload.Fleet) string {
	k, obj := s.Kind(ref.GroupKind), s.Object(ref)
	if l.opts.Refusals == nil || k == nil || obj == nil || !k.Adapter.KeepsAmounts() || !k.Adapter.SizesPods() || !hasSet(obj, x.policy) {
		x.progress = progress{}
		return ""
	}
	now, is := l.opts.Clock.Now(), k.Adapter.Observe(obj)
	since, asked := inTemplate(s, ref, x.policy, now)
	if is.Settled || len(asked) == 0 {
		x.progress = progress{}
		return ""
	}
	still, unready := x.progress.update(f, asked, since, now)
	if still < rollout.Longest {
		return ""
	}
	pods := 0
	for _, c := range is.Components {
		pods += int(c.Replicas)
	}
	why, err := l.opts.Refusals.Why(ctx, k.Resource.GroupVersion().WithKind(ref.Kind), ref, x.uid, len(f.Pods) < pods, unready)
	if err != nil {
		l.opts.Log.Error(err, "Failed to read why a roll-out of requests does not become ready", "target", ref.String())
		return ""
	}
	x.progress.again(now)
	return why
}

// hasSet reports whether a policy has set a field of an object.
func hasSet(obj *workload.Object, id workload.Policy) bool {
	return slices.ContainsFunc(obj.Ledger, func(e workload.Entry) bool { return e.By == id.String() })
}
