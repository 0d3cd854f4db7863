package adapter

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// rule is a node in the tree of actions. A field belongs to the deepest rule with an action on the path to the field.
type rule struct {
	action workload.Change
	set    bool
	// absent is the JSON text of an absent field's default; empty: none.
	absent string
	// request is true if the kind's controller removes the field once it has begun the requested work.
	request bool

	fields  map[string]*rule
	indexes map[int]*rule
	wild    *rule
	filters []filterRule
}

type filterRule struct {
	step path.Step
	to   *rule
}

func (r *rule) isLeaf() bool {
	return len(r.fields) == 0 && len(r.indexes) == 0 && r.wild == nil && len(r.filters) == 0
}

// at returns the rule after the steps, which it creates if needed.
func (r *rule) at(steps []path.Step) *rule {
	for _, s := range steps {
		r = r.child(s)
	}
	return r
}

func (r *rule) child(s path.Step) *rule {
	switch s.Kind {
	case path.Field:
		if r.fields == nil {
			r.fields = map[string]*rule{}
		}
		if r.fields[s.Name] == nil {
			r.fields[s.Name] = &rule{}
		}
		return r.fields[s.Name]
	case path.Index:
		if r.indexes == nil {
			r.indexes = map[int]*rule{}
		}
		if r.indexes[s.Index] == nil {
			r.indexes[s.Index] = &rule{}
		}
		return r.indexes[s.Index]
	case path.Wildcard:
		if r.wild == nil {
			r.wild = &rule{}
		}
		return r.wild
	}
	for _, f := range r.filters {
		if f.step.String() == s.String() {
			return f.to
		}
	}
	f := filterRule{s, &rule{}}
	r.filters = append(r.filters, f)
	return f.to
}

// mean gives a path its action, unless it has one already.
func (r *rule) mean(p path.Path, action workload.Change) *rule {
	n := r.at(p.Steps())
	if !n.set {
		n.set, n.action = true, action
	}
	return n
}

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
	c.a.lifecycle = c.predicates(at.Child("createDeleteWhen"), spec.CreateDeleteWhen, drafts{})
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
func (c *compiler) compileRules(template path.Path) *rule {
	root := &rule{set: true, action: workload.ChangeRollOut}
	for _, o := range c.overrides {
		root.mean(o.path, o.action).request = o.request
	}
	for i := range c.a.components {
		part := &c.a.components[i]
		p := part.each
		if p == nil {
			p = &part.slot.path
		}
		if n := root.mean(*p, workload.ChangeScale); part.absent != nil {
			n.absent = integer(*part.absent)
		}
	}
	for _, b := range []*bound{c.a.min, c.a.max} {
		if b == nil {
			continue
		}
		if n := root.mean(b.slot.path, workload.ChangeScale); b.absent != nil && n.absent == "" {
			n.absent = c.a.encode(*b.absent)
		}
	}
	for _, b := range []*eachBound{c.a.lows, c.a.highs} {
		if b == nil {
			continue
		}
		if n := root.mean(b.path, workload.ChangeScale); b.absent != nil && n.absent == "" {
			n.absent = c.a.encode(*b.absent)
		}
	}
	for i := range c.a.amounts {
		if x := &c.a.amounts[i]; x.kind == workload.AmountUtilisation {
			p := x.each
			if p == nil {
				p = &x.slot.path
			}
			root.mean(*p, workload.ChangeScale)
		}
	}
	for _, v := range c.a.suspend {
		for _, w := range v.set {
			root.mean(w.slot.path, workload.ChangeScale)
		}
	}
	for _, v := range c.a.hold {
		for _, w := range v.set {
			root.mean(w.slot.path, workload.ChangeRollOut)
		}
	}
	root.mean(template, workload.ChangeRollOut)
	for _, name := range []string{"apiVersion", "kind", "metadata", "status"} {
		root.mean(path.Path{}.Field(name), 0)
	}
	root.mean(path.Path{}.Field("metadata").Field("ownerReferences"), workload.ChangeDelete)
	return root
}

// actionsOf returns the actions of a write, by those rules of Classify that do not need the object. To suspend or to
// hold only stops work. To undo this can start a waiting roll-out.
func (v *view) actionsOf(d *decision) workload.Change {
	all := v.a.changes.actionsAt(path.Pointer(d.pointer).Tokens(), v.a.changes.action)
	switch {
	case !v.a.stopsAt(d.pointer):
		return all
	case d.direction == workload.DirectionUp:
		return all & (workload.ChangeRollOut | workload.ChangeScale)
	default:
		return all & workload.ChangeScale
	}
}

// stopsAt reports whether a field suspends or holds.
func (a *Adapter) stopsAt(pointer string) bool {
	for _, v := range slices.Concat(a.suspend, a.hold) {
		if slices.ContainsFunc(v.set, func(w write) bool { return w.slot.pointer == pointer }) {
			return true
		}
	}
	return false
}

// actionsAt returns the actions of a write at the tokens below a rule; inherited is the action of the deepest rule
// above.
func (r *rule) actionsAt(tokens []string, inherited workload.Change) workload.Change {
	if r.set {
		inherited = r.action
	}
	if len(tokens) == 0 {
		return inherited | r.actionsBelow()
	}
	var all workload.Change
	next := r.through(tokens[0])
	for _, child := range next {
		all |= child.actionsAt(tokens[1:], inherited)
	}
	if len(next) == 0 {
		return inherited
	}
	return all
}

// through returns the rules that may match the next token.
func (r *rule) through(token string) []*rule {
	if child := r.fields[token]; child != nil {
		return []*rule{child}
	}
	if i, err := strconv.Atoi(token); err == nil && r.indexes[i] != nil {
		return []*rule{r.indexes[i]}
	}
	var next []*rule
	for _, f := range r.filters {
		next = append(next, f.to)
	}
	if r.wild != nil {
		next = append(next, r.wild)
	}
	return next
}

// actionsBelow returns every action of the rules inside a field: a writer of the whole field may write each of them.
func (r *rule) actionsBelow() workload.Change {
	var all workload.Change
	for _, child := range r.children() {
		all |= child.action | child.actionsBelow()
	}
	return all
}

func (r *rule) children() []*rule {
	all := slices.AppendSeq(slices.Collect(maps.Values(r.fields)), maps.Values(r.indexes))
	for _, f := range r.filters {
		all = append(all, f.to)
	}
	if r.wild != nil {
		all = append(all, r.wild)
	}
	return all
}
