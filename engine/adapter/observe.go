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

// Observe gives what the owner of an object wants: counts, bounds and switches with Flyball's own changes undone. A value
// of an unexpected type, and an absent one without a default, leave the facet out. Governed is left to the caller, who
// knows the other objects.
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
	o.CanHold = v.holdVariant() != nil
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

// Governs gives the object whose replicas this object owns. A reference without a name, or without a kind where the
// adapter assumes none, governs nothing.
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
	// element is its place in Object.Elements; -1 where the count is a plain field.
	element int
	// original is the owner's JSON text; empty where the count is absent and the default stands for it.
	original string
	// entry is the ledger entry on it, if any.
	entry *ledgerField
	workload.Component
}

// counts are the replica counts of the object. fault names the first one that cannot be read or told from others, with the
// reason: a size is a matter of all counts or of none.
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

// appendCount adds one count that can be read and written. A part that the object does not have has none, and there is none
// where nothing says what an absent count means; of any other it gives the fault, if that is the first.
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

// hasParent says of an absent count whether its owner has the object that it is a field of. One that Flyball has made, for the count or for
// whatever else, is not the owner's: else a count that is set in there would take its own parent away from under it. One in which he has set
// a field himself is.
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

// isOwners says whether the owner has a value in the field of an entry: what he had there, or what he has set since.
func (l *ledgerField) isOwners() bool {
	switch l.state {
	case fieldSet:
		return l.entry.Original() != ""
	case fieldChanged, fieldAdopted:
		return l.field.Text() != ""
	}
	return false
}

// hasMade says whether a container, whose pointer has depth tokens, came with the field of an entry. Where managed fields tell who has written
// what, one into which somebody else has written is the owner's.
func (v *view) hasMade(l *ledgerField, container path.Pointer, depth int) bool {
	if len(v.obj.Notes().Authors) > 0 {
		return l.state == fieldSet && l.author.Alone > 0 && l.isAround(container.Tokens())
	}
	// What is beside the field did not come with it.
	return l.entry.Made > 0 && depth >= int(l.entry.Made) && container.IsPrefixOf(path.Pointer(l.entry.Pointer))
}

// entryAt is the ledger entry on the field at a location; nil if there is none.
func (v *view) entryAt(at location) *ledgerField {
	for i := range v.entries {
		if v.entries[i].location == at {
			return &v.entries[i]
		}
	}
	return nil
}

// read gives what a count means; false if that is not known.
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

// quantity reads a JSON number, or a Kubernetes quantity in a JSON string such as "40Gi".
func quantity(raw string) (resource.Quantity, bool) {
	if raw == "" {
		return resource.Quantity{}, false
	}
	text, err := path.NewValue(raw, "").Text()
	if err != nil {
		text = raw
	}
	if !strings.ContainsAny(text[:min(len(text), 1)], "+-.0123456789") {
		return resource.Quantity{}, false // not worth the error
	}
	return workload.ParseQuantity(text)
}

// bound gives an end of the range, nil if the object has none, and whether it can be written.
func (v *view) bound(b *bound) (*int64, bool) {
	if v.current(b.slot).Depth == blocked {
		return nil, false
	}
	return v.a.readBound(b, v.original(b.slot))
}

// readBound reads a bound as the kind has it: nil where there is none. It is false for what is no bound.
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

// encode writes a bound as the kind has it.
func (a *Adapter) encode(n int64) string {
	if a.encoding == v1alpha1.EncodingString {
		return `"` + integer(n) + `"`
	}
	return integer(n)
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// natural reads a whole number that is not negative.
func natural(raw string) (int64, bool) {
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		n, err = path.NewValue(raw, "").Int64() // 3.0 and 3e0 are numbers too
	}
	return n, err == nil && n >= 0
}

// naturalText reads a whole number in a JSON string that is not negative.
func naturalText(raw string) (int64, bool) {
	text, errText := path.NewValue(raw, "").Text()
	n, err := strconv.ParseInt(text, 10, 64)
	return n, errText == nil && err == nil && n >= 0
}

// variantOf is the first that fits the object as its owner has it and whose fields can all be written; nil if none.
func (v *view) variantOf(all []variant) *variant { return v.fitting(all, v.original) }

// holdVariant is the variant of hold that fits. How an autoscaler is held depends on its bounds, and those count as they are,
// whoever set them.
func (v *view) holdVariant() *variant {
	return v.fitting(v.a.hold, func(s *slot) string {
		if v.a.min != nil && v.a.min.slot == s || v.a.max != nil && v.a.max.slot == s {
			return v.current(s).Raw
		}
		return v.original(s)
	})
}

// fitting is the first variant whose conditions hold on the values that read gives, and whose fields can all be written.
func (v *view) fitting(all []variant, read func(*slot) string) *variant {
	for i := range all {
		if v.all(all[i].when, read) && v.isWritable(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// isWritable says whether every field of a variant can be written.
func (v *view) isWritable(x *variant) bool {
	for _, w := range x.set {
		if v.current(w.slot).Depth == blocked {
			return false
		}
	}
	return true
}

// isSet says whether the owner has set what a variant would set: by the variant's own word for that, or else every field as the
// variant would.
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
