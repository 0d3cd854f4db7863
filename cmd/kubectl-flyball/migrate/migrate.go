// Package migrate turns the objects of other tools into Flyball's, and moves what those tools remember of sleeping workloads into the
// ledger. It is pure: it gets objects as JSON and gives objects, notes and patches; it sees no client and no clock. It promises that
// every object it gives compiles, that each difference in meaning is said beside the object it concerns, and that what has no
// counterpart is listed as left behind and never dropped in silence. What a tool's objects mean is in package tools, a file a tool.
//
// Decisions (docs/decisions): 0034.
package migrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Kind is a kind that a tool has to do with.
type Kind struct {
	schema.GroupKind
	// Cluster is true where its objects live outside namespaces.
	Cluster bool
}

// Tool is one tool that people come from.
type Tool struct {
	// Name is what people call it on the command line, and Title in texts.
	Name, Title string
	// Reads are the kinds that Convert looks at. Marked are those whose objects the tool puts marks on; only Sleepers looks at them.
	Reads, Marked []Kind
	// Convert gives Flyball's objects for the tool's.
	Convert func(*Input, *Output)
	// Sleepers lists what the tool keeps asleep; nil: it remembers nothing.
	Sleepers func(*Input, *Output)
}

// Object is an object of any kind as JSON.
type Object struct {
	gjson.Result
	// Place is where it stands, as file:line; empty where it comes from a cluster.
	Place string
}

// NewObject reads an object.
func NewObject(raw []byte, place string) Object {
	return Object{Result: gjson.ParseBytes(raw), Place: place}
}

// GroupKind is its kind.
func (o Object) GroupKind() schema.GroupKind {
	gv, _ := schema.ParseGroupVersion(o.Get("apiVersion").Str) // what cannot be read is of no tool
	return schema.GroupKind{Group: gv.Group, Kind: o.Get("kind").Str}
}

// Name is metadata.name.
func (o Object) Name() string { return o.Get("metadata.name").Str }

// Namespace is metadata.namespace.
func (o Object) Namespace() string { return o.Get("metadata.namespace").Str }

// Ref names it.
func (o Object) Ref() workload.Ref {
	return workload.Ref{GroupKind: o.GroupKind(), Namespace: o.Namespace(), Name: o.Name()}
}

// Annotation is the value of an annotation, and whether it is there.
func (o Object) Annotation(key string) (string, bool) {
	v, ok := o.Get("metadata.annotations").Map()[key]
	return v.String(), ok
}

// Labels are its labels.
func (o Object) Labels() map[string]string {
	labels := map[string]string{}
	for key, v := range o.Get("metadata.labels").Map() {
		labels[key] = v.String()
	}
	return labels
}

// At is the value at a JSON pointer, every token of which is a member's name.
func (o Object) At(tokens []string) gjson.Result {
	at := o.Result
	for _, t := range tokens {
		at = at.Map()[t]
	}
	return at
}

// Texts are the elements of a list of texts.
func Texts(list gjson.Result) []string {
	var all []string
	for _, v := range list.Array() {
		all = append(all, v.String())
	}
	return all
}

// Input is what tools look at.
type Input struct {
	Objects []Object
	// Files is true where the objects come from files: what is not in them is not known.
	Files bool
}

// Of lists the objects of a kind.
func (in *Input) Of(gk schema.GroupKind) []Object {
	var all []Object
	for _, o := range in.Objects {
		if o.GroupKind() == gk {
			all = append(all, o)
		}
	}
	return all
}

// Find is one object of a kind.
func (in *Input) Find(gk schema.GroupKind, namespace, name string) (Object, bool) {
	for _, o := range in.Objects {
		if o.GroupKind() == gk && o.Namespace() == namespace && o.Name() == name {
			return o, true
		}
	}
	return Object{}, false
}

// Namespaces lists the names of the namespaces that are known: those that are objects, and those that objects live in.
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

// Kinds are the kinds that tools look at: to convert, and with sleepers also to take over.
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

// Pick finds tools by their names; no names: all of them. An error lists those that there are.
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

// Names are the names of tools.
func Names(tools []Tool) []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}
