// Package source reads the world that a verb works on: from a cluster, with no more rights than what is shown needs, or from files,
// without any cluster. It promises that a world is whole or says what is missing: what the reader may not read of the cluster is in
// World.Unseen, and a namespace, a kind or a file that cannot be read is an error that names it.
package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/spelling"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// DefaultNamespace is where Flyball runs unless somebody says otherwise.
const DefaultNamespace = "flyball-system"

// Query says what to read.
type Query struct {
	// Namespace is the namespace to read; empty: all of them.
	Namespace string
	// Kinds are the kinds whose objects are read; nil: every adapted kind.
	Kinds []schema.GroupKind
	// PoliciesOnly leaves all objects out.
	PoliciesOnly bool
	// Also are adapters that the cluster does not have: objects of their kinds are read too.
	Also []*v1alpha1.Adapter
	// Namespaces come with what is asked about: one that the cluster does not have yet is as it is here.
	Namespaces []*workload.Object
}

// bring adds namespaces that are not there yet, and gives whether the one of a name is among them.
func (w *World) bring(namespaces []*workload.Object, name string) bool {
	brought := false
	for _, ns := range namespaces {
		if name != "" && ns.Name != name || slices.ContainsFunc(w.Namespaces, func(o *workload.Object) bool { return o.Name == ns.Name }) {
			continue
		}
		w.Namespaces = append(w.Namespaces, ns)
		brought = brought || ns.Name == name
	}
	return brought
}

func (q Query) wants(gk schema.GroupKind) bool {
	return !q.PoliciesOnly && (q.Kinds == nil || slices.Contains(q.Kinds, gk))
}

// World is what was read.
type World struct {
	world.Lists
	// Kinds are the adapted kinds that are there, in order of their names.
	Kinds []Kind
	// Notes say what a reader should know of how the world was read.
	Notes []string
	// Absent are kinds that adapters speak of and the API server does not serve.
	Absent []schema.GroupKind
	// Unseen are rights that are missing: what they would show is left out.
	Unseen MissingRights
}

// Memory compiles the world. Each call makes a world of its own, which a simulation may change. It notes the policies that cannot be
// read: a cluster may have some, from before it was asked to refuse them.
func (w *World) Memory() (*world.Memory, error) {
	memory, err := world.NewMemory(w.Lists)
	if err != nil {
		return nil, err
	}
	memory.Policies(func(p *world.Policy) bool {
		if p.IsBroken() && w.HidesCalendarsOf(p) {
			w.Note("%s is left out, because it uses calendars, which you may not list", p.ID)
		} else if p.IsBroken() {
			w.Note("%s cannot be read, so it does nothing new and refuses nothing: %v", p.ID, p.Invalid.ToAggregate())
		}
		return true
	})
	return memory, nil
}

// HidesCalendarsOf reports whether a policy uses calendars that may not be read.
func (w *World) HidesCalendarsOf(p *world.Policy) bool {
	return len(p.Calendars) > 0 && w.Unseen.lists(calendarsResource)
}

// NoteUnselected notes that no policy selects an object, and claims nothing of those that cannot be read.
func (w *World) NoteUnselected(memory *world.Memory, ref workload.Ref) {
	readable := ""
	if memory.HasBroken(ref.Namespace, func(p *world.Policy) bool { return p.Kind.Acts() }) {
		readable = " that can be read"
	}
	w.Note("no policy%s selects %s", readable, ref)
}

// Warn notes what of the policies is surely not meant as it will be understood from an instant on. Of a world that cannot be compiled it notes nothing: that
// is an error of the verb.
func (w *World) Warn(now time.Time) {
	memory, err := world.NewMemory(w.Lists)
	if err != nil {
		return
	}
	var all []string
	memory.Policies(func(p *world.Policy) bool {
		if !p.IsBroken() {
			for _, text := range memory.Warnings(p.Policy.Policy, p.Calendars, now) {
				all = append(all, fmt.Sprintf("%s: %s", p.ID, text))
			}
		}
		return true
	})
	slices.Sort(all)
	for _, text := range all {
		w.Note("%s", text)
	}
}

// Note adds a note, once.
func (w *World) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.Notes, text) {
		w.Notes = append(w.Notes, text)
	}
}

// Kind is an adapted kind with the names by which people call it.
type Kind struct {
	schema.GroupKind
	Resource   schema.GroupVersionResource
	Namespaced bool
	// Names are the plural, the singular and the short names, in lower case.
	Names []string
}

func (w *World) hasKind(gk schema.GroupKind) bool {
	return slices.ContainsFunc(w.Kinds, func(k Kind) bool { return k.GroupKind == gk })
}

// setScope says which kinds live outside namespaces.
func (w *World) setScope(flyballNamespace string) {
	outside := sets.New[schema.GroupKind]()
	for _, k := range w.Kinds {
		if !k.Namespaced {
			outside.Insert(k.GroupKind)
		}
	}
	w.Scope = world.Scope(flyballNamespace, outside.Has)
}

// findOwn says which of the objects Flyball itself runs in. The manager knows these by its Pod; here they are known by the label that its chart gives them.
func (w *World) findOwn(flyballNamespace string) {
	for _, raw := range w.Objects {
		ref := RefOf(raw)
		if ref.Namespace == flyballNamespace && ref.Kind == "Deployment" && gjson.GetBytes(raw, `metadata.labels.app\.kubernetes\.io/name`).Str == "flyball" {
			w.Own = append(w.Own, ref)
		}
	}
}

// kindOf makes a Kind of an adapter.
func kindOf(a *v1alpha1.Adapter, namespaced bool, version string) Kind {
	resource := schema.ParseGroupResource(a.Name)
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	if version == "" && len(a.Spec.Target.Versions) > 0 {
		version = a.Spec.Target.Versions[0]
	}
	names := []string{resource.Resource, strings.ToLower(gk.Kind)}
	return Kind{GroupKind: gk, Resource: resource.WithVersion(version), Namespaced: namespaced, Names: append(names, shortNames[gk]...)}
}

// shortNames are those of kinds that Kubernetes itself has, which are known without asking a server.
var shortNames = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"deploy"}, {Group: "apps", Kind: "StatefulSet"}: {"sts"}, {Group: "apps", Kind: "DaemonSet"}: {"ds"},
	{Group: "apps", Kind: "ReplicaSet"}: {"rs"}, {Group: "batch", Kind: "CronJob"}: {"cj"}, {Kind: "Pod"}: {"po"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {"hpa"},
}

// FindKind finds the adapted kind that a person calls by a name: Deployment, deployments, deploy, deployments.apps or
// Deployment.apps. An error names the nearest.
func (w *World) FindKind(name string) (Kind, error) {
	wanted := strings.ToLower(name)
	var found []Kind
	for _, k := range w.Kinds {
		if slices.ContainsFunc(k.Names, func(n string) bool { return wanted == n || wanted == n+"."+strings.ToLower(k.Group) }) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Kind{}, w.unknownKind(name)
	}
	options := make([]string, len(found))
	for i, k := range found {
		options[i] = k.Resource.GroupResource().String()
	}
	return Kind{}, fmt.Errorf("%q is ambiguous: give one of %s", name, strings.Join(options, ", "))
}

func (w *World) unknownKind(name string) error {
	for _, gk := range w.Absent {
		if strings.EqualFold(gk.Kind, name) || strings.EqualFold(gk.String(), name) {
			return w.Served(gk)
		}
	}
	var candidates, listed []string
	for _, k := range w.Kinds {
		candidates = append(candidates, k.Names...)
		listed = append(listed, k.Resource.GroupResource().String())
	}
	there := "no adapters at all"
	if len(listed) > 0 {
		there = "adapters of " + strings.Join(listed, ", ")
	}
	return fmt.Errorf("no adapter speaks of a kind %q%s", name, cmp.Or(spelling.Meant(name, candidates), "; there are "+there))
}

// Served is an error where a kind has an adapter and the API server does not serve it: nothing is known of its objects.
func (w *World) Served(gk schema.GroupKind) error {
	if slices.Contains(w.Absent, gk) {
		return fmt.Errorf("the kind %s has an adapter, but the API server does not serve it: install it first", gk)
	}
	return nil
}

// Target is an object that somebody names as KIND/NAME.
type Target struct {
	Kind Kind
	workload.Ref
}

// FindTarget reads KIND/NAME in a namespace. Whether there is such an object is not looked at.
func (w *World) FindTarget(text, namespace string) (Target, error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
		return Target{}, fmt.Errorf("%q is no target: give KIND/NAME, such as deployment/web", text)
	}
	k, err := w.FindKind(kind)
	if err != nil {
		return Target{}, err
	}
	t := Target{Kind: k, Ref: workload.Ref{GroupKind: k.GroupKind, Namespace: namespace, Name: name}}
	if !k.Namespaced {
		t.Namespace = ""
	}
	return t, nil
}

// SetPolicy adds a policy, or puts it in place of the one of its kind and name.
func (w *World) SetPolicy(obj policy.Object) {
	w.Policies = append(slices.DeleteFunc(slices.Clone(w.Policies), func(p policy.Object) bool { return IDOf(p) == IDOf(obj) }), obj)
}

// IDOf names a policy object.
func IDOf(obj policy.Object) workload.Policy {
	return workload.Policy{Kind: obj.GetObjectKind().GroupVersionKind().Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// blockedBy says why nothing may be written for the kind of an adapter; empty: it may.
func blockedBy(a *v1alpha1.Adapter) string {
	for _, name := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionServed, v1alpha1.ConditionSchemaMatched, v1alpha1.ConditionAuthorized} {
		if c := meta.FindStatusCondition(a.Status.Conditions, name); c != nil && c.Status == metav1.ConditionFalse {
			return fmt.Sprintf("the adapter %s is not ready (%s): %s", a.Name, name, c.Message)
		}
	}
	return ""
}

// usable takes over the adapters that can be compiled, and notes the others.
func (w *World) usable(all []*v1alpha1.Adapter) {
	w.Blocked = map[string]string{}
	for _, a := range all {
		if _, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{}); len(errs) > 0 {
			w.Note("the adapter %s is left aside: %v", a.Name, errs.ToAggregate())
			continue
		}
		if why := blockedBy(a); why != "" {
			w.Blocked[a.Name] = why
		}
		w.Adapters = append(w.Adapters, a)
	}
}
