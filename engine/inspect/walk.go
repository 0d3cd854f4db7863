package inspect

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// presence is the result of looking up one path in the schema.
type presence uint8

const (
	found presence = iota
	missing
	unknown // the schema leaves it open
	idle    // a comparison that can never hold
)

// componentPrefix starts every reference in the documents of API servers.
const componentPrefix = "#/components/schemas/"

// maxReferences bounds the chain of references and combinations at one node, against circular documents.
const maxReferences = 32

// readComponents returns the schemas of a document by name, and the schema of the kind as root. Both share the memory
// of text.
func readComponents(text string, gvk schema.GroupVersionKind) (components map[string]string, root string) {
	components = map[string]string{}
	rawjson.Get(text, "components.schemas").ForEach(func(name, value rawjson.Value) bool {
		components[name.String()] = value.Raw
		value.Get("x-kubernetes-group-version-kind").ForEach(func(_, k rawjson.Value) bool {
			if k.Get("group").String() == gvk.Group && k.Get("version").String() == gvk.Version && k.Get("kind").String() == gvk.Kind {
				root = value.Raw
			}
			return root == ""
		})
		return true
	})
	return components, root
}

// hasStatus reports whether the document has a status subresource of the kind.
func hasStatus(text string, gvk schema.GroupVersionKind) bool {
	found := false
	rawjson.Get(text, "paths").ForEach(func(url, operations rawjson.Value) bool {
		if !strings.HasSuffix(url.String(), "/{name}/status") {
			return true
		}
		k := operations.Get("get.x-kubernetes-group-version-kind")
		found = k.Get("group").String() == gvk.Group && k.Get("version").String() == gvk.Version && k.Get("kind").String() == gvk.Kind
		return !found
	})
	return found
}

// walker follows paths through a kind's schema.
type walker struct {
	components map[string]string
	root       string
	kind       string // "apps/v1 Deployment"
	// hasStatus is true if the kind has a status subresource. Then a write of the object does not change its status.
	hasStatus bool
}

// check walks a path and checks the type at the end.
func (w walker) check(use adapter.Use) (Finding, presence) {
	finding := Finding{Field: use.Field, Path: use.Path.String()}
	steps := use.Path.Steps()
	if use.Write && w.hasStatus && len(steps) > 0 && steps[0].Name == "status" {
		finding.Why = fmt.Sprintf("%s cannot be written: %s has a status subresource, so a write of the object does not change .status", use.Path,
			w.kind)
		return finding, missing
	}
	at := w.node(w.root)
	var walked path.Path
	for i, step := range steps {
		if keys := at.mapKeys(); use.ByPosition && i == len(steps)-1 && keys != "" {
			finding.Why = fmt.Sprintf("the elements of %s are known by %s, and not by their places, in the schema of %s: set nameFrom", walked, keys,
				w.kind)
			return finding, missing
		}
		next, why, suggestion := w.step(at, walked, step)
		if why != "" {
			finding.Why, finding.Suggestion = why, suggestion
			return finding, missing
		}
		if next == nil {
			return finding, unknown
		}
		at, walked = next, join(walked, step)
	}
	if why, suggestion := w.excluded(at, use); why != "" {
		finding.Why, finding.Suggestion = why, suggestion
		if use.Write {
			return finding, missing
		}
		return finding, idle
	}
	if len(use.Types) == 0 {
		return finding, found
	}
	types := at.types()
	if len(types) == 0 {
		return finding, unknown
	}
	if !slices.ContainsFunc(types, func(t string) bool { return accepts(use.Types, t) }) {
		finding.Why = fmt.Sprintf("%s is %s in the schema of %s, the adapter needs %s", use.Path, either(types), w.kind, either(use.Types))
		return finding, missing
	}
	return finding, found
}

// excluded finds the first value of a use that the schema does not allow at a place. It returns the reason with the
// allowed values, and the value that was probably meant.
func (w walker) excluded(at node, use adapter.Use) (why, suggestion string) {
	allowed := at.enum()
	if len(allowed) == 0 {
		return "", ""
	}
	for _, value := range use.Values {
		if slices.ContainsFunc(allowed, func(a string) bool { return path.Equal(a, value) }) {
			continue
		}
		why = fmt.Sprintf("%s is not among the values of %s in the schema of %s: %s", value, use.Path, w.kind, strings.Join(allowed, ", "))
		if value[0] == '"' {
			suggestion = workload.Nearest(value, allowed)
		}
		return why, suggestion
	}
	return "", ""
}

// step goes down by one step. It returns the node below, or the reason why that node does not exist. It returns neither
// if the schema leaves fields open.
func (w walker) step(at node, walked path.Path, step path.Step) (below node, why, suggestion string) {
	switch step.Kind {
	case path.Field:
		return w.field(at, walked, step.Name)
	case path.Wildcard:
		if raw, ok := at.values(); ok && !at.is("array") {
			return w.node(raw), "", ""
		}
	}
	items, ok := at.items()
	switch {
	case !ok && at.isOpen():
		return nil, "", ""
	case !ok:
		return nil, fmt.Sprintf("%s is %s in the schema of %s, so %s selects nothing", walked, either(at.types()), w.kind, step), ""
	}
	below = w.node(items)
	if step.Kind != path.Where {
		return below, "", ""
	}
	return w.filtered(below, join(walked, step), step.Filter.Key)
}

// filtered checks that the elements of a list have the key of a filter.
func (w walker) filtered(element node, walked, key path.Path) (below node, why, suggestion string) {
	at, keyWalked := element, walked
	for _, step := range key.Steps() {
		next, why, _ := w.step(at, keyWalked, step)
		if why != "" {
			return nil, "in the filter: " + why, ""
		}
		if next == nil {
			break
		}
		at, keyWalked = next, join(keyWalked, step)
	}
	return element, "", ""
}

// field goes down to a field of an object.
func (w walker) field(at node, walked path.Path, name string) (below node, why, suggestion string) {
	if raw, ok := at.property(name); ok {
		return w.node(raw), "", ""
	}
	if raw, ok := at.values(); ok {
		return w.node(raw), "", ""
	}
	if at.isOpen() {
		return nil, "", ""
	}
	target := walked.Field(name)
	if types := at.types(); len(types) > 0 && !slices.Contains(types, "object") {
		why = fmt.Sprintf("%s is %s in the schema of %s and has no field %s", walked, either(types), w.kind, name)
		if slices.Contains(types, "array") {
			suggestion = join(walked, path.Step{Kind: path.Wildcard}).Field(name).String()
		}
		return nil, why, suggestion
	}
	if near := workload.Nearest(name, at.propertyNames()); near != "" {
		suggestion = walked.Field(near).String()
	}
	return nil, fmt.Sprintf("%s is not in the schema of %s", target, w.kind), suggestion
}

// join returns a path extended by one step of any kind.
func join(p path.Path, step path.Step) path.Path {
	if step.Kind == path.Field {
		return p.Field(step.Name)
	}
	return p.Join(path.MustParse(step.String()))
}

// accepts reports whether a schema's type is among the needed types. A schema has the type integer, which counts as a
// number.
func accepts(needed []path.Type, t string) bool {
	if t == "integer" {
		return slices.Contains(needed, path.Number)
	}
	return slices.Contains(needed, path.Type(t))
}

// either returns types as text: "a string", "an integer or a string".
func either[T ~string](types []T) string {
	named := make([]string, 0, len(types))
	for _, t := range types {
		article := "a "
		if strings.ContainsRune("aeiou", rune(t[0])) {
			article = "an "
		}
		named = append(named, article+string(t))
	}
	if len(named) == 0 {
		return "of no type"
	}
	return strings.Join(named, " or ")
}
