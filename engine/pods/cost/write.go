package cost

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/podplan"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// failuresAtMost is the number of refused writes after which the rest of a plan is left to the next try, which begins
// with that rest.
const failuresAtMost = 3

// setAll sets as many costs as the budget allows. It returns the note with the result, and the error of the first
// refused write.
func (l *Loop) setAll(ctx context.Context, ref workload.Ref, p *world.Policy, changes []podplan.Change, n PodStatus) (PodStatus, error) {
	now, budget := l.clock.Now(), l.book.budget(p.ID, p.PodOrderer)
	var failures []error
	l.written.sortRefusedIn(changes, now)
	for i, c := range changes {
		if l.written.isUndone(c, now) {
			n.Undone++
			continue
		}
		if wait := budget.Take(now); wait > 0 {
			n.Waiting = "the write budget holds up " + workload.Count(len(changes)-i, "pod")
			l.queue.AddAfter(ref, wait)
			break
		}
		cost := strconv.Itoa(int(c.Cost))
		switch err := l.write(ctx, p.ID, c.Pod, &cost); {
		case err == nil:
			l.written.add(c, now)
		case errors.Is(err, apply.ErrBehind): // the pod has changed, and the watch will bring its present form
			l.queue.AddAfter(ref, calm)
		case errors.Is(err, apply.ErrUndone):
			l.written.addUndone(c, now)
			n.Undone++
		default:
			l.written.refuse(c.Pod, now, err)
			failures = append(failures, err)
		}
		if len(failures) == failuresAtMost {
			break
		}
	}
	if n.Undone > 0 {
		l.queue.AddAfter(ref, patience)
	}
	if len(failures) == 0 {
		return n, nil
	}
	n.Failure = failures[0].Error()
	return n, failures[0]
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// write sets or removes the cost of a pod. The pod must be unchanged since it was read, because a different writer
// may have set a cost.
func (l *Loop) write(ctx context.Context, id workload.Policy, pod *podplan.Pod, cost *string) error {
	value, kept := "null", workload.Kept{Key: podplan.CostAnnotation}
	if cost != nil {
		value, kept.Value = strconv.Quote(*cost), *cost
	}
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%q:%s}}}`, pod.Version, podplan.CostAnnotation, value)
	obj := &workload.Object{Namespace: pod.Namespace, Name: pod.Name, ResourceVersion: pod.Version}
	result, err := l.writer.Apply(ctx, podResource, obj, &workload.Patch{Type: types.MergePatchType, Body: []byte(body), Keeps: &kept})
	l.metrics.wrote(id, string(result))
	if result == apply.Applied && l.book.wrote(id, l.clock.Now()) {
		l.audience.Dirty(id)
	}
	return result.PodError(err)
}
