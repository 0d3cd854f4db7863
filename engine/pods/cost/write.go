package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// setAll sets as many costs as the budget allows. It returns the note with the result, and the error of the first
// refused write.
func (l *Actuator) setAll(ctx context.Context, ref workload.Ref, p *world.Policy, changes []workload.CostChange, n PodStatus,
) (PodStatus, error) {
	now, budget := l.clock.Now(), l.book.budget(p.ID, p.PodOrderer)
	l.written.sortRefusedIn(changes, now)
	due := slices.DeleteFunc(slices.Clone(changes), func(c workload.CostChange) bool { return l.written.isUndone(c, now) })
	n.Undone += len(changes) - len(due)
	left, err := pods.Each(l.base, ref, budget, l.clock.Now, due, func(c workload.CostChange) error {
		cost := strconv.Itoa(int(c.Cost))
		err := l.write(ctx, p.ID, c.Pod, &cost)
		switch {
		case err == nil:
			l.written.add(c, now)
		case errors.Is(err, apply.ErrBehind):
		case errors.Is(err, apply.ErrUndone):
			l.written.addUndone(c, now)
			n.Undone++
			return nil
		default:
			l.written.refuse(c.Pod, now, err)
		}
		return err
	})
	if left > 0 {
		n.Waiting = "the write budget holds up " + workload.Count(left, "pod")
	}
	if n.Undone > 0 {
		l.queue.AddAfter(ref, patience)
	}
	if err != nil {
		n.Failure = err.Error()
	}
	return n, err
}

// write sets or removes the cost of a pod. The pod must be unchanged since it was read, because a different writer
// may have set a cost.
func (l *Actuator) write(ctx context.Context, id workload.Policy, pod *workload.Pod, cost *string) error {
	value, kept := "null", workload.Kept{Key: workload.CostAnnotation}
	if cost != nil {
		value, kept.Value = strconv.Quote(*cost), *cost
	}
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%q:%s}}}`, pod.Version, workload.CostAnnotation, value)
	result, err := l.base.Write(ctx, pod, &workload.Patch{Type: types.MergePatchType, Body: []byte(body), Keeps: &kept})
	l.metrics.wrote(id, string(result))
	if result == apply.Applied && l.book.wrote(id, l.clock.Now()) {
		l.audience.Dirty(id)
	}
	return err
}
