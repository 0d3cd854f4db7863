package status

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Outcome is what became of a verdict.
type Outcome struct {
	// Failure, Waiting and Contested are as in Mark.
	Failure, Waiting, Contested string
}

// Marks says what a target is in under each policy that has to do with it.
func Marks(v *decide.Verdict, out Outcome) []Mark {
	marks := make([]Mark, len(v.Opinions))
	for i, o := range v.Opinions {
		marks[i] = markOf(v, o, out)
	}
	return marks
}

func markOf(v *decide.Verdict, o decide.Opinion, out Outcome) Mark {
	id := o.Policy.ID
	m := Mark{Policy: id, State: settled(v, o), Applied: appliedBy(v, o, out), Failure: out.Failure, Waiting: out.Waiting, Contested: out.Contested}
	for _, c := range v.Conflicts {
		switch id {
		case c.Loser:
			m.State = Overridden
			m.Conflict = fmt.Sprintf("overruled by %s on %s (%s)", c.Winner, c.Facet, c.Reason)
		case c.Winner:
			m.Conflict = fmt.Sprintf("overrules %s on %s (%s)", c.Loser, c.Facet, c.Reason)
		}
	}
	if o.Err != nil {
		m.Failure = o.Err.Error()
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
	return m
}

// settled is the state of a target once its verdict is carried out.
func settled(v *decide.Verdict, o decide.Opinion) State {
	switch o.Class {
	case workload.ClassAwake:
		return Awake
	case workload.ClassKeep:
		if v.Result.State == workload.StateAsleep {
			return Asleep
		}
		return Awake
	}
	switch v.Result.State {
	case workload.StateAsleep:
		return Asleep
	case workload.StateUnable:
		if o.Class == workload.ClassSet {
			return Awake // there is no place for what it sets
		}
		return Unable
	case workload.StateAlreadyAsleep:
		return AlreadyAsleep
	case workload.StateOverridden:
		return Overridden
	case workload.StateSet:
		return Set
	default:
		return Awake
	}
}

// appliedBy gives the values that one policy has in place on a target: those it won, once nothing is left to write.
func appliedBy(v *decide.Verdict, o decide.Opinion, out Outcome) Applied {
	reporter := o.Policy.Reporter()
	if reporter == nil || reporter.AppliedLimit() == 0 || o.OnBehalf || v.Result.Patch != nil || out.Failure != "" {
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

// replicasIn is the size of a target; where its components differ, of the first by name.
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
