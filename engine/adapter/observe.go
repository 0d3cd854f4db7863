package adapter

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Observe returns the owner's wishes: counts, bounds and switches with Flyball's own changes undone. A facet is omitted
// if its value has an unexpected type, or is absent without a default. The caller, who knows the other objects, sets
// Governed.
func (a *Adapter) Observe(obj *workload.Object) workload.Observed {
	v := a.view(obj)
	o := workload.Observed{
		Ref:    workload.Ref{GroupKind: a.gk, Namespace: obj.Namespace, Name: obj.Name},
		Labels: obj.Labels, Annotations: obj.Annotations, RunsToCompletion: a.runsToCompletion,
	}
	counts, _ := v.counts()
	for i := range counts {
		o.Components = append(o.Components, counts[i].Component)
	}
	if obj.Created != 0 {
		o.Created = time.Unix(obj.Created, 0).UTC()
	}
	if suspend := v.variantOf(a.suspend); suspend != nil {
		o.CanSuspend = true
		o.Suspended = v.isSet(suspend)
	}
	o.CanHold = v.variantOf(a.hold) != nil
	o.WakesFromZero = a.governs != nil && v.all(a.wakesFromZero, v.present)
	if a.min != nil {
		o.Bounds.Min, _ = v.bound(a.min)
	}
	if a.max != nil {
		o.Bounds.Max, _ = v.bound(a.max)
	}
	o.Allocations, o.Utilisation = v.observeAmounts()
	o.Blind = len(a.blind) > 0 && v.all(a.blind, v.original)
	if a.keepsReady {
		o.Settled = v.all(a.ready, func(s *slot) string { return v.current(s).Raw })
	}
	return o
}

// Governs returns the object whose replicas this object owns. A reference without a name, or without a kind if the
// adapter has no default kind, governs nothing.
func (a *Adapter) Governs(obj *workload.Object) (workload.Ref, bool) {
	if a.governs == nil {
		return workload.Ref{}, false
	}
	v := &view{a: a, obj: obj}
	read := func(s *slot) string {
		text, err := path.NewValue(v.current(s).Raw, s.pointer).Text()
		if err != nil {
			return ""
		}
		return text
	}
	ref := workload.Ref{Namespace: obj.Namespace, Name: read(a.governs.name)}
	ref.Kind = read(a.governs.kind)
	version, assumed := read(a.governs.apiVersion), a.governs.assumed
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		return workload.Ref{}, false
	}
	ref.Group = gv.Group
	if assumed != nil && version == "" {
		ref.Group = assumed.Group
	}
	if assumed != nil && ref.Kind == "" {
		ref.Kind = assumed.Kind
	}
	return ref, ref.Name != "" && ref.Kind != ""
}

// count is one replica count of an object.
type count struct {
	part *component
	// element is the index of the count in Object.Elements; -1 for a plain field.
	element int
	// original is the owner's JSON text; empty if the count is absent and the default counts.
	original string
	// entry is the ledger entry of the count; nil: none.
	entry *ledgerField
	workload.Component
}

// counts returns the replica counts of the object. fault describes the first count that cannot be read or identified.
// With a fault, a size changes no count.
func (v *view) counts() (all []count, fault string) {
	if fault = v.crowdFault(isCount); fault != "" {
		return nil, fault
	}
	elements := v.index()
	for i := range v.a.components {
		part := &v.a.components[i]
		if part.slot != nil {
			c := count{part: part, element: -1, entry: v.entryAt(location{inSlot, part.slot.index}), original: v.original(part.slot)}
			all, fault = v.appendCount(all, fault, c, v.current(part.slot), part.slot.pointer, part.name)
			continue
		}
		for k := range v.obj.Elements {
			e := &v.obj.Elements[k]
			if int(e.Component) != i || e.Outside {
				continue
			}
			name := elementLabel(e)
			if part.name != "" {
				name = part.name + "/" + name
			}
			c := count{part: part, element: k, entry: v.entryAt(location{inElement, k}), original: v.originalOf(k)}
			fault = cmp.Or(fault, elements.fault(k))
			all, fault = v.appendCount(all, fault, c, e.Field, e.Pointer, name)
		}
	}
	return all, fault
}

// appendCount adds one readable and writable count. It ignores a count of a part that the object lacks, and an absent
// count without a known meaning. For any other count it sets fault, unless fault is set already.
func (v *view) appendCount(all []count, fault string, c count, f workload.Field, pointer, name string) ([]count, string) {
	n, ok := c.part.read(c.original)
	switch {
	case f.Depth == blocked:
		return all, cmp.Or(fault, name+" has no place for a count at "+pointer)
	case c.original == "" && (!ok || !v.hasParent(f, pointer)):
		return all, fault
	case !ok:
		return all, cmp.Or(fault, "the count of "+name+" is "+brief(c.original)+", which is no whole number of 0 or more")
	}
	c.Component = workload.Component{Name: name, Replicas: n, Minimum: c.part.minimum, Fixed: !v.all(c.part.when, v.original)}
	return append(all, c), fault
}

// hasParent reports whether the owner has the object around an absent count. An object that Flyball has made is not the
// owner's: a count in it would be set and restored in turns, without end. An object in which the owner has set a field
// is the owner's.
func (v *view) hasParent(f workload.Field, pointer string) bool {
	parent := path.Pointer(pointer[:strings.LastIndexByte(pointer, '/')])
	depth, made := len(parent.Tokens()), false
	for i := range v.entries {
		l := &v.entries[i]
		if parent.IsPrefixOf(path.Pointer(l.entry.Pointer)) && l.isOwners() {
			return int(f.Depth) >= depth
		}
		made = made || v.hasMade(l, parent, depth)
	}
	return int(f.Depth) >= depth && !made
}

// isOwners reports whether the owner has a value in the field of an entry: the original, or a later value.
func (l *ledgerField) isOwners() bool {
	switch l.state {
	case fieldSet:
		return l.entry.Original() != ""
	case fieldChanged, fieldAdopted:
		return l.field.Text() != ""
	}
	return false
}

// hasMade reports whether a container, with a pointer of depth tokens, came with the field of an entry. If the authors
// of the entries are known, a container with a different writer's content is the owner's.
func (v *view) hasMade(l *ledgerField, container path.Pointer, depth int) bool {
	if len(v.obj.Notes().Authors) > 0 {
		return l.state == fieldSet && l.author.Alone > 0 && l.isAround(container.Tokens())
	}
	// Without known authors, only a container around the entry's field counts as made with it.
	return l.entry.Made > 0 && depth >= int(l.entry.Made) && container.IsPrefixOf(path.Pointer(l.entry.Pointer))
}

// entryAt returns the ledger entry of the field at a location, or nil.
func (v *view) entryAt(at location) *ledgerField {
	for i := range v.entries {
		if v.entries[i].location == at {
			return &v.entries[i]
		}
	}
	return nil
}

// read returns the meaning of a count, or false if it is unknown.
func (c *component) read(raw string) (int64, bool) {
	if raw == "" {
		if c.absent == nil {
			return 0, false
		}
		return *c.absent, true
	}
	n, ok := natural(raw)
	if q, isQuantity := quantity(raw); isQuantity && raw[0] == '"' && !c.viaScale && q.Sign() >= 0 {
		n, ok = q.Value(), true // rounded up
	}
	if n == 0 && ok {
		n = c.zero
	}
	return n, ok
}

// quantity parses a JSON number, or a Kubernetes quantity in a JSON string such as "40Gi".
func quantity(raw string) (resource.Quantity, bool) {
	if raw == "" {
		return resource.Quantity{}, false
	}
	text, err := path.NewValue(raw, "").Text()
	if err != nil {
		text = raw
	}
	if !strings.ContainsAny(text[:min(len(text), 1)], "+-.0123456789") {
		return resource.Quantity{}, false // saves the cost of an error
	}
	return workload.ParseQuantity(text)
}

// bound returns an end of the range, and whether it can be written. The end is nil if the object has none.
func (v *view) bound(b *bound) (*int64, bool) {
	if v.current(b.slot).Depth == blocked {
		return nil, false
	}
	return v.a.readBound(b, v.original(b.slot))
}

// readBound returns a bound from the kind's encoding: nil for none. It returns false for an invalid bound.
func (a *Adapter) readBound(b *bound, raw string) (*int64, bool) {
	if raw == "" && b.absent == nil {
		return nil, true
	}
	if raw == "" {
		return new(*b.absent), true
	}
	n, ok := natural(raw)
	if a.encoding == v1alpha1.EncodingString {
		n, ok = naturalText(raw)
	}
	if !ok {
		return nil, false
	}
	return &n, true
}

// encode returns a bound in the kind's encoding.
func (a *Adapter) encode(n int64) string {
	if a.encoding == v1alpha1.EncodingString {
		return `"` + integer(n) + `"`
	}
	return integer(n)
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// natural parses a whole number that is not negative.
func natural(raw string) (int64, bool) {
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		n, err = path.NewValue(raw, "").Int64() // 3.0 and 3e0 are numbers too
	}
	return n, err == nil && n >= 0
}

// naturalText parses a whole number in a JSON string that is not negative.
func naturalText(raw string) (int64, bool) {
	text, errText := path.NewValue(raw, "").Text()
	n, err := strconv.ParseInt(text, 10, 64)
	return n, errText == nil && err == nil && n >= 0
}

// variantOf returns the first variant that fits the owner's object and whose fields can all be written, or nil.
func (v *view) variantOf(all []variant) *variant {
	for i := range all {
		if v.all(all[i].when, v.original) && v.isWritable(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// present returns the owner's value of a field, or the present value of a bound, whoever set it.
func (v *view) present(s *slot) string {
	if v.a.min != nil && v.a.min.slot == s || v.a.max != nil && v.a.max.slot == s {
		return v.current(s).Raw
	}
	return v.original(s)
}

// isWritable reports whether every field of a variant can be written.
func (v *view) isWritable(x *variant) bool {
	for _, w := range x.set {
		if v.current(w.slot).Depth == blocked {
			return false
		}
	}
	return true
}

// isSet reports whether the owner has set the variant's values. If the variant has predicates for this, they decide.
// Otherwise every field must have its value.
func (v *view) isSet(x *variant) bool {
	if len(x.already) > 0 {
		return v.all(x.already, v.original)
	}
	for _, w := range x.set {
		if !same(v.original(w.slot), w.value) {
			return false
		}
	}
	return true
}
