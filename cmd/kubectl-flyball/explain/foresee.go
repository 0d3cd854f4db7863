package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/verdict"
	"flyball.dev/flyball/engine/admit/court"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// horizons are how far is looked for the next changes, one after the other.
var horizons = []time.Duration{8 * 24 * time.Hour, 62 * 24 * time.Hour, 400 * 24 * time.Hour}

// shown is how many changes to come are told.
const shown = 3

// foresee simulates what comes next. Where no rate limit ties the object to others, only it and its relations are simulated.
func (e *Explanation) foresee(memory *world.Memory, ref workload.Ref, v *decide.Verdict) error {
	limited := slices.ContainsFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.Up.Batch+o.Policy.Down.Batch > 0 })
	var part []workload.Ref
	take := func(r workload.Ref) { part = append(part, r) }
	if limited {
		memory.EachObject(take)
		e.Notes = append(e.Notes, "a rate limit spreads changes over the targets of a policy: those of this object may come later than shown, where other targets come first")
	} else {
		memory.Related(ref, take)
	}
	for _, horizon := range horizons {
		e.Next = e.Next[:0]
		for write, err := range decide.Writes(memory.Sandbox(part), e.At, e.At.Add(horizon)) {
			if errors.Is(err, decide.ErrRestless) {
				e.Notes = append(e.Notes, err.Error())
				return nil
			}
			if err != nil {
				return err
			}
			if write.Target == ref && write.Message != "" {
				e.Next = append(e.Next, Change{At: write.At, Message: write.Message, By: write.By.String()})
			}
			if len(e.Next) == shown {
				return nil
			}
		}
	}
	return nil
}

// judge asks what people may do to the object.
func (e *Explanation) judge(ctx context.Context, memory *world.Memory, target source.Target, o Options) error {
	judge := verdict.NewCourt(memory, o.FlyballNamespace)
	for _, action := range []workload.Change{workload.ChangeRollOut, workload.ChangeScale, workload.ChangeDelete} {
		answer, err := judge.Answer(ctx, court.Question{Target: verdict.TargetOf(target), Action: action, User: o.User, At: o.At})
		if err != nil {
			return fmt.Errorf("judge %s: %w", action.Names()[0], err)
		}
		answer.Actions = action.Names()
		e.Freezes = append(e.Freezes, answer)
	}
	return nil
}
