package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/cani"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// horizon is the length of the time in which the next changes are searched.
const horizon = 400 * 24 * time.Hour

// shown is the number of next changes in an explanation.
const shown = 3

// part returns the objects that are simulated to find the next changes of one object. Usually they are the object and
// its related objects. If a policy of the object has a rate limit, they are all objects, and limited is true.
func part(memory *world.Memory, ref workload.Ref, v *decide.Verdict) (refs []workload.Ref, limited bool) {
	limited = slices.ContainsFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.Up.Batch+o.Policy.Down.Batch > 0 })
	take := func(r workload.Ref) { refs = append(refs, r) }
	if limited {
		memory.EachObject(take)
	} else {
		memory.Related(ref, func(r workload.Ref) {
			take(r)
			if k := memory.Kind(r.GroupKind); k != nil && k.Adapter.CanOwn() {
				memory.Related(r, take) // other objects that it applies decide too when an owner is held
			}
		})
	}
	return refs, limited
}

// Around returns the world of an object and of the objects that its changes depend on. If a policy of the object has a rate
// limit, these are all objects.
func Around(w *source.World, ref workload.Ref, at time.Time) (*source.World, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	v := decide.Target(memory, ref, at, nil)
	refs, _ := part(memory, ref, &v)
	next := *w
	next.Objects = nil
	for _, r := range slices.CompactFunc(slices.SortedFunc(slices.Values(refs), workload.Ref.Compare), sameRef) {
		if raw := memory.Raw(r); raw != nil {
			next.Objects = append(next.Objects, raw)
		}
	}
	return &next, nil
}

func sameRef(a, b workload.Ref) bool { return a == b }

// reach returns the world at the instant of the explanation. It simulates the writes of the policies from start to this
// instant.
func (e *Explanation) reach(memory *world.Memory, ref workload.Ref, start time.Time) (*world.Memory, error) {
	if !start.Before(e.At) {
		return memory, nil
	}
	v := decide.Target(memory, ref, start, nil)
	refs, _ := part(memory, ref, &v)
	later := memory.Sandbox(refs)
	_, err := decide.Simulate(later, start, e.At)
	if errors.Is(err, decide.ErrRestless) {
		e.Notes = append(e.Notes, err.Error())
		return later, nil
	}
	return later, err
}

// foresee simulates the time after the instant and adds the next changes.
func (e *Explanation) foresee(memory *world.Memory, ref workload.Ref, v *decide.Verdict) error {
	refs, limited := part(memory, ref, v)
	if limited {
		e.Notes = append(e.Notes,
			"a rate limit spreads changes over the targets of a policy: those of this object may come later than shown, where other targets "+
				"come first")
	}
	for write, err := range decide.Writes(memory.Sandbox(refs), e.At, e.At.Add(horizon)) {
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
	return nil
}

// judge adds for each action whether the freezes allow it on the object.
func (e *Explanation) judge(ctx context.Context, memory *world.Memory, target source.Target, o Input) error {
	judge := cani.NewEvaluator(memory, o.FlyballNamespace)
	for _, action := range []workload.Change{workload.ChangeRollOut, workload.ChangeScale, workload.ChangeDelete} {
		answer, err := judge.Answer(ctx, evaluate.Inquiry{Target: cani.TargetOf(target), Action: action, User: o.User, At: o.At})
		if err != nil {
			return fmt.Errorf("judge %s: %w", action.Names()[0], err)
		}
		answer.Actions = action.Names()
		e.Freezes = append(e.Freezes, answer)
	}
	return nil
}
