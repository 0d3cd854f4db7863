package tortoise

import (
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// tuner learns from a target, and decides by a profile. forecaster and formulas implement it.
type tuner interface {
	learns
	// Decide returns the recommendation. Hours returns the minima of the next 24 hours for a request.
	Decide(spec tune.Spec, o tune.Observed) tune.Recommendation
	Hours(spec tune.Spec, now time.Time, request int64) []int
	// follow takes over the rules of the learner that the input of Decide does not have.
	follow(m *learner)
	// pack returns the checkpoint with the learnt state and the memory of the learner.
	pack(m memory) []byte
}

// learns is the part of a tuner that learns from usage.
type learns interface {
	Observe(samples ...workload.Sample)
	// HistoryRange returns the times of the first and the newest sample. Forget drops only the samples.
	HistoryRange() (first, newest time.Time)
	Forget()
	// MakeRoom drops the containers that the target does not have, if there is no room for another one.
	MakeRoom(has func(container string) bool)
}

// newTuner returns an empty tuner of a profile.
func newTuner(r *rules) tuner {
	if r.formulas {
		return formulas{mercari.New()}
	}
	return forecaster{tune.New()}
}

// restored returns the tuner of a checkpoint.
func restored(k kept) (tuner, error) {
	if k.Original != nil {
		t, err := mercari.Restore(k.Original)
		return formulas{t}, err
	}
	t := tune.New()
	var err error
	t.Usage, err = tune.Unmarshal(k.Usage)
	t.State = k.State
	return forecaster{t}, err
}

// forecaster is the tuner of all profiles except Tortoise.
type forecaster struct{ *tune.Tuner }

// follow implements tuner.
func (forecaster) follow(*learner) {}

// pack implements tuner. If the learnt state is too large, it leaves out containers that are not scaled, the last container
// first.
func (f forecaster) pack(m memory) []byte {
	history := f.Usage
	for drop := len(history.Containers()) - 1; ; drop-- {
		out := pack(kept{Version: keptVersion, Memory: m, State: f.State, Usage: history.Marshal()})
		if len(out) <= maxKept || drop < 0 {
			return out
		}
		if smaller, err := tune.Unmarshal(history.Marshal()); err == nil {
			if name := smaller.Containers()[drop]; name != m.Scaled {
				smaller.Reset(name)
			}
			history = smaller
		}
	}
}

// formulas is the tuner of the profile Tortoise: the formulas of mercari/tortoise.
type formulas struct{ *mercari.Tuner }

// follow implements tuner.
func (f formulas) follow(m *learner) { f.Rules = m.original() }

// pack implements tuner.
func (f formulas) pack(m memory) []byte {
	return pack(kept{Version: keptVersion, Memory: m, Original: f.Keep()})
}
