package target

import (
	"fmt"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods/cost"
	"flyball.dev/flyball/engine/pods/resize"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/workload"
)

// markPods adds the state of a target's pods to the mark of the policy that orders them.
func markPods(marks []status.TargetResult, n cost.PodStatus) {
	for i := range marks {
		m := &marks[i]
		if m.Policy != n.Policy || m.State != status.Set {
			continue
		}
		m.Failure, m.Waiting, m.Contested = n.Failure, n.Waiting, n.Contested()
		switch {
		case n.Yields != "":
			m.State, m.Override = status.Overridden, n.Yields
		case n.Failure != "":
			m.State = status.Failed
		case n.Waiting != "":
			m.State = status.Pending
		}
	}
}

// markResized adds the state of a target's pods to the mark of the policy that changes them in place.
func markResized(marks []status.TargetResult, n resize.Note) {
	for i := range marks {
		m := &marks[i]
		if m.Policy != n.Policy || m.State != status.Set {
			continue
		}
		switch waits := n.Waits(); {
		case n.Failure != "":
			m.State, m.Failure = status.Failed, n.Failure
		case waits != "":
			m.State, m.Waiting = status.Pending, waits
		}
	}
}

// markTuned adds the state of tuning to the marks of tuning policies. Marks and opinions have the same order.
func markTuned(marks []status.TargetResult, opinions []decide.Opinion, n tuning.Note) {
	for i := range marks {
		m, o := &marks[i], &opinions[i]
		if o.Policy.Tuner == nil || o.OnBehalf || o.Left {
			continue
		}
		switch {
		case m.State == status.Failed:
		case n.Policy != (workload.Policy{}) && n.Policy != m.Policy:
			m.State, m.Override = status.Overridden, fmt.Sprintf("%s tunes it", n.Policy)
		case n.Failure != "":
			m.State, m.Failure = status.Failed, n.Failure
		case o.Silent && m.State == status.Set:
			m.State = status.Awake
		}
	}
}
