package compiled

import (
	"flyball.dev/flyball/engine/path"
)

// Floors returns the lowest bounds that the kind accepts; nil for a bound that it lacks.
func (a *Spec) Floors() (low, high *int64) {
	if a.Min != nil {
		low = new(a.Min.Minimum)
	}
	if a.Max != nil {
		high = new(a.Max.Minimum)
	}
	return low, high
}

// IsBound reports whether a pointer is the pointer of one of the kind's bounds.
func (a *Spec) IsBound(pointer string) bool { return a.BoundAt(pointer) != "" }

// BoundAt returns the name of the kind's bound at a pointer: min or max; "" if no bound is there.
func (a *Spec) BoundAt(pointer string) string {
	switch {
	case a.Min != nil && a.Min.Slot.Pointer == pointer:
		return "min"
	case a.Max != nil && a.Max.Slot.Pointer == pointer:
		return "max"
	}
	return ""
}

// Counts returns the pointers of the kind's plain replica counts: the fields that an autoscaler of its objects writes.
func (a *Spec) Counts() []path.Pointer {
	var all []path.Pointer
	for i := range a.Components {
		if s := a.Components[i].Slot; s != nil {
			all = append(all, path.Pointer(s.Pointer))
		}
	}
	return all
}
