// Package migrate converts the objects of other tools to Flyball's, and moves the tools' records of sleeping workloads
// into the ledger. It is pure: it maps JSON objects to objects, notes and patches, without a client or a clock. Every
// returned object compiles. Each difference in meaning is noted beside its object, and everything without a counterpart
// is listed as left behind and never dropped in silence. Package tools has the meaning of each tool's objects, a file a
// tool.
//
// Decisions (docs/decisions): 0033.
package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Kind is a kind that a tool reads or marks.
type Kind struct {
	schema.GroupKind
	// Cluster is true if its objects are in no namespace.
	Cluster bool
}

// Tool is a tool to migrate from.
type Tool struct {
	// Name is its name on the command line, and Title its name in texts.
	Name, Title string
	// Reads are the kinds that Convert reads. Marked are the kinds on whose objects the tool puts marks; only Sleepers
	// reads them.
	Reads, Marked []Kind
	// Convert adds Flyball's objects for the tool's.
	Convert func(*Input, *Output)
	// Sleepers adds the objects that the tool keeps asleep; nil: the tool keeps no record.
	Sleepers func(*Input, *Output)
}

// Object is an object of any kind as JSON.
type Object struct {
	gjson.Result
	// Place is its place as file:line; empty for an object of a cluster.
	Place string
}

// NewObject returns an object from its JSON.
func NewObject(raw []byte, place string) Object {
	return Object{Result: gjson.ParseBytes(raw), Place: place}
}

// GroupKind returns its kind.
func (o Object) GroupKind() schema.GroupKind {
	gv, _ := schema.ParseGroupVersion(o.Get("apiVersion").Str) // an unreadable object belongs to no tool
	return schema.GroupKind{Group: gv.Group, Kind: o.Get("kind").Str}
}

// Name returns metadata.name.
func (o Object) Name() string { return o.Get("metadata.name").Str }

// Namespace returns metadata.namespace.
func (o Object) Namespace() string { return o.Get("metadata.namespace").Str }

// Ref returns its reference.
func (o Object) Ref() workload.Ref {
	return workload.Ref{GroupKind: o.GroupKind(), Namespace: o.Namespace(), Name: o.Name()}
}

// Annotation returns the value of an annotation, and whether it exists.
func (o Object) Annotation(key string) (string, bool) {
	v, ok := o.Get("metadata.annotations").Map()[key]
	return v.String(), ok
}

// Labels returns its labels.
func (o Object) Labels() map[string]string {
	labels := map[string]string{}
	for key, v := range o.Get("metadata.labels").Map() {
		labels[key] = v.String()
	}
	return labels
}

// At returns the value at a JSON pointer of members' names.
func (o Object) At(tokens []string) gjson.Result {
	at := o.Result
	for _, t := range tokens {
		at = at.Map()[t]
	}
	return at
}

// Texts returns the elements of a list of texts.
func Texts(list gjson.Result) []string {
	var all []string
	for _, v := range list.Array() {
		all = append(all, v.String())
	}
	return all
}

// Input is the input of tools.
type Input struct {
	Objects []Object
	// Files is true if the objects come from files: other objects are unknown.
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

// Find returns one object of a kind.
func (in *Input) Find(gk schema.GroupKind, namespace, name string) (Object, bool) {
	for _, o := range in.Objects {
		if o.GroupKind() == gk && o.Namespace() == namespace && o.Name() == name {
			return o, true
		}
	}
	return Object{}, false
}

// Namespaces returns the names of the known namespaces: those that are objects, and those of objects.
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

// Kinds returns the kinds that tools read to convert, and with sleepers also to take over.
func Kinds(tools []Tool, sleepers bool) []Kind {
	var all []Kind
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

// Pick returns tools by their names, or all without names. An error lists the known ones.
func Pick(all []Tool, names []string) ([]Tool, error) {
	if len(names) == 0 {
		return all, nil
	}
	var picked []Tool
	for _, name := range names {
		i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == strings.ToLower(name) })
		if i < 0 {
			return nil, fmt.Errorf("%q is no tool that is known; there are %s", name, strings.Join(Names(all), ", "))
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// Names returns the names of tools.
func Names(tools []Tool) []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}
