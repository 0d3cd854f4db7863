package compiled

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// owns is the place of a GitOps tool's record of the objects that it applies.
type owns struct {
	each path.Path
	// id is the path, in a record, of a text with all names; empty: a record has a field for each name.
	id fieldPath
	// when are the conditions for owning anything in this cluster. Their slots are in no projection.
	when predicates
	// text identifies the form of the record.
	text string
}

// fieldPath is a plain path in the syntax of rawjson.
type fieldPath string

// owns compiles the record. It is read of every object only while a policy holds owners.
func (c *compiler) owns(at *field.Path, spec v1alpha1.AdapterSpec) {
	if spec.Owns == nil {
		return
	}
	if len(spec.Suspend)+len(spec.Hold) == 0 || len(spec.Scale) > 0 {
		c.errs = append(c.errs, field.Forbidden(at, "needs suspend or hold, and no scale: holding an owner must stop nothing that runs"))
	}
	first := len(c.a.uses)
	o := &owns{when: c.predicates(at.Child("when"), spec.Owns.When, projection.Builder{})}
	each, ok := c.parse(at.Child("each"), spec.Owns.Each)
	if !ok {
		return
	}
	if last := each.Steps()[each.Len()-1].Kind; last != path.Wildcard && last != path.Where {
		c.invalid(at.Child("each"), spec.Owns.Each, "must end in [*] or a filter, which yields the records of a list")
		return
	}
	o.each = each
	c.use(at.Child("each"), each, false, path.Object)
	names := []string{"group", "kind", "namespace", "name"}
	if spec.Owns.ID != "" {
		id, ok := c.plain(at.Child("id"), spec.Owns.ID)
		if !ok {
			return
		}
		pointer, _ := id.Pointer() // a plain path has one
		o.id, names = fieldPathOf(pointer), nil
		c.use(at.Child("id"), each.Join(id), false, path.String)
	}
	for _, name := range names {
		c.use(at.Child("each"), each.Field(name), false, path.String)
	}
	for i := first; i < len(c.a.uses); i++ {
		c.a.uses[i].Optional = true // an older tool keeps no such record, and its objects then own nothing
	}
	text, _ := json.Marshal(spec.Owns)
	o.text = string(text)
	c.a.owns, c.a.keepsOwned = o, c.keys.Owned
}

func fieldPathOf(p path.Pointer) fieldPath {
	tokens := p.Tokens()
	for i := range tokens {
		tokens[i] = rawjson.Escape(tokens[i])
	}
	return fieldPath(strings.Join(tokens, "."))
}

// CanOwn reports whether objects of the kind apply other objects, and can be held.
func (a *Spec) CanOwn() bool { return a.owns != nil }

// KeepsOwned reports whether the records of applied objects are kept. They are kept on demand, so a new reader has to
// wait for them.
func (a *Spec) KeepsOwned() bool { return a.keepsOwned }

// Owned returns the objects that an object applies by its own record, sorted, itself left out. The record is kept on
// demand (Keys.Owned).
func (a *Spec) Owned(obj *workload.Object) []workload.Ref {
	if obj == nil || obj.Inventory == nil || !a.keepsOwned {
		return nil
	}
	return obj.Inventory.Objects
}

// recordForm identifies the form of the kept record; empty: none is kept.
func (a *Spec) recordForm() string {
	if !a.keepsOwned {
		return ""
	}
	return a.owns.text
}

// addOwned adds to an object its record of applied objects.
func (a *Spec) addOwned(raw []byte, obj *workload.Object) error {
	if !a.keepsOwned || !a.owns.when.AreTrue(readFrom(raw)) {
		return nil
	}
	var all []workload.Ref
	err := a.owns.each.All(raw, func(m path.Match) bool {
		if ref := a.owns.read(rawjson.ParseBytes(m.Raw)); ref.Name != "" && ref.Kind != "" && ref != a.RefOf(obj) {
			ref.Group, ref.Kind = a.interner.String(ref.Group), a.interner.String(ref.Kind)
			ref.Namespace, ref.Name = a.interner.String(ref.Namespace), strings.Clone(ref.Name)
			all = append(all, ref)
		}
		return true
	})
	if err != nil || len(all) == 0 {
		return err
	}
	slices.SortFunc(all, workload.Ref.Compare)
	obj.Inventory = &workload.Inventory{Objects: slices.Compact(all)}
	return nil
}

// read returns the object of one record. Its name or its kind is empty if the record is unreadable.
func (o *owns) read(record rawjson.Value) workload.Ref {
	if o.id != "" {
		return refOfID(record.Get(string(o.id)).Str)
	}
	return workload.Ref{
		GroupKind: schema.GroupKind{Group: record.Get("group").Str, Kind: record.Get("kind").Str},
		Namespace: record.Get("namespace").Str, Name: record.Get("name").Str,
	}
}

// refOfID reads the text namespace_name_group_kind. No part but the name has an underscore. A name with a colon, as of
// a ClusterRole, has two underscores in place of the colon.
func refOfID(id string) (ref workload.Ref) {
	namespace, rest, ok := strings.Cut(id, "_")
	last := strings.LastIndexByte(rest, '_')
	if !ok || last < 0 {
		return ref
	}
	middle := strings.LastIndexByte(rest[:last], '_')
	if middle < 0 {
		return ref
	}
	ref.Namespace, ref.Name = namespace, strings.ReplaceAll(rest[:middle], "__", ":")
	ref.Group, ref.Kind = rest[middle+1:last], rest[last+1:]
	return ref
}
