package draft

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
	var found []string
	d.levers(".spec", d.at(".spec"), unusedDepth, func(path, kind string) {
		if !used[path] {
			found = append(found, fmt.Sprintf("%s (%s)", path, kind))
		}
	})
	slices.Sort(found)
	more := len(found) - maxUnused
	for _, field := range found[:min(len(found), maxUnused)] {
		d.Unused = append(d.Unused, field+": add it by hand if it says how much runs, or whether")
	}
	if more > 0 {
		d.Unused = append(d.Unused, fmt.Sprintf("%d more numbers and switches", more))
	}
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
