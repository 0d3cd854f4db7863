// Package adapter is the verb that helps to write Adapters. It drafts an Adapter from a CustomResourceDefinition: it finds counts,
// switches, bounds and pods by their usual field names, explains each guess, and lists the missing parts. It also
// checks an adapter, tries it on an object in memory, and lists the rights it needs.
package adapter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Draft is an Adapter with the reasons for its content.
type Draft struct {
	Adapter *v1alpha1.Adapter
	// Guesses explain the guesses. Missing lists the parts that were not found.
	Guesses, Missing []string
	// Unused are fields of the schema that the draft does not use although their type is that of a lever.
	Unused []string

	compiled *adapter.Adapter
}

// drafting is a draft under construction.
type drafting struct {
	Draft
	version rawjson.Value
	schema  rawjson.Value
}

// Of returns a draft from a CustomResourceDefinition in JSON. It returns an error if the kind has nothing to govern.
func Of(crd []byte) (*Draft, error) {
	root := rawjson.ParseBytes(crd)
	if root.Get("kind").Str != "CustomResourceDefinition" {
		return nil, fmt.Errorf("draft an adapter: this is a %s, not a CustomResourceDefinition",
			cmp.Or(root.Get("kind").Str, "document without a kind"))
	}
	d := &drafting{}
	for _, v := range root.Get("spec.versions").Array() {
		if v.Get("served").Bool() && (!d.version.Exists() || v.Get("storage").Bool()) {
			d.version = v
		}
	}
	if !d.version.Exists() {
		return nil, errors.New("draft an adapter: the CustomResourceDefinition serves no version")
	}
	d.schema = d.version.Get("schema.openAPIV3Schema")
	d.Adapter = &v1alpha1.Adapter{}
	d.Adapter.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Adapter"))
	d.Adapter.Name = root.Get("metadata.name").Str
	d.Adapter.Spec.Target = v1alpha1.AdapterTarget{
		Group: root.Get("spec.group").Str, Kind: root.Get("spec.names.kind").Str, Versions: []string{d.version.Get("name").Str},
	}
	for _, part := range []func(){d.counts, d.lists, d.switches, d.bounds, d.governs, d.pods, d.resources, d.ready} {
		part()
	}
	s := &d.Adapter.Spec
	if len(s.Scale)+len(s.Suspend)+len(s.Hold) == 0 && s.Bounds == nil {
		return nil, d.refusal()
	}
	compiled, errs := adapter.Compile(d.Adapter.Name, *s, adapter.Keys{})
	if len(errs) > 0 {
		return nil, fmt.Errorf("draft an adapter of %s: %w", s.Target.Kind, errs.ToAggregate())
	}
	d.compiled = compiled
	d.unused()
	return &d.Draft, nil
}

func (d *drafting) guess(format string, args ...any) {
	d.Guesses = append(d.Guesses, fmt.Sprintf(format, args...))
}

// at returns the schema of the field at a path such as .spec.replicas. If the schema has no such field, Exists of the
// result is false.
func (d *drafting) at(path string) rawjson.Value {
	s := d.schema
	for _, name := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		s = s.Get("properties").Get(strings.ReplaceAll(name, ".", `\.`))
	}
	return s
}

func (d *drafting) is(path, kind string) bool { return d.at(path).Get("type").Str == kind }

// countNames are common names of replica counts.
var countNames = []string{"replicas", "instances", "numberOfInstances", "nodeCount", "workers", "size", "count"}

// counts finds the replica count of the kind, or the counts of its parts.
func (d *drafting) counts() {
	if path := d.version.Get("subresources.scale.specReplicasPath").Str; path != "" && d.is(path, "integer") {
		d.guess("scale: %s, which the scale subresource names", path)
		d.addCount("main", path)
		return
	}
	for _, name := range countNames {
		if d.is(".spec."+name, "integer") {
			d.guess("scale: .spec.%s, by its name", name)
			d.addCount("main", ".spec."+name)
			return
		}
	}
	d.at(".spec").Get("properties").ForEach(func(key, part rawjson.Value) bool {
		for _, name := range []string{"replicas", "instances"} {
			if part.Get("properties."+name+".type").Str == "integer" {
				path := ".spec." + key.Str + "." + name
				d.guess("scale: %s, the count of a part, by its name", path)
				d.addCount(key.Str, path)
			}
		}
		return true
	})
}

func (d *drafting) addCount(name, path string) {
	schema := d.at(path)
	c := v1alpha1.ScaleComponent{Name: name, Replicas: v1alpha1.Path(path)}
	if lowest := schema.Get("minimum"); lowest.Exists() {
		c.Minimum = lowest.Int()
		if c.Minimum > 0 {
			d.guess("minimum of %s: %d, from the schema, so that asleep is not nothing", path, c.Minimum)
		}
	}
	if value := schema.Get("default"); value.Exists() {
		n := value.Int()
		c.Default = &n
	} else if !strings.Contains(strings.TrimPrefix(path, ".spec."), ".") {
		n := int64(1)
		c.Default = &n
		d.guess("default of %s: 1, as most kinds have it; the schema gives none", path)
	}
	d.Adapter.Spec.Scale = append(d.Adapter.Spec.Scale, c)
}

// lists finds lists of named parts that have a count each.
func (d *drafting) lists() {
	d.at(".spec").Get("properties").ForEach(func(key, list rawjson.Value) bool {
		element := list.Get("items.properties")
		if list.Get("type").Str != "array" || !element.Exists() {
			return true
		}
		name := ""
		for _, n := range []string{"name", "groupName"} {
			if name == "" && element.Get(n+".type").Str == "string" {
				name = n
			}
		}
		for _, count := range []string{"replicas", "count", "instances", "size"} {
			if name != "" && element.Get(count+".type").Str == "integer" {
				d.guess("scale: each of .spec.%s[*].%s, named by its %s", key.Str, count, name)
				d.Adapter.Spec.Scale = append(d.Adapter.Spec.Scale, v1alpha1.ScaleComponent{
					Each: v1alpha1.Path(".spec." + key.Str + "[*]"), NameFrom: v1alpha1.Path("." + name), Replicas: v1alpha1.Path("." + count)})
				break
			}
		}
		return true
	})
}

// suspendPaths are the usual switches that stop an object. holdPaths are the usual switches that stop the object's
// controller or its roll-outs.
var (
	suspendPaths = []string{".spec.suspend", ".spec.suspended", ".spec.hibernate", ".spec.hibernated", ".spec.stopped", ".spec.running"}
	holdPaths    = []string{".spec.paused", ".spec.pause", ".spec.updateStrategy.paused", ".spec.updateStrategy.rollingUpdate.paused"}
)

// switches finds the fields that suspend an object or hold its controller.
func (d *drafting) switches() {
	set := func(path string, value bool) []v1alpha1.Variant {
		raw, _ := json.Marshal(value) // a boolean always has a JSON form
		return []v1alpha1.Variant{{Set: []v1alpha1.Write{{Path: v1alpha1.Path(path), Value: apiextensionsv1.JSON{Raw: raw}}}}}
	}
	for _, path := range suspendPaths {
		if value := path != ".spec.running"; d.is(path, "boolean") && d.Adapter.Spec.Suspend == nil {
			d.guess("suspend: %s is set to %t, by its name", path, value)
			d.Adapter.Spec.Suspend = set(path, value)
		}
	}
	for _, path := range holdPaths {
		if d.is(path, "boolean") && d.Adapter.Spec.Hold == nil {
			d.guess("hold: %s is set to true, by its name; check whether it stops the owner only, or what runs as well", path)
			d.Adapter.Spec.Hold = set(path, true)
		}
	}
	if len(d.Adapter.Spec.Scale)+len(d.Adapter.Spec.Suspend) == 0 {
		d.Missing = append(d.Missing, "no count and no switch to suspend by: objects of the kind cannot be put to sleep")
	}
}

// bounds finds the bounds of an autoscaler: two counts whose names differ only in min and max, such as minReplicas and
// maxReplicas.
func (d *drafting) bounds() {
	found := ""
	d.at(".spec").Get("properties").ForEach(func(key, field rawjson.Value) bool {
		if of, ok := strings.CutPrefix(key.Str, "min"); ok && d.is(".spec."+key.Str, "integer") && d.is(".spec.max"+of, "integer") {
			if found == "" || of == "Replicas" {
				found = of
			}
		}
		return true
	})
	if found == "" {
		return
	}
	low, high := ".spec.min"+found, ".spec.max"+found
	d.guess("bounds: %s and %s, by their names", low, high)
	d.Adapter.Spec.Bounds = &v1alpha1.Bounds{Min: &v1alpha1.Bound{Path: v1alpha1.Path(low)}, Max: &v1alpha1.Bound{Path: v1alpha1.Path(high)}}
}

// governs finds the reference from an autoscaler to the object it scales.
func (d *drafting) governs() {
	for _, path := range []string{".spec.scaleTargetRef", ".spec.targetRef"} {
		if d.is(path+".name", "string") && d.is(path+".kind", "string") && d.Adapter.Spec.Bounds != nil {
			d.guess("governs: %s, which names a kind and a name", path)
			d.Adapter.Spec.Governs = v1alpha1.Path(path)
			return
		}
	}
}

// templatePaths are the usual paths of pod templates.
var templatePaths = []string{".spec.template", ".spec.podTemplate", ".spec.podTemplateSpec"}

// pods finds the pod template and the selector.
func (d *drafting) pods() {
	for _, path := range templatePaths {
		switch template := d.at(path); {
		case template.Get("properties.spec.properties.containers").Exists():
			d.guess("pods: the template at %s, which has containers", path)
		case template.Get(`x-kubernetes-preserve-unknown-fields`).Bool() || template.Get("type").Str == "object" &&
			d.at(path+".spec").Get(`x-kubernetes-preserve-unknown-fields`).Bool():
			d.guess("pods: the template at %s, by its name; its schema is open, so check that it is that of a pod, with spec.containers", path)
		default:
			continue
		}
		p := &v1alpha1.Pods{Template: v1alpha1.Path(path)}
		if d.at(".spec.selector.matchLabels").Exists() {
			p.Selector = ".spec.selector"
		}
		d.Adapter.Spec.Pods = p
		return
	}
	d.Missing = append(d.Missing, fmt.Sprintf("no pod template at %s: every edit of .spec but of counts and switches counts as a roll-out",
		strings.Join(templatePaths, ", ")))
}

// resources finds the requests of objects without a pod template. Containers of a pod template need no entry.
func (d *drafting) resources() {
	const at = ".spec.resources"
	if d.Adapter.Spec.Pods != nil || !d.at(at+".requests").Exists() {
		return
	}
	d.guess("resources: %s, which has requests", at)
	amounts := func(of string, absent *resource.Quantity) v1alpha1.Amounts {
		amount := func(name string) *v1alpha1.Amount {
			return &v1alpha1.Amount{Path: v1alpha1.Path(at + "." + of + "." + name), Default: absent}
		}
		return v1alpha1.Amounts{CPU: amount("cpu"), Memory: amount("memory")}
	}
	c := v1alpha1.ResourceComponent{Name: "main", Requests: amounts("requests", &resource.Quantity{})}
	if d.at(at + ".limits").Exists() {
		limits := amounts("limits", nil)
		c.Limits = &limits
	}
	d.Adapter.Spec.Resources = append(d.Adapter.Spec.Resources, c)
}

// ready finds the status fields that show whether an object has settled.
func (d *drafting) ready() {
	if d.is(".status.observedGeneration", "integer") {
		d.Adapter.Spec.Ready = append(d.Adapter.Spec.Ready, v1alpha1.ReadyPredicate{Predicate: v1alpha1.Predicate{
			Path: ".status.observedGeneration", Op: "Ge", ValueFrom: ".metadata.generation"}})
	}
	if s := d.Adapter.Spec.Scale; len(s) == 1 && s[0].Each == "" && d.is(".status.readyReplicas", "integer") {
		d.Adapter.Spec.Ready = append(d.Adapter.Spec.Ready, v1alpha1.ReadyPredicate{Predicate: v1alpha1.Predicate{
			Path: ".status.readyReplicas", Default: &apiextensionsv1.JSON{Raw: []byte("0")}, Op: "Ge", ValueFrom: s[0].Replicas}})
		d.guess("ready: .status.readyReplicas reaches %s", s[0].Replicas)
	}
	if len(d.Adapter.Spec.Ready) == 0 {
		d.Missing = append(d.Missing, "nothing in .status says when an object is ready: wake --wait does not wait")
	}
}

// Names implements printer.Finding.
func (d *Draft) Names() []string { return []string{"adapter.flyball.dev/" + d.Adapter.Name} }

// MarshalJSON encodes the Adapter alone.
func (d *Draft) MarshalJSON() ([]byte, error) {
	text, err := d.Manifest()
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(text)
}

// Text implements printer.Finding.
func (d *Draft) Text(w *printer.Writer) {
	text, err := d.Manifest()
	if err != nil { // every Adapter can be encoded
		text = fmt.Appendf(nil, "# %v\n", err)
	}
	w.Block(string(text))
}

// Manifest returns the draft as YAML, with the guesses and the missing parts as comments.
func (d *Draft) Manifest() ([]byte, error) {
	spec, err := json.Marshal(d.Adapter.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the adapter: %w", err)
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": d.Adapter.APIVersion, "kind": d.Adapter.Kind, "metadata": map[string]string{"name": d.Adapter.Name},
		"spec": json.RawMessage(spec),
	})
	if err != nil {
		return nil, fmt.Errorf("encode the adapter: %w", err)
	}
	var b strings.Builder
	b.WriteString("# A draft: read it, and try it with kubectl flyball adapter try, before it is used.\n")
	for _, g := range slices.Sorted(slices.Values(d.Guesses)) {
		b.WriteString("# guessed " + printer.Clean(g) + "\n")
	}
	for _, m := range d.Missing {
		b.WriteString("# missing: " + printer.Clean(m) + "\n")
	}
	for _, u := range d.Unused {
		b.WriteString("# not used: " + printer.Clean(u) + "\n")
	}
	return append([]byte(b.String()), text...), nil
}
