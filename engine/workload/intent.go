package workload

import "time"

// SizeMode is the mode of a Size.
type SizeMode uint8

// Modes of a Size.
const (
	// SizeOwn is the owner's size: no reduction.
	SizeOwn SizeMode = iota
	// SizeSleep is the lowest size: suspended if the kind supports it, else every component at its minimum.
	SizeSleep
	// SizeAtMost is Replicas for every component, but never above the owner's count.
	SizeAtMost
	// SizePercent is Percent of the owner's count of each component, rounded up.
	SizePercent
	// SizeExactly is Replicas for every component.
	SizeExactly
)

// Size is a claimed size of a target.
type Size struct {
	Mode SizeMode
	// Replicas is used by SizeAtMost and SizeExactly.
	Replicas int64
	// Percent, 0 to 100, is used by SizePercent.
	Percent int32
	// Capacity is the number of replicas over all components (Observed.Capacity). At equal priority the larger
	// capacity wins.
	Capacity int64
}

// Of returns the count of one component under the size. It is not below the component's minimum unless the owner's
// count is. A fixed component keeps its count.
func (s Size) Of(c Component) int64 {
	want := c.Replicas
	if c.Fixed {
		return want
	}
	switch s.Mode {
	case SizeSleep:
		want = min(c.Replicas, c.Minimum)
	case SizeAtMost:
		want = min(c.Replicas, max(s.Replicas, c.Minimum))
	case SizePercent:
		percent := int64(s.Percent)
		part := c.Replicas/100*percent + (c.Replicas%100*percent+99)/100 // a product of large quantities would overflow
		want = min(c.Replicas, max(part, c.Minimum))
	case SizeExactly:
		want = max(s.Replicas, c.Minimum)
	}
	return want
}

// Class is an intent's relation to sleeping.
type Class uint8

// Classes of intents.
const (
	// ClassSet claims values; it neither sleeps nor wakes.
	ClassSet Class = iota
	// ClassSleep claims less than the owner's size.
	ClassSleep
	// ClassAwake claims that no policy of the same or a lower priority puts the target to sleep.
	ClassAwake
	// ClassKeep claims that the policy's values stay unchanged: a suspended or unreadable policy.
	ClassKeep
	// ClassOrphan claims that the policy's values stay and their ledger entries are dropped.
	ClassOrphan
)

// Intent is a policy's claim on a target. A nil facet is not claimed.
type Intent struct {
	By    Policy
	Class Class
	// Override beats every priority: a claim of an Override, or on an object because of another object's sleep.
	Override bool
	// Mandatory beats every priority and Override: no other policy wakes a target suspended by a freeze.
	Mandatory bool
	// Enforce corrects foreign writers' changes of the fields. Otherwise such changes stay until the next transition.
	Enforce bool
	// Once sets the size at the start of the claim and never again, and restores nothing at the end: the autoscaler
	// continues from there. Every lasting size wins against it. The Size must be of mode SizeExactly.
	Once bool
	// Resumed is true for a size set once that was set before and interrupted since: the claim still beats other sizes
	// but sets nothing.
	Resumed bool
	// Yields lets a claim to stay awake overrule a claim of ClassKeep, as it overrules a claim to sleep.
	Yields bool
	// ForGoverned passes the size on to the scale target of an autoscaler; on the autoscaler itself nothing is claimed.
	ForGoverned bool
	// ForAutoscalers passes bounds and target utilisations on to the target's autoscalers; on the target itself
	// nothing is claimed.
	ForAutoscalers bool
	Hold           bool
	// Limits is the rule for limits beside the requests in Amounts.
	Limits   LimitRule
	Priority int32
	// Since is the start of the claim; a later Since than the ledger's is a new transition.
	Since    time.Time
	Size     *Size
	Min, Max *int64
	// Amounts are the claimed requests and utilisations, for ClassSet only.
	Amounts map[Amount]int64
	// Annotations are the annotations to set, at the place given by the adapter.
	Annotations map[string]string
	// DeletionCosts identifies the rules for deletion costs of the target's pods; empty: none. Equal texts are
	// equal rules.
	DeletionCosts string
	// Reason is a short explanation for messages.
	Reason string
}

// Claim is a merged value with the facts of the winning intent.
type Claim[T any] struct {
	Value T
	By    Policy
	// Also are the other policies with the same claim, sorted.
	Also  []Policy
	Since time.Time
	// Enforce corrects foreign writers' changes.
	Enforce bool
	// Once sets the value once for each Since and then leaves it alone. Resumed: the value was set already.
	Once, Resumed bool
	// Limits is the rule for the limit beside a request.
	Limits LimitRule
}

// Plan is the merged claims of all policies on a target. The zero Plan restores everything.
type Plan struct {
	Size        *Claim[Size]
	Min, Max    *Claim[int64]
	Hold        *Claim[bool]
	Amounts     map[Amount]Claim[int64]
	Annotations map[string]Claim[string]
	// DeletionCosts is the claim for deletion costs of the target's pods; nil: no costs.
	DeletionCosts *Claim[string]
	// Within are the bounds in force on the object's autoscaler; nil: no autoscaler. A size set once and a restored
	// count are clamped to them.
	Within *Bounds
	// Keep lists the policies with unchanged ledger entries.
	Keep map[Policy]bool
	// Orphan lists the policies with ledger entries to drop without a restore.
	Orphan map[Policy]bool
}

// Asleep reports whether the plan reduces capacity.
func (p Plan) Asleep() bool {
	return p.Size != nil && p.Size.Value.Mode != SizeExactly && p.Size.Value.Mode != SizeOwn
}
