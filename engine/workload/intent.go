package workload

import "time"

// SizeMode says how a Size is to be read.
type SizeMode uint8

// Modes of a Size.
const (
	// SizeOwn is what the owner has: no reduction.
	SizeOwn SizeMode = iota
	// SizeSleep is suspended where the kind can be, else every component at its minimum.
	SizeSleep
	// SizeAtMost is Replicas for every component, never raised above the owner's count.
	SizeAtMost
	// SizePercent is Percent of the owner's count of each component, rounded up.
	SizePercent
	// SizeExactly is Replicas for every component.
	SizeExactly
)

// Size is how much of a target is to run.
type Size struct {
	Mode SizeMode
	// Replicas is used by SizeAtMost and SizeExactly.
	Replicas int64
	// Percent, 0 to 100, is used by SizePercent.
	Percent int32
	// Capacity is the number of replicas this leaves over all components (Observed.Capacity): more wins at equal priority.
	Capacity int64
}

// Of is the count that a size leaves of one component; never below the component's minimum unless the owner is. A component
// that is fixed keeps its count.
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

// Class says what an intent is in relation to sleeping.
type Class uint8

// Classes of intents.
const (
	// ClassSet asks for values; it neither sleeps nor wakes.
	ClassSet Class = iota
	// ClassSleep asks for less than the owner has.
	ClassSleep
	// ClassAwake asks that nobody of the same or a lower priority puts the target to sleep.
	ClassAwake
	// ClassKeep asks that what this policy has set stays as it is, neither more nor less: a suspended or unreadable policy.
	ClassKeep
	// ClassOrphan asks that what this policy has set stays and is forgotten.
	ClassOrphan
)

// Intent is what one policy asks for on one target. A facet left nil asks for nothing.
type Intent struct {
	By       Policy
	Class    Class
	Priority int32
	// Override beats every priority: flyball.dev/awake-until.
	Override bool
	// Mandatory beats every priority and Override too: what a freeze suspends, nobody else wakes.
	Mandatory bool
	// Since is the instant from which this is asked; a later Since than the ledger's is a new transition.
	Since time.Time
	// Enforce corrects changes that others make to the fields; otherwise they are respected until the next transition.
	Enforce bool
	// Once sets the size when the intent begins and never again, and gives nothing back at the end: whoever governs the
	// object goes on from there. It yields to every size that lasts. It needs a Size of mode SizeExactly.
	Once bool
	// Resumed says of a size that is set once that it was set before and has been interrupted since: it keeps others from setting
	// theirs, and sets nothing.
	Resumed bool
	// ForGoverned passes the size on to the object that the target governs; on the target itself the intent asks nothing.
	ForGoverned bool
	// ForGovernors passes bounds and target utilisations on to the objects that govern the target; on the target itself the intent asks
	// nothing.
	ForGovernors bool
	Size         *Size
	Min          *int64
	Max          *int64
	Hold         bool
	// Amounts are the requests and utilisations asked for, of class ClassSet only. Limits says what becomes of the limits beside the requests.
	Amounts map[Amount]int64
	Limits  LimitRule
	// Annotations to set where the adapter says annotations go.
	Annotations map[string]string
	// DeletionCosts says by which rules the pods of the target are to get deletion costs; empty: by none. Equal texts are equal rules.
	DeletionCosts string
	// Reason says why, in a few words, for messages.
	Reason string
}

// Claim is one agreed value with the intent that won it.
type Claim[T any] struct {
	Value T
	By    Policy
	Since time.Time
	// Enforce corrects changes that others make.
	Enforce bool
	// Once sets the value once for each Since and then leaves it alone; where it is Resumed, that has been done.
	Once, Resumed bool
	// Limits says of a request what becomes of the limit beside it.
	Limits LimitRule
}

// Plan is what all policies together want of one target. The zero Plan gives back everything.
type Plan struct {
	Size        *Claim[Size]
	Min, Max    *Claim[int64]
	Hold        *Claim[bool]
	Amounts     map[Amount]Claim[int64]
	Annotations map[string]Claim[string]
	// DeletionCosts says by whose rules the pods of the target get deletion costs; nil: they get none.
	DeletionCosts *Claim[string]
	// Within are the bounds in force on what governs the object, nil where nothing does: a size that is set once, and a count
	// that is given back, land inside them.
	Within *Bounds
	// Keep lists policies whose ledger entries stay as they are.
	Keep map[Policy]bool
	// Orphan lists policies whose ledger entries are dropped without giving anything back.
	Orphan map[Policy]bool
}

// Asleep says whether the plan takes capacity away.
func (p Plan) Asleep() bool {
	return p.Size != nil && p.Size.Value.Mode != SizeExactly && p.Size.Value.Mode != SizeOwn
}
