// Package source reads the world for a verb: from a cluster, with no more rights than the answer needs, or from files
// without a cluster. A world that is not complete says so. Rights that the user lacks are listed in World.Unseen. If a
// namespace, a kind or a file cannot be read, the error names it.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// DefaultNamespace is the namespace in which Flyball runs by default.
const DefaultNamespace = "flyball-system"

// Query selects the objects to read.
type Query struct {
	// Namespace is the namespace to read. Empty means all namespaces.
	Namespace string
	// Kinds are the kinds whose objects are read. If it is nil, objects of every kind with an adapter are read.
	Kinds []schema.GroupKind
	// PoliciesOnly is true if only policies are read, and no other objects.
	PoliciesOnly bool
	// Judged is true if the metadata of the objects that freezes judge is read too. PoliciesOnly does not exclude it.
	Judged bool
	// Also are adapters that are not in the cluster. Objects of their kinds are read too.
	Also []*v1alpha1.Adapter
	// Namespaces are namespaces that the world gets if the cluster does not have them.
	Namespaces []*workload.Object
}

// bring adds the given namespaces that the world does not have yet, or only the namespace with the given name if name is
// not empty. It reports whether the namespace of the name was added.
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

// World is a world read from a cluster or from files.
type World struct {
	world.Lists
	// Within is the only namespace whose objects were read, beside those of the cluster. Empty means all namespaces.
	Within string
	// Kinds are the existing kinds with an adapter, sorted by name.
	Kinds []AdaptedKind
	// Notes are remarks about how the world was read, for the user.
	Notes []string
	// LeftAside has the reason of each adapter that does not compile. Each is a note too.
	LeftAside []string
	// Absent are the kinds that have an adapter, but that the API server does not serve.
	Absent []schema.GroupKind
	// Unseen are the rights that the user lacks. The world does not have the objects that need these rights.
	Unseen MissingRights
	// DryRunAt is the instant of the reading if the manager writes nothing (--dry-run). The world is then shown as if the writes due at
	// that instant had been made. It is zero for other worlds.
	DryRunAt time.Time
	// Unlisted are kinds of objects judged by freezes, without the right to list them.
	Unlisted []schema.GroupKind
}

// Memory compiles the world. Each call returns a new Memory, which a simulation may change. Memory adds a note for each
// policy that cannot be read, or of whose calendars events are lost. A cluster may have such policies from a time before the webhook
// refused them.
func (w *World) Memory() (*world.Memory, error) {
	memory, err := world.NewMemory(w.Lists)
	if err != nil {
		return nil, err
	}
	if !w.DryRunAt.IsZero() {
		if _, err := decide.Simulate(memory, w.DryRunAt, w.DryRunAt); err != nil {
			return nil, err
		}
		w.Note("Flyball runs with --dry-run: it writes nothing, and this shows what would be")
	}
	var lost []string
	memory.Policies(func(p *world.Policy) bool {
		if p.IsBroken() && w.HidesCalendarsOf(p) {
			w.Note("%s is left out, because it uses calendars, which you may not list", p.ID)
		} else if p.IsBroken() && freeze.RuleOf(p.Policy.Policy) == nil {
			w.Note("%s cannot be read, so it does nothing new and refuses nothing: %v", p.ID, p.Invalid.ToAggregate())
		} else if !w.HidesCalendarsOf(p) {
			for _, text := range memory.LostWarnings(p.Policy.Policy, p.Calendars) {
				lost = append(lost, fmt.Sprintf("%s: %s", p.ID, text))
			}
		}
		return true
	})
	slices.Sort(lost)
	for _, text := range lost {
		w.Note("%s", text)
	}
	return memory, nil
}

// HidesCalendarsOf reports whether a policy uses calendars that may not be read.
func (w *World) HidesCalendarsOf(p *world.Policy) bool {
	return len(p.Calendars) > 0 && w.Unseen.lists(calendarsResource)
}

// NoteUnselected adds a note that no policy selects an object. If there are broken policies, the note speaks only of
// policies that can be read.
func (w *World) NoteUnselected(memory *world.Memory, ref workload.Ref) {
	readable := ""
	if memory.HasBroken(ref.Namespace, func(p *world.Policy) bool { return p.Kind.ActsOnTargets() }) {
		readable = " that can be read"
	}
	w.Note("no policy%s selects %s", readable, ref)
}

// warn adds notes about likely mistakes in policies of the compiled world, in the time after now.
func (w *World) warn(memory *world.Memory, now time.Time) {
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

// Note adds a note. It adds the same note only once.
func (w *World) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.Notes, text) {
		w.Notes = append(w.Notes, text)
	}
}

// AdaptedKind is a kind with an adapter, and its names.
type AdaptedKind struct {
	schema.GroupKind
	Resource   schema.GroupVersionResource
	Namespaced bool
	// Names are the plural, the singular and the short names, in lower case.
	Names []string
}

func (w *World) hasKind(gk schema.GroupKind) bool {
	return slices.ContainsFunc(w.Kinds, func(k AdaptedKind) bool { return k.GroupKind == gk })
}

// setScope records in the world which kinds are cluster-scoped.
func (w *World) setScope(flyballNamespace string) {
	outside := sets.New[schema.GroupKind]()
	for _, k := range w.Kinds {
		if !k.Namespaced {
			outside.Insert(k.GroupKind)
		}
	}
	w.Scope = world.Scope(flyballNamespace, outside.Has)
}

// findOwn records the objects that Flyball itself consists of. The manager finds them through its Pod. Here they are
// found by the label that the chart sets.
func (w *World) findOwn(flyballNamespace string) {
	for _, raw := range w.Objects {
		ref := RefOf(raw)
		if ref.Namespace == flyballNamespace && ref.Kind == "Deployment" &&
			rawjson.GetBytes(raw, `metadata.labels.app\.kubernetes\.io/name`).Str == "flyball" {
			w.Own = append(w.Own, ref)
		}
	}
}

// kindOf returns the Kind of an adapter.
func kindOf(a *v1alpha1.Adapter, namespaced bool, version string) AdaptedKind {
	resource := schema.ParseGroupResource(a.Name)
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	if version == "" && len(a.Spec.Target.Versions) > 0 {
		version = a.Spec.Target.Versions[0]
	}
	names := []string{resource.Resource, strings.ToLower(gk.Kind)}
	return AdaptedKind{GroupKind: gk, Resource: resource.WithVersion(version), Namespaced: namespaced, Names: append(names, shortNames[gk]...)}
}

// shortNames are the short names of built-in kinds. They are used if no API server is asked.
var shortNames = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"deploy"}, {Group: "apps", Kind: "StatefulSet"}: {"sts"}, {Group: "apps", Kind: "DaemonSet"}: {"ds"},
	{Group: "apps", Kind: "ReplicaSet"}: {"rs"}, {Group: "batch", Kind: "CronJob"}: {"cj"}, {Kind: "Pod"}: {"po"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {"hpa"},
}

// FindKind returns the kind with an adapter that has the given name. The name may be Deployment, deployments, deploy,
// deployments.apps or Deployment.apps. If there is no such kind, the error suggests the nearest kind.
func (w *World) FindKind(name string) (AdaptedKind, error) {
	wanted := strings.ToLower(name)
	var found []AdaptedKind
	for _, k := range w.Kinds {
		if slices.ContainsFunc(k.Names, func(n string) bool { return wanted == n || wanted == n+"."+strings.ToLower(k.Group) }) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return AdaptedKind{}, w.unknownKind(name)
	}
	options := make([]string, len(found))
	for i, k := range found {
		options[i] = k.Resource.GroupResource().String()
	}
	return AdaptedKind{}, fmt.Errorf("%q is ambiguous: give one of %s", name, strings.Join(options, ", "))
}

func (w *World) unknownKind(name string) error {
	for _, gk := range w.Absent {
		if strings.EqualFold(gk.Kind, name) || strings.EqualFold(gk.String(), name) {
			return w.Served(gk)
		}
	}
	if slices.Contains([]string{"ns", "namespace", "namespaces"}, strings.ToLower(name)) {
		return errors.New("a namespace is no target: -n names it, such as kubectl flyball status --targets -n NAMESPACE")
	}
	var all, names []string
	for _, k := range w.Kinds {
		all, names = append(all, k.Names...), append(names, k.Names[1])
	}
	there := "; there are no adapters at all"
	if len(names) > 0 {
		there = "; the nearest names are " + strings.Join(workload.NearestFirst(name, names)[:min(3, len(names))], ", ")
	}
	return fmt.Errorf("there is no adapter for a kind %q%s", name, cmp.Or(workload.Meant(name, all), there))
}

// Served returns an error if a kind has an adapter but the API server does not serve the kind. Nothing is known about
// objects of such a kind.
func (w *World) Served(gk schema.GroupKind) error {
	if slices.Contains(w.Absent, gk) {
		return fmt.Errorf("the kind %s has an adapter, but the API server does not serve it: install it first", gk)
	}
	return nil
}

// Target is an object named as KIND/NAME.
type Target struct {
	Kind AdaptedKind
	workload.Ref
}

// FindTarget parses KIND/NAME in a namespace. It does not check whether the object exists.
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

// SetPolicy adds a policy, or replaces the policy of the same kind and name.
func (w *World) SetPolicy(obj policy.Object) {
	w.Policies = append(slices.DeleteFunc(slices.Clone(w.Policies), func(p policy.Object) bool { return IDOf(p) == IDOf(obj) }), obj)
}

// IDOf returns the ID of a policy object.
func IDOf(obj policy.Object) workload.Policy {
	return workload.Policy{Kind: obj.GetObjectKind().GroupVersionKind().Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// blockedBy returns the reason why objects of an adapter's kind may not be written, or "".
func blockedBy(a *v1alpha1.Adapter) string {
	for _, name := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionServed, v1alpha1.ConditionSchemaMatched,
		v1alpha1.ConditionAuthorized} {
		if c := meta.FindStatusCondition(a.Status.Conditions, name); c != nil && c.Status == metav1.ConditionFalse {
			return fmt.Sprintf("the adapter %s is not ready (%s): %s", a.Name, name, c.Message)
		}
	}
	return ""
}

// usable adds the adapters that compile, and adds a note for each adapter that does not.
func (w *World) usable(all []*v1alpha1.Adapter) {
	w.Blocked = map[string]string{}
	for _, a := range all {
		if _, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{}); len(errs) > 0 {
			text := fmt.Sprintf("the adapter %s is left aside: %v", a.Name, errs.ToAggregate())
			w.LeftAside = append(w.LeftAside, text)
			w.Note("%s", text)
			continue
		}
		if why := blockedBy(a); why != "" {
			w.Blocked[a.Name] = why
		}
		w.Adapters = append(w.Adapters, a)
	}
}
