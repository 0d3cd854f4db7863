package compiled

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// override is one path of spec.changes.
type override struct {
	path    path.Path
	action  workload.Change
	ignored bool
	request bool
}

func (c *compiler) changes(at *field.Path, spec *v1alpha1.Changes) {
	if spec == nil {
		return
	}
	first := len(c.a.uses)
	for _, list := range []struct {
		name   string
		paths  []v1alpha1.Path
		action workload.Change
	}{
		{"create", spec.Create, workload.ChangeCreate},
		{"delete", spec.Delete, workload.ChangeDelete},
		{"rollout", spec.Rollout, workload.ChangeRollOut},
		{"scale", spec.Scale, workload.ChangeScale},
		{"ignore", spec.Ignore, 0},
	} {
		for i, text := range list.paths {
			here := at.Child(list.name).Index(i)
			p, ok := c.parse(here, text)
			if !ok {
				continue
			}
			o := c.overrideOf(p)
			if list.action != 0 && o.action.Has(list.action) || o.ignored || list.action == 0 && o.action != 0 {
				c.errs = append(c.errs, field.Duplicate(here, text))
			}
			o.action |= list.action
			o.ignored = o.ignored || list.action == 0
			c.use(here, p, false)
		}
	}
	c.requests(at.Child("requests"), spec.Requests)
	// createDeleteWhen is evaluated on whole objects, so its fields are not kept
	c.a.lifecycle = c.predicates(at.Child("createDeleteWhen"), spec.CreateDeleteWhen, projection.Builder{})
	for i := first; i < len(c.a.uses); i++ {
		c.a.uses[i].Optional = true
	}
	c.subresources(at.Child("subresources"), spec.Subresources)
}

// overrideOf returns the entry of a path, which it creates if needed.
func (c *compiler) overrideOf(p path.Path) *override {
	for _, o := range c.overrides {
		if o.path.Equal(p) {
			return o
		}
	}
	o := &override{path: p}
	c.overrides = append(c.overrides, o)
	return o
}

// compileRules makes the tree: first the adapter's own rules, then the defaults. The paths of scale, bounds,
// utilisation and suspend mean Scale; the template, hold and every other field mean RollOut; identity, metadata and
// status mean nothing. Owners are the exception: the garbage collector deletes an object whose owners do not exist.
func (c *compiler) compileRules(template path.Path) *Rule {
	root := &Rule{Set: true, Action: workload.ChangeRollOut}
	for _, o := range c.overrides {
		root.Mean(o.path, o.action).Request = o.request
	}
	for i := range c.a.Components {
		part := &c.a.Components[i]
		p := part.each
		if p == nil {
			p = &part.Slot.Path
		}
		if n := root.Mean(*p, workload.ChangeScale); part.absent != nil {
			n.Absent = path.Integer(*part.absent)
		}
	}
	for _, b := range []*Bound{c.a.Min, c.a.Max} {
		if b == nil {
			continue
		}
		if n := root.Mean(b.Slot.Path, workload.ChangeScale); b.absent != nil && n.Absent == "" {
			n.Absent = c.a.encode(*b.absent)
		}
	}
	for _, b := range []*EachBound{c.a.Lows, c.a.Highs} {
		if b == nil {
			continue
		}
		if n := root.Mean(b.path, workload.ChangeScale); b.absent != nil && n.Absent == "" {
			n.Absent = c.a.encode(*b.absent)
		}
	}
	for i := range c.a.Amounts {
		if x := &c.a.Amounts[i]; x.Kind == workload.AmountUtilisation {
			p := x.each
			if p == nil {
				p = &x.Slot.Path
			}
			root.Mean(*p, workload.ChangeScale)
		}
	}
	for _, v := range c.a.Suspend {
		for _, w := range v.Set {
			root.Mean(w.Slot.Path, workload.ChangeScale)
		}
	}
	for _, v := range c.a.Hold {
		for _, w := range v.Set {
			root.Mean(w.Slot.Path, workload.ChangeRollOut)
		}
	}
	root.Mean(template, workload.ChangeRollOut)
	for _, name := range []string{"apiVersion", "kind", "metadata", "status"} {
		root.Mean(path.Path{}.Field(name), 0)
	}
	root.Mean(path.Path{}.Field("metadata").Field("ownerReferences"), workload.ChangeDelete)
	return root
}

// StopsAt reports whether a field suspends or holds.
func (a *Spec) StopsAt(pointer string) bool {
	for _, v := range slices.Concat(a.Suspend, a.Hold) {
		if slices.ContainsFunc(v.Set, func(w Write) bool { return w.Slot.Pointer == pointer }) {
			return true
		}
	}
	return false
}
