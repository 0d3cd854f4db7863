package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Files reads manifests. They become a world, or are laid over a world.
type Files struct {
	// Paths are files and directories. The path - means standard input.
	Paths []string
	Stdin io.Reader
	// Namespace is the namespace of objects without a namespace of their own.
	Namespace string
	// FlyballNamespace is the namespace that Flyball runs in.
	FlyballNamespace string
	// Also are adapters that are not in the files. Objects of their kinds are read too.
	Also []*v1alpha1.Adapter
	// Within is the only namespace whose objects and policies the world gets, beside those of the cluster. Empty means all
	// namespaces.
	Within string
	// Namespaces are namespaces that the world gets if the files do not have them.
	Namespaces []*workload.Object
	// Now is the creation of Overrides without one, and the instant from which on likely mistakes in policies are searched. The
	// zero time means that no warnings are given.
	Now time.Time
}

// Manifests are the objects of some files.
type Manifests struct {
	Adapters  []*v1alpha1.Adapter
	Calendars []*v1alpha1.Calendar
	// Recommendations are the recommendations for targets.
	Recommendations []*v1alpha1.Recommendation
	// Checkpoints are the checkpoints with the learnt usage of targets.
	Checkpoints []*v1alpha1.UsageCheckpoint
	Policies    []policy.Object
	// Others are all remaining objects as JSON, with their namespace unchanged.
	Others [][]byte

	docs   map[any]*document
	others []*document
	// named has the document of each object.
	named map[workload.Ref]*document
}

// Read reads the manifests. The error lists every fault with its file:line.
func (f Files) Read() (*Manifests, error) {
	docs, faults := readDocuments(f.Paths, f.Stdin)
	m := &Manifests{docs: map[any]*document{}, named: map[workload.Ref]*document{}}
	for _, d := range docs {
		faults = append(faults, m.take(d, f.Namespace)...)
	}
	if err := joined(faults); err != nil {
		return nil, err
	}
	for _, p := range m.Policies {
		if _, _, is := override.PartsOf(p); is && p.GetCreationTimestamp().Time.IsZero() && !f.Now.IsZero() {
			p.SetCreationTimestamp(metav1.NewTime(f.Now.Truncate(time.Second)))
		}
	}
	return m, nil
}

// Place returns the position of an object of Others as file:line.
func (m *Manifests) Place(i int) string { return m.others[i].place() }

// OtherKinds returns the kinds of Others.
func (m *Manifests) OtherKinds() []schema.GroupKind {
	var all []schema.GroupKind
	for _, raw := range m.Others {
		if gk := RefOf(raw).GroupKind; !slices.Contains(all, gk) {
			all = append(all, gk)
		}
	}
	return all
}

// expand returns one document for each item of a List. Any other document is returned as it is.
func expand(d *document) (docs []*document, faults []error) {
	root := rawjson.ParseBytes(d.json)
	kind := root.Get("kind").Str
	switch {
	case !root.IsObject():
		return nil, []error{d.fault("", "this is no object")}
	case kind == "" || root.Get("apiVersion").Str == "":
		return nil, []error{d.fault("", "this is no Kubernetes object: apiVersion and kind are needed")}
	case !strings.HasSuffix(kind, "List") || !root.Get("items").IsArray():
		return []*document{d}, nil
	}
	for i, item := range root.Get("items").Array() {
		if item.Get("items").IsArray() && strings.HasSuffix(item.Get("kind").Str, "List") {
			return nil, []error{d.fault(fmt.Sprintf("items[%d]", i), "this is a list in a list: give its objects in one list")}
		}
		docs = append(docs, &document{file: d.file, line: d.line, json: []byte(item.Raw), item: i, root: d.root})
	}
	return docs, nil
}

// take adds one document to the manifests.
func (m *Manifests) take(d *document, namespace string) []error {
	root := rawjson.ParseBytes(d.json)
	gv, err := schema.ParseGroupVersion(root.Get("apiVersion").Str)
	if err != nil {
		return []error{d.fault("apiVersion", "%v", err)}
	}
	if name := root.Get("metadata.name"); name.Exists() && name.Type != rawjson.String {
		return []error{d.fault("metadata.name", "metadata.name is the value %s and no text: put it in quotes", name.Raw)}
	}
	if root.Get("metadata.name").Str == "" && root.Get("metadata.generateName").Str == "" {
		return []error{d.fault("metadata", "metadata.name is missing")}
	}
	if first := m.name(d, namespace); first != nil {
		if bytes.Equal(first.json, d.json) {
			return nil // one object, given twice
		}
		return []error{d.fault("metadata.name", "%s is in %s:%d too, in another form", RefOf(d.json), first.file, first.lineOf("metadata.name"))}
	}
	if gv.Group != v1alpha1.GroupVersion.Group {
		m.Others, m.others = append(m.Others, d.json), append(m.others, d)
		return nil
	}
	if gv != v1alpha1.GroupVersion {
		return []error{d.fault("apiVersion", "%s is not served; the version is %s", gv, v1alpha1.GroupVersion)}
	}
	return m.takeOwn(d, root.Get("kind").Str, namespace)
}

// name remembers the document of an object. It returns the earlier document of the same object, or nil.
func (m *Manifests) name(d *document, namespace string) (first *document) {
	ref := RefOf(d.json)
	if ref.Name == "" {
		return nil // the API server would generate one
	}
	ref.Namespace = cmp.Or(ref.Namespace, namespace)
	if first = m.named[ref]; first == nil {
		m.named[ref] = d
	}
	return first
}

// notPolicies are the kinds of Flyball that are not policies.
var notPolicies = []string{"Adapter", "Calendar", "Recommendation", "UsageCheckpoint", "Notification", "ClusterNotification"}

// takeOwn adds an object of one of Flyball's kinds.
func (m *Manifests) takeOwn(d *document, kind, namespace string) []error {
	row, isPolicy := kinds.Find(kind)
	if !isPolicy && !slices.Contains(notPolicies, kind) {
		names := slices.Clone(notPolicies)
		for _, k := range kinds.All() {
			names = append(names, k.Name)
		}
		return []error{d.fault("kind", "flyball.dev has no kind %q%s", kind, workload.Hint(kind, names))}
	}
	raw, faults := admitted(d, kind)
	if len(faults) > 0 {
		return faults
	}
	switch kind {
	case "Adapter":
		return []error{decode(m, d, raw, &v1alpha1.Adapter{}, &m.Adapters)}
	case "Calendar":
		return []error{decode(m, d, raw, &v1alpha1.Calendar{}, &m.Calendars)}
	case "Recommendation":
		return []error{decode(m, d, raw, &v1alpha1.Recommendation{}, &m.Recommendations)}
	case "UsageCheckpoint":
		return []error{decode(m, d, raw, &v1alpha1.UsageCheckpoint{}, &m.Checkpoints)}
	case "Notification":
		return checked(d, raw, notify.Compile)
	case "ClusterNotification":
		return checked(d, raw, notify.CompileCluster)
	}
	obj := row.New()
	if err := decode(m, d, raw, obj, &m.Policies); err != nil {
		return []error{err}
	}
	obj.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	switch {
	case row.ClusterScoped && obj.GetNamespace() != "":
		return []error{d.fault("metadata.namespace", "%s lives outside namespaces: take metadata.namespace away", kind)}
	case !row.ClusterScoped && obj.GetNamespace() == "":
		obj.SetNamespace(namespace)
	}
	return nil
}

func decode[T any](m *Manifests, d *document, raw []byte, obj T, list *[]T) error {
	if err := json.Unmarshal(raw, obj); err != nil {
		var at *json.UnmarshalTypeError
		if errors.As(err, &at) {
			return d.fault(at.Field, "%s: a %s does not fit here", at.Field, at.Value)
		}
		return d.fault("", "%v", err)
	}
	*list = append(*list, obj)
	m.docs[any(obj)] = d
	return nil
}

// checked returns the faults of an object that takes no part in a world, such as a Notification.
func checked[T, R any](d *document, raw []byte, compile func(*T) (R, field.ErrorList)) (faults []error) {
	var read []*T
	obj := new(T)
	if err := decode(&Manifests{docs: map[any]*document{}}, d, raw, obj, &read); err != nil {
		return []error{err}
	}
	_, errs := compile(obj)
	for _, err := range errs {
		faults = append(faults, d.fault(err.Field, "%s", err.Error()))
	}
	return faults
}

// Load returns a world from files only. It has the objects of the files and the library's adapters. An adapter in a
// file replaces the library's adapter of the same name.
func (f Files) Load() (*World, error) {
	m, err := f.Read()
	if err != nil {
		return nil, err
	}
	w, err := f.read(m)
	if err != nil {
		return nil, err
	}
	memory, err := w.check(m)
	if err == nil && !f.Now.IsZero() {
		w.warn(memory, f.Now)
		for _, c := range m.Calendars {
			if text := times.Unchecked(c.Spec.Holidays, f.Now); text != "" {
				w.Note("Calendar/%s: %s", c.Name, text)
			}
		}
	}
	return w, err
}

// World returns the world of manifests, without warnings.
func (f Files) World(m *Manifests) (*World, error) {
	w, err := f.read(m)
	if err != nil {
		return nil, err
	}
	return w, w.Check(m)
}

// read returns the world of manifests without compiling it.
func (f Files) read(m *Manifests) (*World, error) {
	w := &World{Within: f.Within}
	if err := w.libraryWith(m.Adapters); err != nil {
		return nil, err
	}
	crds := map[schema.GroupKind]rawjson.Value{}
	for _, raw := range m.Others {
		if root := rawjson.ParseBytes(raw); root.Get("kind").Str == "CustomResourceDefinition" {
			crds[schema.GroupKind{Group: root.Get("spec.group").Str, Kind: root.Get("spec.names.kind").Str}] = root
		}
	}
	for _, a := range slices.Concat(w.Adapters, f.Also) {
		if k := kindByCRD(a, crds); !w.hasKind(k.GroupKind) {
			w.Kinds = append(w.Kinds, k)
		}
	}
	slices.SortFunc(w.Kinds, func(a, b AdaptedKind) int {
		return strings.Compare(a.Resource.GroupResource().String(), b.Resource.GroupResource().String())
	})
	w.setScope(f.FlyballNamespace)
	w.Policies, w.Calendars, w.Recommendations = m.Policies, m.Calendars, m.Recommendations
	w.Texts = m.texts(f.Namespace)
	if err := w.takeObjects(m, f.Namespace); err != nil {
		return nil, err
	}
	w.keepWithin(f.Within)
	w.findOwn(f.FlyballNamespace)
	w.bring(f.Namespaces, "")
	w.inventNamespaces()
	return w, nil
}

// keepWithin removes the objects and policies of other namespaces. The empty namespace keeps all.
func (w *World) keepWithin(namespace string) {
	outside := func(of string) bool { return namespace != "" && of != "" && of != namespace }
	w.Objects = slices.DeleteFunc(w.Objects, func(raw []byte) bool { return outside(rawjson.GetBytes(raw, "metadata.namespace").Str) })
	w.Policies = slices.DeleteFunc(slices.Clone(w.Policies), func(p policy.Object) bool { return outside(p.GetNamespace()) })
}

// libraryWith adds the adapters of the library. Each of the given adapters replaces the library's adapter of the same
// name.
func (w *World) libraryWith(others []*v1alpha1.Adapter) error {
	library, err := adapters.All()
	if err != nil {
		return err
	}
	all := slices.Clone(others)
	for i := range library {
		if !slices.ContainsFunc(others, func(a *v1alpha1.Adapter) bool { return a.Name == library[i].Name }) {
			all = append(all, &library[i])
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.Adapter) int { return strings.Compare(a.Name, b.Name) })
	w.Adapters = all
	return nil
}

func kindByCRD(a *v1alpha1.Adapter, crds map[schema.GroupKind]rawjson.Value) AdaptedKind {
	k := kindOf(a, true, "")
	if crd, ok := crds[k.GroupKind]; ok {
		k.Namespaced = crd.Get("spec.scope").Str != "Cluster"
		for _, n := range crd.Get("spec.names.shortNames").Array() {
			k.Names = append(k.Names, n.Str)
		}
	}
	return k
}

// takeObjects adds the namespaces, and the objects whose kinds have an adapter.
func (w *World) takeObjects(m *Manifests, namespace string) error {
	var err error
	if w.Namespaces, err = m.Namespaces(); err != nil {
		return err
	}
	for i, raw := range m.Others {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return m.others[i].fault("", "%v", err)
		}
		gk := u.GroupVersionKind().GroupKind()
		if gk == namespaceKind {
			continue
		}
		at := slices.IndexFunc(w.Kinds, func(k AdaptedKind) bool { return k.GroupKind == gk })
		if at < 0 {
			continue
		}
		if w.Kinds[at].Namespaced && u.GetNamespace() == "" {
			u.SetNamespace(namespace)
		}
		text, err := u.MarshalJSON()
		if err != nil {
			return m.others[i].fault("", "%v", err)
		}
		w.Objects = append(w.Objects, text)
	}
	return nil
}

var namespaceKind = schema.GroupKind{Kind: "Namespace"}

// Namespaces returns the namespaces among the manifests.
func (m *Manifests) Namespaces() (all []*workload.Object, err error) {
	for i, raw := range m.Others {
		u := &unstructured.Unstructured{}
		if err := u.UnmarshalJSON(raw); err != nil {
			return nil, m.others[i].fault("", "%v", err)
		}
		if u.GroupVersionKind().GroupKind() != namespaceKind {
			continue
		}
		// API servers set this label. The error is impossible, because the object was read from JSON.
		u.SetLabels(labels.Merge(u.GetLabels(), labels.Set{"kubernetes.io/metadata.name": u.GetName()}))
		named, _ := u.MarshalJSON()
		ns, err := projectNamespace(named)
		if err != nil {
			return nil, m.others[i].fault("metadata", "%v", err)
		}
		all = append(all, ns)
	}
	return all, nil
}

// inventNamespaces adds the namespaces of objects that no file describes. Such a namespace has no labels of its own.
func (w *World) inventNamespaces() {
	for _, raw := range w.Objects {
		name := rawjson.GetBytes(raw, "metadata.namespace").Str
		if name == "" || slices.ContainsFunc(w.Namespaces, func(ns *workload.Object) bool { return ns.Name == name }) {
			continue
		}
		w.Namespaces = append(w.Namespaces, &workload.Object{Name: name,
			Labels: workload.Pairs{{Key: "kubernetes.io/metadata.name", Value: name}}})
		w.Note("no file has the namespace %s: it is taken to have no labels", name)
	}
}

// CheckAdapters compiles adapters from files and returns each fault with its line.
func (m *Manifests) CheckAdapters() error {
	var faults []error
	for _, a := range m.Adapters {
		_, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
		for _, e := range errs {
			faults = append(faults, m.docs[any(a)].fault(e.Field, "%s", e.Error()))
		}
	}
	return joined(faults)
}

// Check compiles all objects from files and returns each fault with its line.
func (w *World) Check(m *Manifests) error {
	_, err := w.check(m)
	return err
}

// check is Check, and returns the compiled world too.
func (w *World) check(m *Manifests) (*world.Memory, error) {
	var faults []error
	report := func(d *document, errs field.ErrorList) {
		for _, e := range errs {
			faults = append(faults, d.fault(e.Field, "%s", e.Error()))
		}
	}
	if err := m.CheckAdapters(); err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	for _, c := range m.Calendars {
		known, _ := memory.Calendar(c.Name)
		report(m.docs[any(c)], known.Invalid)
		if note := known.EncodingNote(); note != "" {
			w.Note("Calendar/%s: %s", c.Name, note)
		}
		for _, ignored := range known.Ignored {
			if slices.ContainsFunc(w.Notes, func(note string) bool { return strings.Contains(note, ignored) }) {
				continue // a policy that uses the calendar has the note
			}
			w.Note("Calendar/%s: an event is ignored: %s", c.Name, ignored)
		}
	}
	for _, p := range m.Policies {
		if known := memory.Find(IDOf(p)); known != nil {
			report(m.docs[any(p)], known.Invalid)
		}
	}
	return memory, joined(faults)
}
