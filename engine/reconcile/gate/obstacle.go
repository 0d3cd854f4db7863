package gate

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// Enter implements Gate. The obstacle queues the target for its turn.
func (o *Obstacle) Enter(_ context.Context, w *Write) *Wait {
	if why, failed, ok := o.ask(w.Ref, w.sum); !ok {
		return obstructed(why, failed)
	}
	return nil
}

// Leave implements Gate. After a failure the target waits together with all other targets of the same obstacle.
func (o *Obstacle) Leave(w *Write, end End) *Wait {
	switch {
	case end.isAccepted():
		o.passed(w.Ref)
		return nil
	case !end.IsFailure():
		o.drop(w.Ref)
		return nil
	}
	reason := reasonOf(end.Err)
	_, before := o.Failing(w.Ref)
	answer, counted, first := o.failed(w.Ref, reason, w.sum, refusal(w.Verdict, w.Now, end.Err), end.Outcome == apply.Refused)
	if counted && !before {
		o.failing(w.Ref)
	}
	if first {
		o.Log.Error(end.Err, "Failed to write a target; further failures for the same reason are not logged", "target", w.Ref.String(),
			"policy", w.Verdict.Result.By.String(), "reason", reason)
	}
	return obstructed(answer, counted)
}

// Withdraw implements Gate.
func (o *Obstacle) Withdraw(ref workload.Ref) { o.drop(ref) }

// Forget implements Gate.
func (o *Obstacle) Forget(ref workload.Ref) { o.drop(ref) }

// obstructed returns the Wait of a target that waits for an obstacle.
func obstructed(why string, failed bool) *Wait {
	if failed {
		return &Wait{Outcome: status.Outcome{Failure: why}, Err: ErrQueued}
	}
	return &Wait{Outcome: status.Outcome{Waiting: why}, Err: ErrQueued}
}

// reasonOf returns the kind of an error. Errors that differ only in their object have the same kind.
func reasonOf(err error) string {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return fmt.Sprintf("%d %s", answer.Status().Code, answer.Status().Reason)
	}
	return "no answer"
}
