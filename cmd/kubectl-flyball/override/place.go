package override

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

// Place is an object, a namespace, the targets of a schedule, or the objects with some labels.
type Place struct {
	text string
	// Namespace is the namespace of the Override; "" for a ClusterOverride.
	Namespace string
	// Object is the object; the zero value for other places. Resource is its resource.
	Object   workload.Ref
	Resource schema.GroupVersionResource

	target   v1alpha1.ClusterTargetSelector
	policies []string
}

// String returns KIND/NAME.
func (p Place) String() string { return p.text }

// label returns a part of the name of the place's Override.
func (p Place) label() string {
	if strings.HasPrefix(p.text, "-l ") {
		return "labels"
	}
	_, name, _ := strings.Cut(p.text, "/")
	return strings.TrimRight(name[:min(len(name), 200)], ".-")
}

// Right returns the right to a verb on the Overrides of the place, such as create.
func (p Place) Right(verb string) source.Right {
	return source.Right{Verb: verb, Resource: override.ResourceIn(p.Namespace).GroupResource(), Namespace: p.Namespace}
}

func ofObject(resource schema.GroupVersionResource, ref workload.Ref) Place {
	return Place{text: strings.ToLower(ref.Kind) + "/" + ref.Name, Namespace: ref.Namespace, Object: ref, Resource: resource,
		target: v1alpha1.ClusterTargetSelector{TargetSelector: v1alpha1.TargetSelector{
			Kinds: []v1alpha1.KindRef{{Group: ref.Group, Kind: ref.Kind}}, Names: []string{ref.Name}}}}
}

func ofNamespace(name string) Place { return Place{text: "namespace/" + name, Namespace: name} }

// ofSchedule returns the place of a schedule's targets. To an order to stay awake only this schedule yields.
func ofSchedule(obj policy.Object) (Place, bool) {
	target, is := schedule.TargetOf(obj)
	if !is {
		return Place{}, false
	}
	id := source.IDOf(obj)
	return Place{text: strings.ToLower(id.Kind) + "/" + id.Name, Namespace: id.Namespace, target: target,
		policies: []string{id.Kind + "/" + id.Name}}, true
}

// Find parses KIND/NAME as an object whose kind has an adapter, a namespace, or a schedule.
func Find(w *source.World, text, namespace string) (Place, error) {
	if name := NamespaceOf(text); name != "" {
		if !slices.ContainsFunc(w.Namespaces, func(ns *workload.Object) bool { return ns.Name == name }) {
			return Place{}, fmt.Errorf("there is no namespace %s", name)
		}
		return ofNamespace(name), nil
	}
	kind, _, _ := strings.Cut(text, "/")
	if id, _, known := source.PolicyNamed(text, namespace); known {
		for _, obj := range w.Policies {
			if p, ok := ofSchedule(obj); ok && source.IDOf(obj) == id {
				return p, nil
			}
		}
	}
	if _, known := source.PolicyKind(kind); known {
		return Place{}, fmt.Errorf("there is no schedule %s: give an object, a namespace or a schedule%s", text, workload.Meant(text,
			Names(w, namespace)))
	}
	target, err := w.FindTarget(text, namespace)
	if err != nil {
		return Place{}, err
	}
	for _, raw := range w.Objects {
		if source.RefOf(raw) == target.Ref {
			return ofObject(target.Kind.Resource, target.Ref), nil
		}
	}
	return Place{}, w.Missing(target.Ref)
}

// NamespaceOf returns NAME if the text is namespace/NAME, and "" otherwise.
func NamespaceOf(text string) string {
	kind, name, _ := strings.Cut(text, "/")
	if slices.Contains([]string{"namespace", "namespaces", "ns"}, strings.ToLower(kind)) {
		return name
	}
	return ""
}

// ReachesAll reports whether KIND/NAME names a schedule for all namespaces.
func ReachesAll(text string) bool {
	kind, _, _ := strings.Cut(text, "/")
	return slices.ContainsFunc(schedule.Kinds(), func(k policy.Row) bool {
		return k.ClusterScoped && (strings.EqualFold(k.Name, kind) || strings.EqualFold(k.Resource, kind))
	})
}

// Names returns the namespace and the schedules in the form that Find parses.
func Names(w *source.World, namespace string) []string {
	names := []string{"namespace/" + namespace}
	for _, obj := range w.Policies {
		if p, ok := ofSchedule(obj); ok && (p.Namespace == "" || p.Namespace == namespace) {
			names = append(names, p.text)
		}
	}
	return names
}

// Where returns the namespace of the targets on a command line. All targets must have the same namespace, because only
// one namespace is read. The parameter namespace is the default, which the connection gives.
func Where(args []string, namespace string) (string, error) {
	if len(args) > 0 {
		if first := NamespaceOf(args[0]); first != "" && !slices.ContainsFunc(args, func(a string) bool { return NamespaceOf(a) != first }) {
			return first, nil
		}
	}
	for _, arg := range args {
		if named := NamespaceOf(arg); named != "" && named != namespace {
			return "", fmt.Errorf("to see the effect in namespace %s, give it alone, or work in that namespace: add -n %s", named, named)
		}
	}
	return namespace, nil
}

// Places returns the places that the arguments name. Without arguments it returns the objects of the namespace with the labels
// of a selector.
func Places(w *source.World, args []string, selector, namespace string) (places []Place, err error) {
	if len(args) == 0 {
		chosen, err := metav1.ParseToLabelSelector(selector)
		if err != nil {
			return nil, fmt.Errorf("--selector: %w", err)
		}
		p := Place{text: "-l " + selector, Namespace: namespace}
		p.target.Selector = chosen
		return []Place{p}, nil
	}
	for _, arg := range args {
		p, err := Find(w, arg, namespace)
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	return places, nil
}

// Resolve parses KIND/NAME of an object or a namespace. It knows the kinds that an API server serves, and does not check whether the
// object exists.
func Resolve(mapper meta.RESTMapper, text, namespace string) (Place, error) {
	if name := NamespaceOf(text); name != "" {
		return ofNamespace(name), nil
	}
	kind, name, ok := strings.Cut(text, "/")
	if !ok || kind == "" || name == "" {
		return Place{}, fmt.Errorf("%q is no target: give KIND/NAME, such as deployment/web", text)
	}
	if known, ok := source.PolicyKind(kind); ok {
		return Place{}, errors.New("to order for the targets of a " + known.Name + ", the right to read it is needed")
	}
	gvk, err := mapper.KindFor(schema.ParseGroupResource(strings.ToLower(kind)).WithVersion(""))
	if err != nil {
		return Place{}, fmt.Errorf("find the kind %q: %w", kind, err)
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Place{}, fmt.Errorf("find how %s is served: %w", gvk.GroupKind(), err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	}
	return ofObject(mapping.Resource, workload.Ref{GroupKind: gvk.GroupKind(), Namespace: namespace, Name: name}), nil
}
