package selector

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
)

// key is a required property of an object or its namespace: a label, a name, the literal end of a glob, or nothing. The
// field name is the label's key; it is empty for a name.
type key struct{ name, value string }

// prefix and suffix are the names of keys from globs. No key of a label contains a star.
const prefix, suffix = "x*", "*x"

var (
	// anything is the key of policies that require no property.
	anything = key{}
	// outside is the namespace key of cluster-scoped objects. No name contains a slash.
	outside = key{value: "/"}
	// anyKind is the kind key of policies that list no kinds.
	anyKind = schema.GroupKind{}
)

// maxKeys is the maximum number of index keys of a policy. A policy with more gets fewer, broader keys instead: by
// namespace only, or by kind only. The selection is the same.
const maxKeys = 4096

// keys returns the index keys: every object that the policy can select has one key of each list.
func (s *Selector) keys() (kinds []schema.GroupKind, spaces, objects []key) {
	if s.nothing {
		return nil, nil, nil
	}
	kinds = s.kinds
	if len(kinds) == 0 {
		kinds = []schema.GroupKind{anyKind}
	}
	objects = labelKeys(s.labels)
	if s.names.len() > 0 {
		objects = s.names.keys()
	}
	spaces = []key{{value: s.namespace}}
	if s.namespace == "" {
		spaces = s.listed.keys()
		if s.byLabels != nil {
			spaces = append(spaces, labelKeys(s.byLabels)...)
		}
		if len(s.kinds) > 0 {
			spaces = append(spaces, outside)
		}
	}
	if len(kinds)*len(spaces)*len(objects) > maxKeys {
		objects = []key{anything}
	}
	if len(kinds)*len(spaces) > maxKeys {
		spaces = []key{anything}
	}
	return kinds, spaces, objects
}

// keys returns a key for each name and each glob. The key of a glob is the longer one of its literal ends.
func (n *names) keys() []key {
	out := make([]key, 0, n.len())
	for _, name := range sets.List(n.exact) {
		out = append(out, key{value: name})
	}
	for _, glob := range n.globs {
		before, _, _ := strings.Cut(glob, "*")
		after := glob[strings.LastIndex(glob, "*")+1:]
		k := key{prefix, before}
		switch {
		case before == "" && after == "":
			return []key{anything}
		case len(after) > len(before):
			k = key{suffix, after}
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// labelKeys returns the keys of one label: the first label, in alphabetical order, that the selector restricts to listed
// values.
func labelKeys(s labels.Selector) []key {
	if s == nil {
		return []key{anything}
	}
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
			var out []key
			for _, value := range r.Values().List() {
				out = append(out, key{r.Key(), value})
			}
			return out
		}
	}
	return []key{anything}
}
