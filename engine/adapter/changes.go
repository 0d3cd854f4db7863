package adapter

import (
	"slices"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Subresources returns the subresources, besides scale, whose updates carry the whole object and are classified like
// its edits.
func (a *Adapter) Subresources() []string { return slices.Clone(a.subresources) }

// lifecycleAction returns the action of a creation or deletion. It returns none if the adapter excludes the object,
// because such an object is created and deleted together with others.
func (a *Adapter) lifecycleAction(object []byte, action workload.Change) workload.Change {
	read := func(s *slot) string {
		found, err := s.path.Get(object)
		if err != nil || found.Raw() == "null" {
			return ""
		}
		return found.Raw()
	}
	for i := range a.lifecycle {
		if !a.lifecycle[i].holds(read) {
			return 0
		}
	}
	return action
}

// isWithdrawn reports whether the difference of two values is only the removal of a request, or of some requests of a
// list.
func isWithdrawn(before, after string, rules []*rule) bool {
	if !slices.ContainsFunc(rules, func(r *rule) bool { return r.request }) {
		return false
	}
	if after == "" {
		return true
	}
	if kindOf(before) != "[" || kindOf(after) != "[" {
		return false
	}
	old, rest := gjson.Parse(before).Array(), gjson.Parse(after).Array()
	if len(rest) >= len(old) || len(old) > maxRequests {
		return false
	}
	for _, left := range rest {
		if !slices.ContainsFunc(old, func(o gjson.Result) bool { return same(o.Raw, left.Raw) }) {
			return false
		}
	}
	return true
}

// AsksFor reports whether a change of an object sets a request. The kind's controller only withdraws requests.
func (a *Adapter) AsksFor(before, after []byte) bool {
	return differ(value(gjson.ParseBytes(before)), value(gjson.ParseBytes(after)), []*rule{a.requests}, 0) != 0
}

// compileRequests makes a tree in which only the requests have actions.
func (c *compiler) compileRequests() *rule {
	root := &rule{}
	for _, o := range c.overrides {
		if o.request {
			root.mean(o.path, o.action).request = true
		}
	}
	return root
}

// maxRequests is the largest number of requests in a list that isWithdrawn compares. No controller has as many at once.
const maxRequests = 256

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
