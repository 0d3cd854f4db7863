package workload

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// FieldManager is the name under which Flyball's writes appear in managedFields.
const FieldManager = "flyball"

// Patch is one API write. It carries the object's resourceVersion as a precondition.
type Patch struct {
	// Type is types.MergePatchType, or types.JSONPatchType where list elements are written.
	Type types.PatchType
	Body []byte
	// Subresource is "scale" for a write through /scale, else empty.
	Subresource string
	// Keeps is the annotation by which the answer shows that the write was kept; nil: none.
	Keeps *Kept
	// Next follows once this one is through: the /scale write after the ledger.
	Next *Patch
}

// Kept is an annotation that an object has after a write; an empty value: that it has not any more.
type Kept struct {
	Key, Value string
}

// Direction is which way a write changes what runs.
type Direction uint8

// Directions.
const (
	// DirectionNone changes only bookkeeping.
	DirectionNone Direction = iota
	// DirectionDown takes capacity away, or sets a field for the first time.
	DirectionDown
	// DirectionUp gives back.
	DirectionUp
)

// String is the metric label of a direction.
func (d Direction) String() string {
	switch d {
	case DirectionDown:
		return "down"
	case DirectionUp:
		return "up"
	default:
		return "ledger"
	}
}

// State is what a target is, once the plan is applied.
type State uint8

// States of a target.
const (
	// StateAwake is as its owner has it.
	StateAwake State = iota
	// StateAsleep is reduced by Flyball.
	StateAsleep
	// StateAlreadyAsleep is at zero or suspended by its owner, and left alone.
	StateAlreadyAsleep
	// StateOverridden was changed by somebody else while asleep, and that is respected.
	StateOverridden
	// StateSet has values set by a policy that neither sleeps nor wakes it.
	StateSet
	// StateUnable cannot do what is asked (no such capability on this object).
	StateUnable
)

// String names a state as status and metrics do.
func (s State) String() string {
	return [...]string{"awake", "asleep", "already_asleep", "overridden", "set", "unable"}[s]
}

// Change is a set of actions, as freezes judge them.
type Change uint8

// Actions in a Change.
const (
	ChangeCreate Change = 1 << iota
	ChangeDelete
	ChangeRollOut
	ChangeScale
)

// Has says whether the set holds every action of other.
func (c Change) Has(other Change) bool { return c&other == other }

// changes are the actions as freezes spell them.
var changes = [...]string{"Create", "Delete", "RollOut", "Scale"}

// ChangeOf gives the action that freezes spell so; 0: there is none.
func ChangeOf(name string) Change {
	if i := slices.Index(changes[:], name); i >= 0 {
		return 1 << i
	}
	return 0
}

// Names lists the actions as freezes spell them.
func (c Change) Names() []string {
	var names []string
	for i, n := range changes {
		if c&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}
