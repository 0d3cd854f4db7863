package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Outcome is the result of executing a verdict.
type Outcome struct {
	// Failure, Waiting and Contested are as in Mark.
	Failure, Waiting, Contested string
}

// Marks returns the state of a target under each policy involved.
func Marks(v *decide.Verdict, out Outcome) []TargetResult {
	marks := make([]TargetResult, len(v.Opinions))
	for i, o := range v.Opinions {
		marks[i] = markOf(v, o, out)
	}
	return marks
}

func markOf(v *decide.Verdict, o decide.Opinion, out Outcome) TargetResult {
	id := o.Policy.ID
	if o.Alone != "" {
		return TargetResult{Policy: id, State: Unable, Unable: o.Alone, Control: o.Control}
	}
	if o.Policy.PodOrderer != nil {
		return markOfPods(v, o)
	}
	m := TargetResult{Policy: id, State: settled(v, o), Applied: appliedBy(v, o, out), Failure: out.Failure, Waiting: out.Waiting,
		Contested: out.Contested}
	if m.State == Overridden {
		m.Override = v.Result.Message
	}
	if f := v.Falling; f != nil {
		m.Falling = fmt.Sprintf("since %s: %s", f.Since.Format(time.RFC3339), f.Why)
	}
	m.limit(o)
	m.noteConflicts(v)
	if o.Err != nil {
		m.Failure = o.Err.Error()
	}
	if m.Failure == "" && !o.OnBehalf {
		m.Failure = v.Result.Failure
	}
	switch {
	case m.Failure != "":
		m.State = Failed
	case o.OnBehalf:
		m.State = None
	case v.Result.Patch != nil && m.State != Overridden:
		m.State = Pending
	case m.State == Unable:
		m.Unable = v.Result.Message
	}
	if m.State != Overridden {
		m.Override = ""
	}
	if v.Object != nil && slices.Contains([]Mark{Awake, Asleep, FallingAsleep, Set}, m.State) {
		m.Paused = v.Kind.Adapter.Paused(v.Object)
	}
	if o.Policy.Override != nil && (m.State == Overridden || m.State == Failed || m.State == Unable) {
		m.Applied = Applied{} // the target is not reached
	}
	return m
}

// limit notes that an Override does not have its whole effect on a target, or which schedules yield to it.
func (m *TargetResult) limit(o decide.Opinion) {
	switch {
	case o.Limited != "":
		m.State, m.Override = Overridden, o.Limited
	case o.Reached:
		names := make([]string, len(o.Yielding))
		for i, id := range o.Yielding {
			names[i] = id.String()
		}
		m.Applied = Applied{Reached: true, Yielding: strings.Join(names, ", ")}
	}
}

// markOfPods returns the state of a target under a policy that orders its pods. The outcome for the target
// itself does not matter.
func markOfPods(v *decide.Verdict, o decide.Opinion) TargetResult {
	m := TargetResult{Policy: o.Policy.ID, State: Set}
	if v.Plan.DeletionCosts == nil {
		m.State = Awake // no deletion costs are in the plan, because the policy is suspended
	}
	m.noteConflicts(v)
	if o.Err != nil {
		m.Failure, m.State = o.Err.Error(), Failed
	}
	return m
}

// noteConflicts adds the conflicts that a policy has won or lost. It separates decisions by priority from decisions by
// a tie break. If the policy has won and lost, its state is Overridden.
func (m *TargetResult) noteConflicts(v *decide.Verdict) {
	var lost []string
	said := map[bool][]string{}
	for _, c := range v.Conflicts {
		text := ""
		switch m.Policy {
		case c.Loser:
			text = fmt.Sprintf("overruled by %s on %s (%s)", c.Winner, c.Facet, c.Reason)
			lost = append(lost, text)
		case c.Winner:
			text = fmt.Sprintf("overrules %s on %s (%s)", c.Loser, c.Facet, c.Reason)
		default:
			continue
		}
		said[c.Decided()] = append(said[c.Decided()], text)
	}
	if len(lost) > 0 {
		m.State, m.Override = Overridden, strings.Join(lost, ", ")
	}
	m.Conflict, m.Overruled = strings.Join(said[false], ", "), strings.Join(said[true], ", ")
}

// settled returns the state of a target after its verdict is executed.
func settled(v *decide.Verdict, o decide.Opinion) Mark {
	switch o.Class {
	case workload.ClassAwake:
		return Awake
	case workload.ClassKeep:
		return kept(v, o)
	case workload.ClassSet:
		switch v.Result.State {
		case workload.StateUnable:
			return Awake // the kind has no field for the policy's values
		case workload.StateOverridden:
			return Overridden
		}
		return Set
	}
	switch v.Result.State {
	case workload.StateAsleep, workload.StateSet: // a target that is held, annotated or bounded counts as asleep
		return Asleep
	case workload.StateFallingAsleep:
		return FallingAsleep
	case workload.StateUnable:
		return Unable
	case workload.StateAlreadyAsleep:
		return AlreadyAsleep
	case workload.StateOverridden:
		return Overridden
	default:
		return Awake
	}
}

// kept returns the state of a target whose policy only claims to keep its values.
func kept(v *decide.Verdict, o decide.Opinion) Mark {
	mine := func(e workload.Entry) bool { return e.Once == "" && slices.Contains(e.Claimants(), o.Policy.ID) }
	switch {
	case v.Object == nil || !slices.ContainsFunc(v.Object.Ledger, mine):
		return Awake
	case o.Policy.SetsValues():
		return Set
	case v.Falling != nil:
		return FallingAsleep
	}
	return Asleep
}

// appliedBy returns the values of a policy that are in place on a target: the values that won, once nothing is left to
// write.
func appliedBy(v *decide.Verdict, o decide.Opinion, out Outcome) Applied {
	if !o.Policy.SetsValues() || o.OnBehalf || v.Result.Patch != nil || out.Failure != "" {
		return Applied{}
	}
	var a Applied
	id := o.Policy.ID
	if low := v.Plan.Min; low != nil && low.By == id {
		a.Min = v.Result.Values["min"]
	}
	if high := v.Plan.Max; high != nil && high.By == id {
		a.Max = v.Result.Values["max"]
	}
	switch size := v.Plan.Size; {
	case o.PassedOn != nil || size != nil && size.Once:
		a.Replicas = v.OnceSizes[id]
	case size != nil && size.By == id:
		a.Replicas = replicasIn(v.Result.Values)
	}
	return a
}

// replicasIn returns the size of a target: the count of its first component by name.
func replicasIn(values map[string]string) string {
	var facets []string
	for facet := range values {
		if strings.HasPrefix(facet, "replicas/") {
			facets = append(facets, facet)
		}
	}
	if len(facets) == 0 {
		return ""
	}
	return values[slices.Min(facets)]
}
