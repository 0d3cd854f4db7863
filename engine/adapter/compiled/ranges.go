package compiled

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// EachBound is one end of the range that every element of a list has.
type EachBound struct {
	Bound
	path path.Path // absolute
	// Relative is the number of steps from an element to its bound.
	Relative int
}

// boundsEach compiles one range per element of a list.
func (c *compiler) boundsEach(at *field.Path, spec *v1alpha1.Bounds) {
	each, ok := c.parse(at.Child("each"), spec.Each)
	var names []path.Path
	if spec.NameFrom != "" {
		named, okName := c.plain(at.Child("nameFrom"), spec.NameFrom)
		ok = ok && okName
		names = append(names, each.Join(named))
	}
	if !ok {
		return
	}
	if last := each.Steps()[each.Len()-1].Kind; last != path.Wildcard && last != path.Where {
		c.invalid(at.Child("each"), spec.Each, "must end in [*] or a filter, which yields the elements of a list")
		return
	}
	c.use(at.Child("each"), each, false, path.Object)
	c.lastUse().ByPosition = spec.NameFrom == ""
	if spec.NameFrom != "" {
		c.use(at.Child("nameFrom"), names[0], false, path.String)
	}
	c.a.Lows = c.eachBound(at.Child("min"), spec.Min, spec.Encoding, each, names, workload.PartMin)
	c.a.Highs = c.eachBound(at.Child("max"), spec.Max, spec.Encoding, each, names, workload.PartMax)
}

// scalesEach reports whether a component has the counts of the list elements at a path.
func (c *compiler) scalesEach(each v1alpha1.Path) bool {
	list, err := path.Parse(string(each))
	return err == nil && slices.ContainsFunc(c.a.Components, func(part Component) bool {
		return part.each != nil && strings.HasPrefix(part.each.String(), list.String()+".")
	})
}

func (c *compiler) eachBound(at *field.Path, spec *v1alpha1.Bound, encoding v1alpha1.Encoding, each path.Path, names []path.Path,
	kind workload.PartKind) *EachBound {
	if spec == nil {
		return nil
	}
	c.boundNumbers(at, spec)
	relative, ok := c.plain(at.Child("path"), spec.Path)
	if !ok {
		return nil
	}
	p := each.Join(relative)
	if why := Forbidden(p.Steps()); why != "" {
		c.invalid(at.Child("path"), spec.Path, "%s", why)
		return nil
	}
	c.written = append(c.written, writtenPath{at.Child("path"), facetBounds, p})
	c.use(at.Child("path"), p, true, boundType(encoding))
	c.each = append(c.each, projection.NewList(c.each, workload.Part{Kind: kind}, each, p, false, names...))
	return &EachBound{Bound: Bound{absent: spec.Default, Minimum: spec.Minimum, Unlimited: spec.Unlimited}, path: p, Relative: relative.Len()}
}
