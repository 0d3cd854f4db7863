package adapter

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path/rawjson"
)

// unusedDepth is the number of levels of .spec that are searched. maxUnused is the largest number of listed fields.
const unusedDepth, maxUnused = 3, 20

// unused lists the numbers and switches of .spec that the draft does not use. One of them may be a lever with an
// unusual name.
func (d *drafting) unused() {
	used := map[string]bool{}
	for _, use := range d.compiled.Uses() {
		used[use.Path.String()] = true
	}
	found := d.leversBeside(used)
	more := len(found) - maxUnused
	for _, field := range found[:min(len(found), maxUnused)] {
		d.Unused = append(d.Unused, field+": add it by hand if it says how much runs, or whether")
	}
	if more > 0 {
		d.Unused = append(d.Unused, fmt.Sprintf("%d more numbers and switches", more))
	}
}

// leversBeside returns the numbers and switches of .spec except the used ones, with their types.
func (d *drafting) leversBeside(used map[string]bool) (found []string) {
	d.levers(".spec", d.at(".spec"), unusedDepth, func(path, kind string) {
		if !used[path] {
			found = append(found, fmt.Sprintf("%s (%s)", path, kind))
		}
	})
	slices.Sort(found)
	return found
}

// refusal returns the error for a kind without a lever of a usual name. The error names the numbers and switches of the kind.
func (d *drafting) refusal() error {
	kind := d.Adapter.Spec.Target.Kind
	found := d.leversBeside(nil)
	if len(found) == 0 {
		return fmt.Errorf("draft an adapter of %s: the schema of its .spec names no number and no switch", kind)
	}
	if more := len(found) - maxUnused; more > 0 {
		found = append(found[:maxUnused], fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("draft an adapter of %s: none of its numbers and switches has a name that is usual for a count, a switch or a bound: "+
		"%s. If one of them says how much runs, or whether, write an adapter with it, as in docs/adapters.md", kind, strings.Join(found, ", "))
}

// levers calls yield for the integers and booleans below a path, including fields of list elements. It skips pod
// templates.
func (d *drafting) levers(path string, schema rawjson.Value, depth int, yield func(path, kind string)) {
	if depth == 0 || d.Adapter.Spec.Pods != nil && path == string(d.Adapter.Spec.Pods.Template) {
		return
	}
	schema.Get("properties").ForEach(func(key, field rawjson.Value) bool {
		at := path + "." + key.Str
		if strings.ContainsAny(key.Str, ".['") {
			return true
		}
		switch kind := field.Get("type").Str; kind {
		case "integer", "boolean":
			yield(at, kind)
		case "array":
			d.levers(at+"[*]", field.Get("items"), depth-1, yield)
		case "object":
			d.levers(at, field, depth-1, yield)
		}
		return true
	})
}
