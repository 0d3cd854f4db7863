package decide

import (
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

// Opinion is the answer of a policy about a target.
type Opinion struct {
	Policy *Policy
	// Class is the class of the policy's claims. It is ClassKeep if the policy could not decide.
	Class workload.Class
	// ByUse is true if only the use of the target decides, which is not known.
	ByUse bool
	// Silent is true if the policy has no claims.
	Silent bool
	// Err is the reason why the policy could not decide.
	Err error
	// Limited lists the reasons why an Override has no effect, or not the whole effect, on the target. Empty means none.
	Limited string
	// Reached is true if an Override in force has its whole effect on the target. Yielding lists the schedules that yield.
	Reached  bool
	Yielding []workload.Policy
	// Alone is the reason why the policy is not asked although it selects the object: Flyball itself runs in the object,
	// or Control puts the object back. Empty means that the policy is asked.
	Alone   string
	Control Control
	// PassedOn is the size that the policy claims for the autoscaler's target. nil means that it claims no such size.
	PassedOn *workload.Size
	// OnBehalf is true if the policy selects only the target of this autoscaler, or only targets that this owner applies,
	// and not the object itself. The object then does not count as a target of the policy.
	OnBehalf bool
	// Left is true if the policy no longer selects the object but still has something to restore on it.
	Left bool
}

// GateKind is the kind of an obstacle to a write.
type GateKind uint8

// Kinds of gates.
const (
	// GateOpen: the write need not wait.
	GateOpen GateKind = iota
	// GateBlocked: the adapter of the kind is unusable.
	GateBlocked
	// GateOther: another object must be written first: an autoscaler or an owner before its target, or the
	// target before its autoscaler.
	GateOther
	// GateFreeze: a freeze refuses the write.
	GateFreeze
	// GateOrder: other objects must change first because of a policy's order.
	GateOrder
	// GateUnread: the records of owners are not read yet.
	GateUnread
	// GateUnreported: the controller of an autoscaler has not seen its bounds yet, or that of an owner its hold.
	GateUnreported
)

// Gate is the obstacle to a write. The zero Gate is open.
type Gate struct {
	Kind GateKind
	// Reason explains the gate to users.
	Reason string
	// First is the object that must be written first, for GateOther.
	First workload.Ref
	// Until is the time at which the freeze or the order lets the write through. Zero means not before policies or
	// objects change.
	Until time.Time
	// Order is the wave that must change first, for GateOrder.
	Order *Wave
}

// Falling is the state of a target written asleep whose controller has not followed yet.
type Falling struct {
	// Since is the transition, by the ledger. Why names the failing predicate of the adapter.
	Since time.Time
	Why   string
}

// Verdict is the answer of all policies about a target, with the resulting patch.
type Verdict struct {
	// Kind and Object are the kind and the object of the target. Both are nil if the object does not exist.
	Kind   *Kind
	Object *workload.Object
	// Opinions has one element for each policy involved with the object.
	Opinions []Opinion
	Plan     workload.Plan
	// Conflicts lists the losing claims.
	Conflicts []pipeline.Conflict
	// Wake is the earliest instant at which the answer can change without an event. Zero means never.
	Wake time.Time
	// Result is the patch and the state of the object after it.
	Result adapter.Result
	// Falling is the missing part while the target falls asleep. It is nil in other states.
	Falling *Falling
	// OnceSizes has, by policy, the sizes set once that are still in place, on this object or on its scale target.
	OnceSizes map[workload.Policy]string
	// Gate is the obstacle to writing the patch.
	Gate Gate
	// Passed has the target's own wave for each order in which it need not wait.
	Passed []*Wave
	// Err is the reason why rendering failed. Only a change of the object can help.
	Err error
}

// Story records for users how a verdict came about. A nil Story records nothing and costs nothing.
type Story struct {
	// Policies has an element for each selecting policy, in the order of asking.
	Policies []PolicyStory
	// Lines records the steps after the policies' answers, one line for each step.
	Lines []pipeline.Line
}

// PolicyStory is the answer of a policy, step by step.
type PolicyStory struct {
	Policy workload.Policy
	Trace  pipeline.Trace
	Err    error
}

// newTrace returns a trace for one policy, or nil for a nil story.
func (s *Story) newTrace() *pipeline.Trace {
	if s == nil {
		return nil
	}
	return &pipeline.Trace{}
}

// answered adds the answer of a policy.
func (s *Story) answered(id workload.Policy, trace *pipeline.Trace, err error) {
	if s != nil {
		s.Policies = append(s.Policies, PolicyStory{Policy: id, Trace: *trace, Err: err})
	}
}

// add adds a line about a step after the policies' answers. It ignores an empty text.
func (s *Story) add(step, text string) {
	if s != nil && text != "" {
		s.Lines = append(s.Lines, pipeline.Line{Step: step, Text: text})
	}
}
