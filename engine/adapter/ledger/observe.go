package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Observe returns the owner's wishes: counts, bounds and switches with Flyball's own changes undone. A facet is omitted
// if its value has an unexpected type, or is absent without a default. The caller, who knows the other objects, sets
// Governed.
func (v *View) Observe() workload.Observed {
	a, obj := v.Spec, v.Object
	o := workload.Observed{
		Ref:    a.RefOf(obj),
		Labels: obj.Labels, Annotations: obj.Annotations, RunsToCompletion: a.RunsToCompletion,
	}
	counts, _ := v.Counts()
	for i := range counts {
		o.Components = append(o.Components, counts[i].Component)
	}
	if obj.Created != 0 {
		o.Created = time.Unix(obj.Created, 0).UTC()
	}
	if suspend := v.VariantOf(a.Suspend); suspend != nil {
		o.CanSuspend = v.Unable(v1alpha1.UnableSleep) == ""
		o.Suspended = v.IsSet(suspend)
	}
	if hold := v.VariantOf(a.Hold); hold != nil {
		o.CanHold, o.Held = true, v.IsSet(hold)
	}
	o.WakesFromZero = a.CanGovern() && (len(a.StaysAtZero) == 0 || !a.StaysAtZero.AreTrue(v.present))
	if a.Min != nil {
		o.Bounds.Min, _ = v.Bound(a.Min)
	}
	if a.Max != nil {
		o.Bounds.Max, _ = v.Bound(a.Max)
	}
	o.Allocations, o.Utilisation = v.observeAmounts()
	o.Blind = len(a.Blind) > 0 && a.Blind.AreTrue(v.Original)
	o.Settled = a.IsSettled(obj)
	return o
}

// Count is one replica count of an object.
type Count struct {
	Part *compiled.Component
	// Element is the index of the count in Object.Elements; -1 for a plain field.
	Element int
	// Original is the owner's JSON text; empty if the count is absent and the default counts.
	Original string
	// Entry is the ledger entry of the count; nil: none.
	Entry *TrackedField
	workload.Component
}

// Counts returns the replica counts of the object. fault describes the first count that cannot be read or identified.
// With a fault, a size changes no count.
func (v *View) Counts() (all []Count, fault string) {
	if fault = v.crowdFault(workload.PartCount); fault != "" {
		return nil, fault
	}
	for i := range v.Spec.Components {
		part := &v.Spec.Components[i]
		if part.Slot != nil {
			c := Count{Part: part, Element: -1, Entry: v.EntryAt(projection.AtSlot(part.Slot.Index)), Original: v.Original(part.Slot)}
			all, fault = v.appendCount(all, fault, c, v.Current(part.Slot), part.Slot.Pointer, part.Name)
			continue
		}
		for k := range v.Object.Elements {
			e := &v.Object.Elements[k]
			if e.Part != (workload.Part{Index: uint8(i)}) || e.Outside {
				continue
			}
			name := ElementLabel(e)
			if part.Name != "" {
				name = part.Name + "/" + name
			}
			c := Count{Part: part, Element: k, Entry: v.EntryAt(projection.AtElement(k)), Original: v.OriginalOf(k)}
			fault = cmp.Or(fault, v.index().Fault(k))
			all, fault = v.appendCount(all, fault, c, e.Field, e.Pointer, name)
		}
	}
	return all, fault
}

// appendCount adds one readable and writable count. It ignores a count of a part that the object lacks, and an absent
// count without a known meaning. For any other count it sets fault, unless fault is set already.
func (v *View) appendCount(all []Count, fault string, c Count, f workload.Field, pointer, name string) ([]Count, string) {
	n, ok := c.Part.Read(c.Original)
	switch {
	case f.Depth == projection.Blocked:
		return all, cmp.Or(fault, name+" has no place for a count at "+pointer)
	case c.Original == "" && (!ok || !v.hasParent(f, pointer)):
		return all, fault
	case !ok:
		return all, cmp.Or(fault, "the count of "+name+" is "+path.Brief(c.Original)+", which is no whole number of 0 or more")
	}
	c.Component = workload.Component{Name: name, Replicas: n, Minimum: c.Part.Minimum,
		Fixed: v.Unable(v1alpha1.UnableSleep) != "" && v.Unable(v1alpha1.UnableSize) != "" || !c.Part.When.AreTrue(v.Original)}
	return append(all, c), fault
}

// hasParent reports whether the owner has the object around an absent count. An object that Flyball has made is not the
// owner's: a count in it would be set and restored in turns, without end. An object in which the owner has set a field
// is the owner's.
func (v *View) hasParent(f workload.Field, pointer string) bool {
	parent := path.Pointer(pointer[:strings.LastIndexByte(pointer, '/')])
	depth, made := len(parent.Tokens()), false
	for i := range v.Entries {
		l := &v.Entries[i]
		if parent.IsPrefixOf(path.Pointer(l.Entry.Pointer)) && l.isOwners() {
			return int(f.Depth) >= depth
		}
		made = made || v.hasMade(l, parent, depth)
	}
	return int(f.Depth) >= depth && !made
}

// isOwners reports whether the owner has a value in the field of an entry: the original, or a later value.
func (l *TrackedField) isOwners() bool {
	switch l.State {
	case FieldSet:
		return l.Entry.Original() != ""
	case FieldChanged, FieldAdopted:
		return l.field.Text() != ""
	}
	return false
}

// hasMade reports whether a container, with a pointer of depth tokens, came with the field of an entry. If the authors
// of the entries are known, a container with a different writer's content is the owner's.
func (v *View) hasMade(l *TrackedField, container path.Pointer, depth int) bool {
	if len(v.Object.Notes().Authors) > 0 {
		return l.State == FieldSet && l.author.Alone > 0 && l.isAround(container.Tokens())
	}
	// Without known authors, only a container around the entry's field counts as made with it.
	return l.Entry.Made > 0 && depth >= int(l.Entry.Made) && container.IsPrefixOf(path.Pointer(l.Entry.Pointer))
}

// EntryAt returns the ledger entry of the field at a location, or nil.
func (v *View) EntryAt(at projection.Location) *TrackedField {
	for i := range v.Entries {
		if v.Entries[i].Location == at {
			return &v.Entries[i]
		}
	}
	return nil
}

// Bound returns an end of the range, and whether it can be written. The end is nil if the object has none.
func (v *View) Bound(b *compiled.Bound) (*int64, bool) {
	if v.Current(b.Slot).Depth == projection.Blocked {
		return nil, false
	}
	return v.Spec.ReadBound(b, v.Original(b.Slot))
}

// VariantOf returns the first variant that fits the owner's object and whose fields can all be written, or nil.
func (v *View) VariantOf(all []compiled.Variant) *compiled.Variant {
	for i := range all {
		if all[i].When.AreTrue(v.Original) && v.isWritable(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Unable returns the reason why a claim does not change the object, or "". An object that this claim has changed has none: its status is
// that of the changed object, and it keeps the change for as long as that is claimed.
func (v *View) Unable(claim v1alpha1.UnableClaim) string {
	for i := range v.Entries {
		if l := &v.Entries[i]; l.State == FieldSet && v.isSetBy(l, claim) {
			return ""
		}
	}
	return v.Spec.Unable(claim, v.Original)
}

// isSetBy reports whether a claim can have set the field of an entry. A sleeping component has 0 pods or its minimum, which can be the
// count of less as well.
func (v *View) isSetBy(l *TrackedField, claim v1alpha1.UnableClaim) bool {
	part := v.ComponentAt(l.Location)
	count := int64(-1)
	if part != nil {
		count, _ = part.Read(l.Entry.Set)
	}
	switch claim {
	case v1alpha1.UnableSleep:
		return v.IsSuspend(l.Location) || part != nil && count <= part.Minimum
	case v1alpha1.UnableSize:
		return part != nil && count > 0
	}
	return v.isBound(l.Location)
}

// isBound reports whether a field is the minimum or the maximum of the object or of an element.
func (v *View) isBound(at projection.Location) bool {
	switch at.Kind {
	case projection.InElement:
		kind := v.Object.Elements[at.Index].Part.Kind
		return kind != workload.PartAmount && kind != workload.PartCount
	case projection.InSlot:
		is := func(b *compiled.Bound) bool { return b != nil && b.Slot.Index == at.Index }
		return is(v.Spec.Min) || is(v.Spec.Max)
	}
	return false
}

// present returns the owner's value of a field, or the present value of a bound, whoever set it.
func (v *View) present(s *projection.Slot) string {
	if v.Spec.Min != nil && v.Spec.Min.Slot == s || v.Spec.Max != nil && v.Spec.Max.Slot == s {
		return v.Current(s).Raw
	}
	return v.Original(s)
}

// isWritable reports whether every field of a variant can be written.
func (v *View) isWritable(x *compiled.Variant) bool {
	for _, w := range x.Set {
		if v.Current(w.Slot).Depth == projection.Blocked {
			return false
		}
	}
	return true
}

// IsSet reports whether the owner has set the variant's values. If the variant has predicates for this, they decide.
// Otherwise every field must have its value.
func (v *View) IsSet(x *compiled.Variant) bool {
	if len(x.Already) > 0 {
		return x.Already.AreTrue(v.Original)
	}
	for _, w := range x.Set {
		if !path.Same(v.Original(w.Slot), w.Value) {
			return false
		}
	}
	return true
}

// index returns the index of the object's elements.
func (v *View) index() *projection.ElementIndex {
	if v.elements == nil {
		v.elements = v.Spec.Projection.Elements(v.Object)
	}
	return v.elements
}

// ElementLabel returns the name of an element for people, or its index.
func ElementLabel(e *workload.Element) string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("[%d]", e.Index)
}

// crowdFault returns a sentence if an object has too many elements of the kinds. Elements that filters leave out do not
// count.
func (v *View) crowdFault(kinds ...workload.PartKind) string {
	n := 0
	for k := range v.Object.Elements {
		if e := &v.Object.Elements[k]; !e.Outside && slices.Contains(kinds, e.Part.Kind) {
			n++
		}
	}
	if n > projection.MaxElements {
		return fmt.Sprintf("its lists have %d elements that count, and at most %d are handled", n, projection.MaxElements)
	}
	return ""
}
