package adapter

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// isSize reports whether a field belongs to the size: a count, or a switch of suspend.
func (v *view) isSize(at location) bool { return v.componentAt(at) != nil || v.isSuspend(at) }

// isSuspend reports whether a field is a switch of suspend.
func (v *view) isSuspend(at location) bool {
	if at.kind != inSlot {
		return false
	}
	s := v.a.projection.slots[at.index]
	return slices.ContainsFunc(v.a.suspend, func(x variant) bool {
		return slices.ContainsFunc(x.set, func(w write) bool { return w.slot == s })
	})
}

// SetBy returns the policies in an object's ledger, each once. size has the policies that set a lasting size. others has
// the policies that set other fields.
func (a *Adapter) SetBy(obj *workload.Object) (size, others []workload.Policy) {
	v := a.view(obj)
	for i := range v.entries {
		l := &v.entries[i]
		list := &others
		if v.isSize(l.location) {
			list = &size
		}
		if by := workload.ParsePolicy(l.entry.By); l.entry.Once == "" && !slices.Contains(*list, by) {
			*list = append(*list, by)
		}
	}
	return size, others
}
