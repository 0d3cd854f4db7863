package compiled

import (
	"maps"
	"slices"
	"strconv"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Rule is a node in the tree of actions. A field belongs to the deepest rule with an action on the path to the field.
type Rule struct {
	Action workload.Change
	Set    bool
	// Absent is the JSON text of an absent field's default; empty: none.
	Absent string
	// Request is true if the kind's controller removes the field once it has begun the requested work.
	Request bool

	fields  map[string]*Rule
	indexes map[int]*Rule
	wild    *Rule
	filters []filterRule
}

type filterRule struct {
	step path.Step
	to   *Rule
}

func (r *Rule) isLeaf() bool {
	return len(r.fields) == 0 && len(r.indexes) == 0 && r.wild == nil && len(r.filters) == 0
}

// at returns the rule after the steps, which it creates if needed.
func (r *Rule) at(steps []path.Step) *Rule {
	for _, s := range steps {
		r = r.child(s)
	}
	return r
}

func (r *Rule) child(s path.Step) *Rule {
	switch s.Kind {
	case path.Field:
		if r.fields == nil {
			r.fields = map[string]*Rule{}
		}
		if r.fields[s.Name] == nil {
			r.fields[s.Name] = &Rule{}
		}
		return r.fields[s.Name]
	case path.Index:
		if r.indexes == nil {
			r.indexes = map[int]*Rule{}
		}
		if r.indexes[s.Index] == nil {
			r.indexes[s.Index] = &Rule{}
		}
		return r.indexes[s.Index]
	case path.Wildcard:
		if r.wild == nil {
			r.wild = &Rule{}
		}
		return r.wild
	}
	for _, f := range r.filters {
		if f.step.String() == s.String() {
			return f.to
		}
	}
	f := filterRule{s, &Rule{}}
	r.filters = append(r.filters, f)
	return f.to
}

// Mean gives a path its action, unless it has one already.
func (r *Rule) Mean(p path.Path, action workload.Change) *Rule {
	n := r.at(p.Steps())
	if !n.Set {
		n.Set, n.Action = true, action
	}
	return n
}

// ActionsAt returns the actions of a write at the tokens below a rule.
func (r *Rule) ActionsAt(tokens []string) workload.Change { return r.actionsOf(tokens, r.Action) }

// actionsOf is actionsAt with the action of the deepest rule above.
func (r *Rule) actionsOf(tokens []string, inherited workload.Change) workload.Change {
	if r.Set {
		inherited = r.Action
	}
	if len(tokens) == 0 {
		return inherited | r.actionsBelow()
	}
	var all workload.Change
	next := r.through(tokens[0])
	for _, child := range next {
		all |= child.actionsOf(tokens[1:], inherited)
	}
	if len(next) == 0 {
		return inherited
	}
	return all
}

// through returns the rules that may match the next token.
func (r *Rule) through(token string) []*Rule {
	if child := r.fields[token]; child != nil {
		return []*Rule{child}
	}
	if i, err := strconv.Atoi(token); err == nil && r.indexes[i] != nil {
		return []*Rule{r.indexes[i]}
	}
	var next []*Rule
	for _, f := range r.filters {
		next = append(next, f.to)
	}
	if r.wild != nil {
		next = append(next, r.wild)
	}
	return next
}

// actionsBelow returns every action of the rules inside a field: a writer of the whole field may write each of them.
func (r *Rule) actionsBelow() workload.Change {
	var all workload.Change
	for _, child := range r.children() {
		all |= child.Action | child.actionsBelow()
	}
	return all
}

func (r *Rule) children() []*Rule {
	all := slices.AppendSeq(slices.Collect(maps.Values(r.fields)), maps.Values(r.indexes))
	for _, f := range r.filters {
		all = append(all, f.to)
	}
	if r.wild != nil {
		all = append(all, r.wild)
	}
	return all
}
