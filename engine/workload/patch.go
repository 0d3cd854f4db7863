package workload

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/path"
)

// FieldManager is the name of Flyball's writes in managedFields.
const FieldManager = "flyball"

// ArgoCD is the field manager of Argo CD. It applies the live value of a field that it ignores (RespectIgnoreDifferences), and ignores a
// field as long as a trusted manager owns it, also without server-side apply.
const ArgoCD = "argocd-controller"

// Patch is an API write with the object's resourceVersion as a precondition.
type Patch struct {
	// Type is types.MergePatchType, or types.JSONPatchType if list elements are written.
	Type types.PatchType
	Body []byte
	// Subresource is "scale" for a write through /scale, else empty. Counts are then the fields of the object that the write sets.
	Subresource string
	Counts      []path.Pointer
	// Keeps is the annotation in the answer that proves that the write was kept; nil: none.
	Keeps *Kept
	// Next is the following write: the /scale write after the ledger.
	Next *Patch
}

// Kept is an annotation of an object after a write; with an empty value, the annotation is absent.
type Kept struct {
	Key, Value string
}

// Direction is the direction of a write's change of capacity.
type Direction uint8

// Directions.
const (
	// DirectionNone changes only bookkeeping.
	DirectionNone Direction = iota
	// DirectionDown reduces capacity, or sets a field for the first time.
	DirectionDown
	// DirectionUp restores.
	DirectionUp
)

// String returns the metric label of a direction.
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

// State is the state of a target after its plan is applied.
type State uint8

// States of a target.
const (
	// StateAwake: the target has its owner's values.
	StateAwake State = iota
	// StateAsleep: the target is reduced by Flyball.
	StateAsleep
	// StateFallingAsleep: Flyball has reduced the target, and its controller has not brought it to the new size yet.
	StateFallingAsleep
	// StateAlreadyAsleep: the owner has the target at zero or suspended, or it has ended; Flyball leaves it alone.
	StateAlreadyAsleep
	// StateOverridden: a different writer changed the target while asleep, and Flyball accepts the change.
	StateOverridden
	// StateSet: the target has values of a policy without sleep.
	StateSet
	// StateUnable: the target lacks the capability for the claim.
	StateUnable
)

// String returns the name of a state in status and metrics.
func (s State) String() string {
	return [...]string{"awake", "asleep", "falling_asleep", "already_asleep", "overridden", "set", "unable"}[s]
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

// Has reports whether the set has every action of other.
func (c Change) Has(other Change) bool { return c&other == other }

// changes are the names of actions in freezes.
var changes = [...]string{"Create", "Delete", "RollOut", "Scale"}

// ChangeOf returns the action of a name used in freezes; 0: unknown.
func ChangeOf(name string) Change {
	if i := slices.Index(changes[:], name); i >= 0 {
		return 1 << i
	}
	return 0
}

// Names returns the actions by their names in freezes.
func (c Change) Names() []string {
	var names []string
	for i, n := range changes {
		if c&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}
