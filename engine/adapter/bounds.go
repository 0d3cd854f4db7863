package adapter

import (
	"fmt"
	"strings"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Floors returns the lowest bounds that the kind accepts; nil for a bound that it lacks.
func (a *Adapter) Floors() (low, high *int64) {
	if a.min != nil {
		low = new(a.min.minimum)
	}
	if a.max != nil {
		high = new(a.max.minimum)
	}
	return low, high
}

// IsBound reports whether a pointer is the pointer of one of the kind's bounds.
func (a *Adapter) IsBound(pointer string) bool { return a.BoundAt(pointer) != "" }

// BoundAt returns the name of the kind's bound at a pointer: min or max; "" if no bound is there.
func (a *Adapter) BoundAt(pointer string) string {
	switch {
	case a.min != nil && a.min.slot.pointer == pointer:
		return "min"
	case a.max != nil && a.max.slot.pointer == pointer:
		return "max"
	}
	return ""
}

// Bounds returns the bounds of an object after a plan is carried out; nil for a missing bound or no limit.
func (a *Adapter) Bounds(obj *workload.Object, plan workload.Plan) (workload.Bounds, error) {
	var b workload.Bounds
	v := a.view(obj)
	if !v.complete() {
		return b, fmt.Errorf("read the bounds of %s: the object was not projected by this version of adapter %s", a.refOf(obj), a.name)
	}
	w, err := v.wantsOf(plan)
	if err != nil {
		return b, fmt.Errorf("read the bounds of %s: %w", a.refOf(obj), err)
	}
	decisions := v.decideAll(&w, plan)
	if a.min != nil {
		b.Min = v.boundAfter(a.min, decisions)
	}
	if a.max != nil {
		b.Max = v.boundAfter(a.max, decisions)
	}
	return b, nil
}

// boundAfter returns a bound after the decisions are carried out; nil for none or no limit.
func (v *view) boundAfter(b *bound, decisions []decision) *int64 {
	raw := v.current(b.slot).Raw
	for i := range decisions {
		if d := &decisions[i]; d.write && d.location == (location{inSlot, b.slot.index}) {
			raw = d.value
		}
	}
	n, ok := v.a.readBound(b, raw)
	if !ok || n == nil || b.unlimited != nil && *n == *b.unlimited {
		return nil
	}
	return n
}

// Counts returns the pointers of the kind's plain replica counts: the fields that an autoscaler of its objects writes.
func (a *Adapter) Counts() []path.Pointer {
	var all []path.Pointer
	for i := range a.components {
		if s := a.components[i].slot; s != nil {
			all = append(all, path.Pointer(s.pointer))
		}
	}
	return all
}

// Refers reports whether the manifest of an object of the kind, as JSON, names an object that it governs.
func (a *Adapter) Refers(manifest []byte) bool {
	obj, err := a.Project(manifest)
	if err != nil {
		return false
	}
	ref, ok := a.Governs(obj)
	return ok && strings.TrimSpace(ref.Name) != ""
}
