package compiled

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Amount is a number besides counts and bounds that a policy can set, or one per element if each is set: a request,
// the limit that follows it, or a target utilisation.
type Amount struct {
	Kind  workload.AmountKind
	Limit bool
	// Name is the name of the component, or the resource of a utilisation. With each it is empty, because the elements have
	// names.
	Name string
	// Resource is the requested or limited resource; for a utilisation, name has it.
	Resource workload.Resource
	When     predicates
	Slot     *projection.Slot // nil with each
	each     *path.Path       // the absolute path of the amounts
	Absent   string           // the meaning of an absent amount, as JSON text; empty: it stays absent
	// whole is true if a request is a JSON number of whole cores or bytes. text is true if a utilisation is in a JSON
	// string.
	whole, text bool
}

// place is the base of the relative paths in one part of a spec.
type place struct {
	at   *field.Path
	each *path.Path // nil: paths begin at the object
	// names are the absolute paths that name an element.
	names []path.Path
}

// resources compiles the requests and limits for CPU and memory, from the spec, or else from the containers in the pod
// template.
func (c *compiler) resources(at *field.Path, spec v1alpha1.AdapterSpec) {
	if len(spec.Resources) == 0 {
		c.containerAmounts(spec.Pods)
		return
	}
	names := map[string]bool{}
	for i, r := range spec.Resources {
		here := at.Index(i)
		if names[r.Name] && r.Each == "" {
			c.errs = append(c.errs, field.Duplicate(here.Child("name"), r.Name))
		}
		names[r.Name] = true
		if (r.Name == "") == (r.Each == "") {
			c.required(here.Child("name"), "a name, or each, and not both")
		}
		if r.Requests.CPU == nil && r.Requests.Memory == nil {
			c.required(here.Child("requests"), "cpu, memory or both")
		}
		if len(r.When) > 0 && r.Each != "" {
			c.errs = append(c.errs, field.Forbidden(here.Child("when"), "cannot be used with each"))
		}
		p, ok := c.place(here, r.Each, "nameFrom", map[string]v1alpha1.Path{"nameFrom": r.NameFrom})
		if !ok {
			continue
		}
		when := c.predicates(here.Child("when"), r.When, c.d)
		c.resourceAmounts(p, r.Name, when, r.Requests, false)
		if r.Limits != nil {
			c.resourceAmounts(p, r.Name, when, *r.Limits, true)
		}
	}
}

// containerAmounts compiles the default: the amounts of the containers in the pod template, and of init containers that
// run beside them. It adds no uses, because a kind with a different form of template is valid and merely has no components.
func (c *compiler) containerAmounts(pods *v1alpha1.Pods) {
	if pods == nil || pods.Immutable || c.a.Template.Len() == 0 {
		return
	}
	spec := c.a.Template.Field("spec")
	lists := []path.Path{
		spec.Field("containers").Join(path.MustParse("[*]")),
		spec.Field("initContainers").Join(path.MustParse(`[?(@.restartPolicy=="Always")]`)),
	}
	if slices.ContainsFunc(c.written, func(w writtenPath) bool {
		return slices.ContainsFunc(lists, func(l path.Path) bool { return path.Overlap(w.path, l) })
	}) {
		return // another part of the adapter writes there
	}
	c.a.sizesPods = true
	for _, each := range lists {
		for _, part := range []struct {
			field  string
			limit  bool
			absent string
		}{{"requests", false, "0"}, {"limits", true, ""}} {
			for _, name := range []workload.Resource{workload.CPU, workload.Memory} {
				p := each.Field("resources").Field(part.field).Field(string(name))
				c.addAmount(Amount{Kind: workload.AmountRequest, Limit: part.limit, Resource: name, Absent: part.absent, each: &p}, each,
					each.Field("name"))
			}
		}
	}
}

// resourceAmounts compiles the requests or the limits of one entry of spec.resources.
func (c *compiler) resourceAmounts(p place, name string, when predicates, amounts v1alpha1.Amounts, limit bool) {
	at := p.at.Child("requests")
	if limit {
		at = p.at.Child("limits")
	}
	for _, part := range []struct {
		resource workload.Resource
		spec     *v1alpha1.Amount
	}{{workload.CPU, amounts.CPU}, {workload.Memory, amounts.Memory}} {
		if part.spec == nil {
			continue
		}
		here := at.Child(string(part.resource))
		oneOf(c, here.Child("encoding"), part.spec.Encoding, v1alpha1.AmountQuantity, v1alpha1.AmountInteger)
		x := Amount{Kind: workload.AmountRequest, Limit: limit, Name: name, Resource: part.resource, When: when,
			whole: part.spec.Encoding == v1alpha1.AmountInteger}
		if d := part.spec.Default; d != nil && d.Sign() < 0 {
			c.invalid(here.Child("default"), d.String(), "must be 0 or more")
		} else if d != nil {
			x.Absent = path.Quote(d.String())
		}
		types := []path.Type{path.String, path.Number}
		if x.whole {
			types = types[1:]
		}
		c.amount(p, here.Child("path"), facetResources, part.spec.Path, x, types...)
	}
}

// utilisation compiles the target utilisations of an autoscaler.
func (c *compiler) utilisation(at *field.Path, specs []v1alpha1.Utilisation) {
	seen := map[string]bool{}
	for i, u := range specs {
		here := at.Index(i)
		oneOf(c, here.Child("encoding"), u.Encoding, v1alpha1.EncodingInteger, v1alpha1.EncodingString)
		oneOf(c, here.Child("resource"), u.Resource, string(workload.CPU), string(workload.Memory))
		if (u.Resource == "") == (u.Each == "") {
			c.required(here.Child("resource"), "a resource, or each, and not both")
		}
		if seen[u.Resource] && u.Each == "" {
			c.errs = append(c.errs, field.Duplicate(here.Child("resource"), u.Resource))
		}
		seen[u.Resource] = true
		p, ok := c.place(here, u.Each, "resourceFrom", map[string]v1alpha1.Path{"containerFrom": u.ContainerFrom, "resourceFrom": u.ResourceFrom})
		if !ok {
			continue
		}
		x := Amount{Kind: workload.AmountUtilisation, Name: u.Resource, text: u.Encoding == v1alpha1.EncodingString}
		c.amount(p, here.Child("percent"), facetUtilisation, u.Percent, x, boundType(u.Encoding))
	}
}

// place compiles each, and the paths to the names of its elements, in alphabetical order of their fields. With each, the
// field named required must be set.
func (c *compiler) place(at *field.Path, each v1alpha1.Path, required string, from map[string]v1alpha1.Path) (place, bool) {
	p, ok := place{at: at}, true
	if each != "" {
		list, okEach := c.parse(at.Child("each"), each)
		if ok = okEach; ok {
			if last := list.Steps()[list.Len()-1].Kind; last != path.Wildcard && last != path.Where {
				c.invalid(at.Child("each"), each, "must end in [*] or a filter, which yields the elements of a list")
				return p, false
			}
			c.use(at.Child("each"), list, false, path.Object)
			p.each = &list
		}
	}
	for _, name := range []string{"containerFrom", "nameFrom", "resourceFrom"} {
		switch text := from[name]; {
		case text == "" && name == required && each != "":
			c.required(at.Child(name), "the field that names an element")
			ok = false
		case text != "" && each == "":
			c.invalid(at.Child(name), text, "goes together with each")
			ok = false
		case text != "":
			relative, okName := c.plain(at.Child(name), text)
			if ok = ok && okName; ok {
				p.names = append(p.names, p.each.Join(relative))
				c.use(at.Child(name), p.names[len(p.names)-1], false, path.String)
			}
		}
	}
	return p, ok
}

// amount compiles the path of an amount. With each, the path begins at a list element and may contain filters, but no
// wildcard.
func (c *compiler) amount(p place, at *field.Path, f facet, text v1alpha1.Path, x Amount, types ...path.Type) {
	if p.each == nil {
		if plain, ok := c.writable(at, f, text); ok {
			x.Slot = c.d.Write(plain)
			x.Slot.Rollout = x.Slot.Rollout || x.Kind == workload.AmountRequest
			c.use(at, plain, true, types...)
			c.a.Amounts = append(c.a.Amounts, x)
		}
		return
	}
	relative, ok := c.parse(at, text)
	if !ok {
		return
	}
	if slices.ContainsFunc(relative.Steps(), func(s path.Step) bool { return s.Kind == path.Wildcard }) {
		c.invalid(at, text, "must name one place in an element: no [*]")
		return
	}
	all := p.each.Join(relative)
	if why := Forbidden(all.Steps()); why != "" {
		c.invalid(at, text, "%s", why)
		return
	}
	c.written = append(c.written, writtenPath{at, f, all})
	c.use(at, all, true, types...)
	x.each = &all
	c.addAmount(x, *p.each, p.names...)
}

// addAmount adds an amount of list elements.
func (c *compiler) addAmount(x Amount, each path.Path, names ...path.Path) {
	part := workload.Part{Kind: workload.PartAmount, Index: uint8(len(c.a.Amounts))}
	c.each = append(c.each, projection.NewList(c.each, part, each, *x.each, !c.keys.Amounts, names...))
	c.a.Amounts = append(c.a.Amounts, x)
}

// Read returns the meaning of an amount: thousandths of a core, bytes or percent; false if it is invalid.
func (x *Amount) Read(raw string) (int64, bool) {
	raw = cmp.Or(raw, x.Absent)
	if x.Kind == workload.AmountUtilisation {
		if x.text {
			return path.NaturalText(raw)
		}
		return path.Natural(raw)
	}
	const most = 1 << 53 // cores or bytes: this number of cores, in thousandths, still fits into an int64
	q, ok := workload.QuantityOf(raw)
	if !ok || q.Sign() < 0 || q.CmpInt64(most) > 0 {
		return 0, false
	}
	if x.Resource == workload.CPU {
		return q.MilliValue(), true // rounded up
	}
	return q.Value(), true
}

// Spell returns an amount in the kind's encoding, in the spelling of the first known text with the same meaning.
func (x *Amount) Spell(n int64, known ...string) string {
	for _, raw := range known {
		if has, ok := x.Read(raw); ok && has == n && raw != "" {
			return raw
		}
	}
	switch {
	case x.Kind == workload.AmountUtilisation && x.text:
		return path.Quote(path.Integer(n))
	case x.Kind == workload.AmountUtilisation, x.whole && x.Resource == workload.Memory:
		return path.Integer(n)
	case x.whole:
		return path.Integer(n/1000 + min(n%1000, 1)) // whole cores, rounded up
	case x.Resource == workload.CPU:
		return path.Quote(resource.NewMilliQuantity(n, resource.DecimalSI).String())
	}
	return path.Quote(resource.NewQuantity(n, resource.BinarySI).String())
}

// Key returns the key of the amount of a component or an element.
func (x *Amount) Key(name string) workload.Amount {
	if x.Kind == workload.AmountRequest {
		return workload.Amount{Kind: x.Kind, Component: name, Resource: x.Resource}
	}
	container, of, found := strings.Cut(name, "/")
	if !found {
		container, of = "", name
	}
	return workload.Amount{Kind: x.Kind, Component: container, Resource: workload.Resource(of)}
}

// Label returns the name of an amount for messages, such as the request of a container.
func (x *Amount) Label(key workload.Amount) string {
	what := "request"
	switch {
	case x.Kind == workload.AmountUtilisation:
		what = "utilisation"
	case x.Limit:
		what = "limit"
	}
	return strings.TrimSpace(key.Component + " " + string(key.Resource) + " " + what)
}
