package compiled

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Subresources returns the subresources, besides scale, whose updates carry the whole object and are classified like
// its edits.
func (a *Spec) Subresources() []string { return slices.Clone(a.subresources) }

// AsksFor reports whether a change of an object sets a request. The kind's controller only withdraws requests.
func (a *Spec) AsksFor(before, after []byte) bool {
	return a.requests.Classify(before, after) != 0
}

// compileRequests makes a tree in which only the requests have actions.
func (c *compiler) compileRequests() *Rule {
	root := &Rule{}
	for _, o := range c.overrides {
		if o.request {
			root.Mean(o.path, o.action).Request = true
		}
	}
	return root
}

func (c *compiler) requests(at *field.Path, paths []v1alpha1.Path) {
	for i, text := range paths {
		here := at.Index(i)
		p, ok := c.parse(here, text)
		if !ok {
			continue
		}
		o := c.overrideOf(p)
		if o.action == 0 {
			c.invalid(here, text, "must be in create, delete, rollout or scale too")
		}
		if o.request {
			c.errs = append(c.errs, field.Duplicate(here, text))
		}
		o.request = true
	}
}

// subresources compiles the subresources of the spec. Status is one of them if one of its fields is listed.
func (c *compiler) subresources(at *field.Path, names []string) {
	for i, name := range names {
		here := at.Index(i)
		switch {
		case name == "":
			c.required(here, "the name of a subresource, e.g. status")
		case name == "scale":
			c.invalid(here, name, "is judged anyway")
		case slices.Contains(names[:i], name):
			c.errs = append(c.errs, field.Duplicate(here, name))
		}
	}
	c.a.subresources = slices.Clone(names)
	inStatus := func(o *override) bool { return o.action != 0 && path.Covers(statusPath, o.path) }
	if !slices.Contains(names, statusName) && slices.ContainsFunc(c.overrides, inStatus) {
		c.a.subresources = append(c.a.subresources, statusName)
	}
}

// statusName is the subresource for reports of controllers. statusPath is the path of its field.
const statusName = "status"

var statusPath = path.Path{}.Field(statusName)

// lifecycleAction returns the action of a creation or deletion. It returns none if the adapter excludes the object,
// because such an object is created and deleted together with others.
func (a *Spec) lifecycleAction(object []byte, action workload.Change) workload.Change {
	if !a.lifecycle.AreTrue(readFrom(object)) {
		return 0
	}
	return action
}

// Classify returns the set of actions of a change of an object; the empty set means no change. If before is empty, the
// change is a creation. If after is empty, the change is a deletion. Classify compares texts first and parses only the
// differences. The order of keys and the spelling of numbers make no difference, and null equals absence.
func (a *Spec) Classify(before, after []byte) workload.Change {
	switch {
	case len(before) == 0 && len(after) == 0:
		return 0
	case len(before) == 0:
		return a.lifecycleAction(after, workload.ChangeCreate)
	case len(after) == 0:
		return a.lifecycleAction(before, workload.ChangeDelete)
	}
	return a.Changes.Classify(before, after)
}
