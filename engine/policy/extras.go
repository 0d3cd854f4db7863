package policy

import (
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Extras are the parts that only some kinds of policies have. A nil part is missing.
type Extras struct {
	// Reporter fills in the status fields of the policy's kind. Nil: the status has the common fields only.
	Reporter Reporter
	// Judge judges changes at admission.
	Judge Judge
	// PodOrderer orders the pods of the policy's targets for deletion.
	PodOrderer PodOrderer
	// Tuner learns from the usage of the targets' pods.
	Tuner Tuner
	// Template is the object that the policy creates if it is missing. If LeavesMade is true, the created object stays when
	// the policy no longer wants it, and loses its owner reference.
	Template   *Template
	LeavesMade bool
	// HoldsOwners is true if, while a target sleeps, the objects of GitOps tools that apply the target are held.
	HoldsOwners bool
	// Override is the order of a person about the targets.
	Override *pipeline.Override
	// Bounds are the limits within which the policy yields to orders. Nil: the policy never yields.
	Bounds *pipeline.Bounds
	// Bounded selects the objects of Bounds while the policy itself selects nothing, because it is broken. Nil: Policy.Target does.
	Bounded *selector.Selector
	// Idle is the rule by the use of targets.
	Idle *demand.Rule
	// FieldOf returns the name of the field of the spec that asks for a facet ("min" or "max") at an instant; empty: none.
	FieldOf func(now time.Time, facet string) string
}

// Reporter fills in the status fields of a policy's kind.
type Reporter interface {
	// Condition returns the type of the condition that is true while State.Active names an alternative. It replaces the
	// condition Asleep.
	Condition() string
	// AppliedLimit returns the number of targets listed in the status with their values; 0: no list.
	AppliedLimit() int
	// FillStatus edits the kind's own part of an object's status. state is the policy's state at the instant now. It returns the
	// formerly active alternative from the status.
	FillStatus(obj Object, now time.Time, state Summary, applied []Applied) (activeBefore string)
}

// Applied has the values of a policy that are in place on one target. A nil field means that the policy has set no such
// value.
type Applied struct {
	Target             workload.Ref
	Min, Max, Replicas *int64
	// Yielding names the schedules that yield on the target, for an Override.
	Yielding string
}

// Judge judges changes of objects at admission.
type Judge interface {
	// JudgedBy returns the selector of the objects whose changes are judged.
	JudgedBy() *selector.Selector
	// Denies reports whether the policy denies changes. Otherwise it allows changes that other policies deny.
	Denies() bool
}

// PodOrderer orders the pods of a policy's targets for deletion.
type PodOrderer interface {
	// NodeLabels returns the node labels used by planning, the label of the reported spread first.
	NodeLabels() []string
	// PlanCosts returns the changes of deletion costs on the pods of a target.
	PlanCosts(f *workload.Fleet, now time.Time) workload.CostPlan
	// WritesPerSecond returns the limit of changes per second for a policy with the given number of pods.
	WritesPerSecond(pods int) float64
	// FillPods edits the part of an object's status about pods. Told returns the status's number of writes in the last
	// hour and the time of the last write.
	FillPods(obj Object, pods PodSummary)
	Told(obj Object) (writes int, last time.Time)
}

// PodSummary is the state of the pods of a policy's targets.
type PodSummary struct {
	// Pods is the number of planned pods. Writes is the number of costs set in the last hour. LastWrite is the time of the
	// last write; zero: unknown.
	Pods, Writes int
	LastWrite    time.Time
	// Spread is the current unevenness of the most uneven target. SpreadAtHalf is this unevenness after each target is
	// scaled to half.
	Spread, SpreadAtHalf int
	// Foreign counts the pods with a cost from another writer, by field manager.
	Foreign map[string]int
}
