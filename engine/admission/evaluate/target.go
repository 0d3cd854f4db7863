package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Served is the served resource of an adapted kind, and its scope.
type Served struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
}

// TargetOf returns the object of a manifest in JSON. namespace is the default for namespaced kinds. kindOf returns the
// served resource of a kind, or false if the kind has no adapter and its scope is unknown. A manifest without an
// apiVersion or a kind is an error.
func TargetOf(manifest []byte, namespace string, kindOf func(schema.GroupKind) (Served, bool)) (Target, error) {
	root := rawjson.ParseBytes(manifest)
	gv, err := schema.ParseGroupVersion(root.Get("apiVersion").Str)
	if err != nil || gv.Version == "" || root.Get("kind").Str == "" {
		return Target{}, unanswerable("a manifest has an apiVersion and a kind; this one has %q and %q", root.Get("apiVersion").Str,
			root.Get("kind").Str)
	}
	t := Target{Ref: workload.Ref{GroupKind: schema.GroupKind{Group: gv.Group, Kind: root.Get("kind").Str},
		Name: root.Get("metadata.name").Str}}
	t.Namespace = root.Get("metadata.namespace").Str
	if kind, adapted := kindOf(t.GroupKind); adapted {
		t.Resource = kind.Resource
		switch {
		case !kind.Namespaced:
			t.Namespace = ""
		case t.Namespace == "":
			t.Namespace = namespace
		}
	}
	return t, nil
}

// ParseAction parses the name of an action. Any other name is an error.
func ParseAction(text string) (workload.Change, error) {
	actions := []workload.Change{workload.ChangeCreate, workload.ChangeDelete, workload.ChangeRollOut, workload.ChangeScale}
	var names []string
	for _, a := range actions {
		name := a.Names()[0]
		if strings.EqualFold(name, text) {
			return a, nil
		}
		names = append(names, strings.ToLower(name))
	}
	if near := workload.Nearest(strings.ToLower(text), append(names, "deploy", "restart")); near != "" && slices.Contains(names, near) {
		return 0, fmt.Errorf("%q is no action; did you mean %s?", text, near)
	}
	return 0, fmt.Errorf("%q is no action: give one of %s", text, strings.Join(names, ", "))
}
