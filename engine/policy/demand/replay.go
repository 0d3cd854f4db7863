package demand

import (
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Replay is the outcome of a rule on a history.
type Replay struct {
	// Total is the length of the history. Asleep is the time in which the target would have slept. Unknown is the time without a
	// complete answer.
	Total, Asleep, Unknown time.Duration
	// Wakes is the number of times that use would have woken the target.
	Wakes int
}

// Replay applies the rule to the meanings of the successive steps of a history. The target is awake at first.
func (r *Rule) Replay(history []Value, end time.Time, step time.Duration) (out Replay) {
	u, asleep := workload.Use{}, false
	for i, v := range history {
		at := end.Add(-time.Duration(len(history)-1-i) * step)
		u = Observe(u, at, step, v, step)
		switch r.At(&u, at, time.Time{}, false).Class {
		case workload.ClassSleep:
			asleep = true
		case workload.ClassAwake:
			if asleep {
				out.Wakes++
			}
			asleep = false
		}
		out.Total += step
		if asleep {
			out.Asleep += step
		}
		if v == Missing || v == Unknown {
			out.Unknown += step
		}
	}
	return out
}
