// Package migrate is the verb migrate: it converts the objects of other tools to Flyball's objects, and moves the tools' records
// of sleeping workloads into the ledger. verb.go and apply.go read and write the cluster. Everything else is pure: it maps
// JSON objects to objects, notes and patches, without a client or a clock. Every returned object compiles. Each difference
// in meaning is noted beside its object, and everything without a counterpart is listed as left behind and never dropped in
// silence. One file for each tool knows the meaning of the tool's objects; tools.go lists them.
//
// Decisions (docs/decisions): 0033.
package migrate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// ToolKind is a kind that a tool reads or marks.
type ToolKind struct {
	schema.GroupKind
	// Cluster is true if objects of the kind are in no namespace.
	Cluster bool
}

// Tool is another tool from which users migrate to Flyball.
type Tool struct {
	// Name is the tool's name on the command line. Title is its name in texts.
	Name, Title string
	// Reads are the kinds that Convert reads. Marked are the kinds on whose objects the tool leaves marks. Only Sleepers
	// reads them.
	Reads, Marked []ToolKind
	// Convert adds Flyball's counterparts of the tool's objects to the output.
	Convert func(*Input, *Output)
	// Sleepers adds the objects that the tool keeps asleep to the output. It is nil if the tool keeps no record of them.
	Sleepers func(*Input, *Output)
}

// Object is an object of any kind as JSON.
type Object struct {
	rawjson.Value
	// Place is the position of the object as file:line. It is empty for an object of a cluster.
	Place string
}

// NewObject returns an object from its JSON.
func NewObject(raw []byte, place string) Object {
	return Object{Value: rawjson.ParseBytes(raw), Place: place}
}

// GroupKind returns the kind of the object, by the group that API servers serve.
func (o Object) GroupKind() schema.GroupKind {
	gv, _ := schema.ParseGroupVersion(o.Get("apiVersion").Str) // an unreadable object belongs to no tool
	return Served(schema.GroupKind{Group: gv.Group, Kind: o.Get("kind").Str})
}

// Served returns a kind by the group that API servers serve. Until Kubernetes 1.16, the group extensions had objects that are in the group
// apps too (https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-16).
func Served(gk schema.GroupKind) schema.GroupKind {
	if gk.Group == "extensions" && slices.Contains([]string{"Deployment", "DaemonSet", "ReplicaSet"}, gk.Kind) {
		gk.Group = "apps"
	}
	return gk
}

// Name returns metadata.name.
func (o Object) Name() string { return o.Get("metadata.name").Str }

// Namespace returns metadata.namespace.
func (o Object) Namespace() string { return o.Get("metadata.namespace").Str }

// Ref returns the reference of the object.
func (o Object) Ref() workload.Ref {
	return workload.Ref{GroupKind: o.GroupKind(), Namespace: o.Namespace(), Name: o.Name()}
}

// Annotation returns the value of an annotation, and whether it exists.
func (o Object) Annotation(key string) (string, bool) {
	v, ok := o.Get("metadata.annotations").Map()[key]
	return v.String(), ok
}

// Labels returns the labels of the object.
func (o Object) Labels() map[string]string {
	labels := map[string]string{}
	for key, v := range o.Get("metadata.labels").Map() {
		labels[key] = v.String()
	}
	return labels
}

// At returns the value at a JSON pointer, given as its tokens. Each token is the name of a member, not an index.
func (o Object) At(tokens []string) rawjson.Value {
	at := o.Value
	for _, t := range tokens {
		at = at.Map()[t]
	}
	return at
}

// Texts returns the strings in a JSON list.
func Texts(list rawjson.Value) []string {
	var all []string
	for _, v := range list.Array() {
		all = append(all, v.String())
	}
	return all
}

// Input has the objects that the tools read.
type Input struct {
	Objects []Object
	// Files is true if the objects come from files. Nothing is then known about other objects.
	Files bool
}

// Of returns the objects of a kind.
func (in *Input) Of(gk schema.GroupKind) []Object {
	var all []Object
	for _, o := range in.Objects {
		if o.GroupKind() == gk {
			all = append(all, o)
		}
	}
	return all
}

// Find returns the object with the given kind, namespace and name.
func (in *Input) Find(gk schema.GroupKind, namespace, name string) (Object, bool) {
	for _, o := range in.Objects {
		if o.GroupKind() == gk && o.Namespace() == namespace && o.Name() == name {
			return o, true
		}
	}
	return Object{}, false
}

// Namespaces returns the names of the known namespaces: the Namespace objects, and the namespaces of other objects.
func (in *Input) Namespaces() []string {
	var names []string
	for _, o := range in.Objects {
		name := o.Namespace()
		if o.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			name = o.Name()
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Kinds returns the kinds that the tools read. With sleepers it adds the kinds that only a take-over reads.
func Kinds(tools []Tool, sleepers bool) []ToolKind {
	var all []ToolKind
	for i := range tools {
		kinds := tools[i].Reads
		if sleepers {
			kinds = slices.Concat(kinds, tools[i].Marked)
		}
		for _, k := range kinds {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	return all
}

// Pick returns the tools with the given names. Without names it returns all tools. The error for an unknown name lists
// the known names.
func Pick(all []Tool, names []string) ([]Tool, error) {
	if len(names) == 0 {
		return all, nil
	}
	var picked []Tool
	for _, name := range names {
		i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == strings.ToLower(name) })
		if i < 0 {
			return nil, fmt.Errorf("%q is no known tool; there are %s", name, strings.Join(Names(all), ", "))
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// Names returns the names of the given tools.
func Names(tools []Tool) []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}
