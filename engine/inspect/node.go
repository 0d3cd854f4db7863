package inspect

import (
	"slices"
	"strings"

	"flyball.dev/flyball/engine/path/rawjson"
)

// node is one place in a schema, in flat form: the schema itself, its references and its combinations (allOf).
type node []part

// part is a JSON object of a node.
type part struct {
	rawjson.Value
	// referred is true for a part that is reached by a reference. Schemas of CustomResourceDefinitions have no
	// references. A reference leads to a type of the server itself, and there an object without fields (RawExtension,
	// FieldsV1) is open.
	referred bool
}

// node returns a schema in flat form: with the schemas that it refers to, and with the parts of allOf.
func (w walker) node(raw string) node {
	var n node
	budget := maxReferences
	var add func(r rawjson.Value, referred bool)
	add = func(r rawjson.Value, referred bool) {
		if budget--; budget < 0 || !r.IsObject() {
			return
		}
		n = append(n, part{r, referred})
		if name, ok := strings.CutPrefix(r.Get(`\$ref`).String(), componentPrefix); ok {
			add(rawjson.Parse(w.components[name]), true)
		}
		r.Get("allOf").ForEach(func(_, combined rawjson.Value) bool {
			add(combined, referred)
			return true
		})
	}
	add(rawjson.Parse(raw), false)
	return n
}

// property returns the schema of a named field.
func (n node) property(name string) (raw string, ok bool) {
	for _, p := range n {
		p.Get("properties").ForEach(func(key, value rawjson.Value) bool {
			if key.String() == name {
				raw, ok = value.Raw, true
			}
			return !ok
		})
		if ok {
			return raw, true
		}
	}
	return "", false
}

func (n node) propertyNames() []string {
	var names []string
	for _, p := range n {
		p.Get("properties").ForEach(func(key, _ rawjson.Value) bool {
			names = append(names, strings.Clone(key.String()))
			return true
		})
	}
	return names
}

// values returns the schema of a map's values.
func (n node) values() (raw string, ok bool) {
	for _, p := range n {
		if v := p.Get("additionalProperties"); v.IsObject() && !isEmptyObject(v) {
			return v.Raw, true
		}
	}
	return "", false
}

// items returns the schema of a list's elements.
func (n node) items() (raw string, ok bool) {
	for _, p := range n {
		if v := p.Get("items"); v.IsObject() {
			return v.Raw, true
		}
	}
	return "", false
}

// mapKeys returns the keys by which the API server identifies the elements of a list; empty: it identifies them by
// index.
func (n node) mapKeys() string {
	for _, p := range n {
		if p.Get("x-kubernetes-list-type").String() != "map" {
			continue
		}
		var keys []string
		for _, key := range p.Get("x-kubernetes-list-map-keys").Array() {
			keys = append(keys, key.String())
		}
		return strings.Join(keys, " and ")
	}
	return ""
}

// enum returns the allowed JSON texts; none: any text is allowed.
func (n node) enum() []string {
	var values []string
	for _, p := range n {
		for _, v := range p.Get("enum").Array() {
			values = append(values, strings.Clone(v.Raw))
		}
	}
	return values
}

// isOpen reports whether the object may have fields not named by the schema.
func (n node) isOpen() bool {
	fields := false
	for _, p := range n {
		if p.Get("x-kubernetes-preserve-unknown-fields").Bool() || p.Get("x-kubernetes-embedded-resource").Bool() {
			return true
		}
		if v := p.Get("additionalProperties"); v.Type == rawjson.True || isEmptyObject(v) {
			return true
		}
		fields = fields || p.Get("properties").Exists()
	}
	if fields {
		return false
	}
	types := n.types()
	if len(types) == 0 {
		return true
	}
	return slices.Equal(types, []string{"object"}) && slices.ContainsFunc(n, func(p part) bool { return p.referred })
}

// is reports whether the schema names the type.
func (n node) is(t string) bool { return slices.Contains(n.types(), t) }

// types returns the allowed JSON types, each once; none: the schema specifies no type.
func (n node) types() []string {
	var types []string
	add := func(t string) {
		if t != "" && !slices.Contains(types, t) {
			types = append(types, strings.Clone(t))
		}
	}
	for _, p := range n {
		add(p.Get("type").String())
		if p.Get("x-kubernetes-int-or-string").Bool() || p.Get("format").String() == "int-or-string" {
			add("integer")
			add("string")
		}
	}
	if len(types) > 0 {
		return types
	}
	for _, p := range n {
		for _, choice := range []string{"oneOf", "anyOf"} {
			p.Get(choice).ForEach(func(_, branch rawjson.Value) bool {
				add(branch.Get("type").String())
				return true
			})
		}
	}
	return types
}

func isEmptyObject(r rawjson.Value) bool {
	return r.IsObject() && strings.TrimSpace(strings.Trim(strings.TrimSpace(r.Raw), "{}")) == ""
}
