package compiled

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Compile checks a spec and returns it compiled. Every error names its field; with any error the result is nil.
func Compile(name string, spec v1alpha1.AdapterSpec, keys Keys) (*Spec, field.ErrorList) {
	spec = *spec.DeepCopy() // the adapter keeps parts of it
	c := &compiler{
		d: projection.Builder{}, keys: keys,
		a: &Spec{
			keepsAmounts: keys.Amounts, name: name, gk: spec.Target.GroupKind(),
			versions: spec.Target.Versions, RunsToCompletion: spec.RunsToCompletion, Annotate: map[string]*projection.Slot{},
			interner: workload.NewInterner(),
		},
	}
	at := field.NewPath("spec")
	c.target(at.Child("target"), spec.Target)
	c.pods(at.Child("pods"), spec.Pods)
	c.scale(at.Child("scale"), spec.Scale)
	c.a.Suspend = c.variants(at.Child("suspend"), facetSuspend, spec.Suspend)
	c.unable(at.Child("unable"), spec.Unable)
	c.a.Hold = c.variants(at.Child("hold"), facetHold, spec.Hold)
	c.bounds(at.Child("bounds"), spec.Bounds)
	c.utilisation(at.Child("utilisation"), spec.Utilisation)
	c.blind(at.Child("blind"), spec)
	c.staysAtZero(at.Child("staysAtZero"), spec)
	c.holdsAutoscaler(at, spec)
	c.governs(at, spec)
	c.owns(at.Child("owns"), spec)
	c.follows(at.Child("follows"), spec.Follows)
	c.ignoreControllers(at.Child("ignoreControllers"), spec.IgnoreControllers)
	c.annotate(at.Child("annotate"), spec.Annotate, keys.Set)
	c.resources(at.Child("resources"), spec) // after all others, because the default does not touch their fields
	c.ready(at.Child("ready"), spec)
	c.changes(at.Child("changes"), spec.Changes)
	c.separate()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	c.finish(slices.Clone(keys.Match))
	return c.a, nil
}

// facet is the part of a spec that writes a field.
type facet string

const (
	facetScale       facet = "scale"
	facetSuspend     facet = "suspend"
	facetHold        facet = "hold"
	facetBounds      facet = "bounds"
	facetResources   facet = "resources"
	facetUtilisation facet = "utilisation"
	facetAnnotate    facet = "annotate"
)

// compiler collects an adapter, its slots and its errors.
type compiler struct {
	a       *Spec
	d       projection.Builder
	keys    Keys
	errs    field.ErrorList
	written []writtenPath
	each    []projection.List
	// overrides are the paths of spec.changes, with their actions.
	overrides []*override
}

type writtenPath struct {
	at    *field.Path
	facet facet
	path  path.Path
}

func (c *compiler) invalid(at *field.Path, value any, format string, args ...any) {
	c.errs = append(c.errs, field.Invalid(at, value, fmt.Sprintf(format, args...)))
}

func (c *compiler) required(at *field.Path, detail string) {
	c.errs = append(c.errs, field.Required(at, detail))
}

// oneOf checks an enumeration; empty stands for the default.
func oneOf[T ~string](c *compiler, at *field.Path, value T, allowed ...T) {
	if value != "" && !slices.Contains(allowed, value) {
		c.errs = append(c.errs, field.NotSupported(at, value, allowed))
	}
}

// oneOfAll checks each value of a list against an enumeration.
func oneOfAll[T ~string](c *compiler, at *field.Path, values []T, allowed ...T) {
	for i, value := range values {
		oneOf(c, at.Index(i), value, allowed...)
	}
}

func (c *compiler) notNegative(at *field.Path, n *int64) {
	if n != nil && *n < 0 {
		c.invalid(at, *n, "must be 0 or more")
	}
}

func (c *compiler) use(at *field.Path, p path.Path, written bool, types ...path.Type) {
	c.a.uses = append(c.a.uses, Use{Field: at.String(), Path: p, Write: written, Types: types})
}

// lastUse returns the last noted use, so it can be extended.
func (c *compiler) lastUse() *Use { return &c.a.uses[len(c.a.uses)-1] }

// parse compiles a path that is not the whole object.
func (c *compiler) parse(at *field.Path, text v1alpha1.Path) (path.Path, bool) {
	if text == "" {
		c.required(at, "a path")
		return path.Path{}, false
	}
	p, err := path.Parse(string(text))
	if syntax := (*path.Error)(nil); errors.As(err, &syntax) {
		c.invalid(at, text, "column %d: %s", syntax.Column, syntax.Reason)
		return p, false
	}
	switch {
	case err != nil:
		c.invalid(at, text, "%v", err)
	case p.Len() == 0:
		c.invalid(at, text, "must name a field, not the whole object")
	case p.Len() > projection.MaxSteps:
		c.invalid(at, text, "must not have more than %d steps", projection.MaxSteps)
	default:
		return p, true
	}
	return p, false
}

// plain compiles a path that names exactly one place.
func (c *compiler) plain(at *field.Path, text v1alpha1.Path) (path.Path, bool) {
	p, ok := c.parse(at, text)
	if ok && !p.IsPlain() {
		c.invalid(at, text, "must name one place: no [*] and no filter")
		return p, false
	}
	return p, ok
}

// writable compiles a plain path that may be written.
func (c *compiler) writable(at *field.Path, f facet, text v1alpha1.Path) (path.Path, bool) {
	p, ok := c.plain(at, text)
	if !ok {
		return p, false
	}
	if why := Forbidden(p.Steps()); why != "" {
		c.invalid(at, text, "%s", why)
		return p, false
	}
	c.written = append(c.written, writtenPath{at, f, p})
	return p, true
}

// Forbidden returns the reason why a field must not be written, or "".
func Forbidden(steps []path.Step) string {
	last := len(steps) - 1
	switch {
	case steps[0].Kind != path.Field:
		return "must begin with a field"
	case steps[last].Kind == path.Index:
		return "must end in a field: a whole element of a list cannot be put back by its position"
	case steps[0].Name == "apiVersion" || steps[0].Name == "kind" || steps[0].Name == "status":
		return "." + steps[0].Name + " cannot be written"
	case steps[0].Name != "metadata":
		return ""
	case last != 2 || steps[1].Name != "annotations" && steps[1].Name != "labels":
		return "under .metadata only single annotations and labels can be written"
	case strings.HasPrefix(steps[2].Name, v1alpha1.GroupVersion.Group+"/"):
		return "flyball.dev/ annotations and labels cannot be written"
	}
	return ""
}

func (c *compiler) target(at *field.Path, t v1alpha1.AdapterTarget) {
	c.group(at.Child("group"), t.Group)
	if t.Kind == "" {
		c.required(at.Child("kind"), "the kind's name, e.g. Deployment")
	}
	if len(t.Versions) == 0 {
		c.required(at.Child("versions"), "at least one API version, e.g. v1")
	}
	for i, v := range t.Versions {
		if slices.Contains(t.Versions[:i], v) {
			c.errs = append(c.errs, field.Duplicate(at.Child("versions").Index(i), v))
		}
	}
}

func (c *compiler) pods(at *field.Path, p *v1alpha1.Pods) {
	if p == nil {
		return
	}
	c.a.pods = *p
	object := func(name string, text v1alpha1.Path) (found path.Path) {
		if text == "" {
			return found
		}
		found, ok := c.plain(at.Child(name), text)
		if ok {
			c.use(at.Child(name), found, false, path.Object)
		}
		return found
	}
	object("selector", p.Selector)
	c.a.Template = object("template", p.Template)
}

func (c *compiler) annotate(at *field.Path, spec *v1alpha1.Annotate, keys []string) {
	annotations := path.MustParse(".metadata.annotations")
	if spec != nil {
		p, ok := c.plain(at.Child("path"), spec.Path)
		if !ok {
			return
		}
		if why := Forbidden(p.Field("key").Steps()); why != "" {
			c.invalid(at.Child("path"), spec.Path, "%s", why)
			return
		}
		annotations = p
	}
	c.written = append(c.written, writtenPath{at.Child("path"), facetAnnotate, annotations})
	c.use(at.Child("path"), annotations, true, path.Object)
	c.a.annotations, _ = annotations.Pointer() // without an error, because the path is plain
	for _, key := range keys {
		if key != v1alpha1.AnnotationLedger {
			c.a.Annotate[key] = c.d.Write(annotations.Field(key))
		}
	}
}

// separate refuses two writes if the field of one contains the field of the other: the original of one field could then
// have a value that Flyball wrote to the other. Two variants of suspend, or of hold, may write the same fields: only one
// variant is in force, and the next one waits until these fields are restored.
func (c *compiler) separate() {
	for i, w := range c.written {
		for _, v := range c.written[:i] {
			if c.mayMeet(v, w) {
				continue
			}
			c.invalid(w.at, w.path.String(), "overlaps with %s of %s: one place must not be written twice", v.path, v.at)
			break
		}
	}
}

func (c *compiler) mayMeet(v, w writtenPath) bool {
	switch {
	case !path.Overlap(v.path, w.path):
		return true
	case w.facet == facetAnnotate:
		return !path.Covers(v.path, w.path) // others may write single annotations, which are siblings of the keys of policies
	case v.facet == w.facet:
		return v.facet == facetSuspend || v.facet == facetHold
	default:
		return v.path.Equal(w.path) && !c.isScaled(v.path)
	}
}

// isScaled reports whether a path is written through /scale, which can carry no other values.
func (c *compiler) isScaled(p path.Path) bool {
	return slices.ContainsFunc(c.a.Components, func(part Component) bool {
		return part.viaScale && part.Slot != nil && part.Slot.Path.Equal(p)
	})
}

// finish completes the adapter from the collected parts.
func (c *compiler) finish(match []string) {
	// A lazy list does not count: its elements are written only to objects that have a ledger already.
	a, listed := c.a, slices.ContainsFunc(c.each, func(e projection.List) bool { return !e.Lazy })
	for _, s := range c.d {
		s.Rollout = s.Rollout || s.Written && !s.Declared && a.Template.Len() > 0 && path.Covers(a.Template, s.Path)
		listed = listed || s.Written && s.Listed
	}
	if listed { // a JSON Patch depends on whether the map of the ledger exists
		a.AnnotationsMap = c.d.Exists(path.MustParse(".metadata.annotations"))
	}
	a.Changes, a.requests = c.compileRules(a.Template), c.compileRequests()
	a.Projection = c.d.Build(projection.Form{Kind: a.gk.Kind, Interner: a.interner, Metadata: workload.NewMetadata(a.interner, match...),
		Each:     c.each,
		Template: a.Template, Record: a.recordForm()})
}

// compact returns the JSON text without white space; null gives an empty text.
func compact(raw []byte) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil || b.String() == "null" {
		return ""
	}
	return b.String()
}
