package wake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/targets"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/wake"
)

// Resolve parses KIND/NAME. It knows the kinds that an API server serves, and does not check whether the object exists.
func Resolve(mapper meta.RESTMapper, text, namespace string) (Place, error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok || kind == "" || name == "" {
		return Place{}, fmt.Errorf("%q is no target: give KIND/NAME, such as deployment/web", text)
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
	return Place{wake.Place{Resource: mapping.Resource, Kind: gvk.Kind, Namespace: namespace, Name: name}}, nil
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
			return "", fmt.Errorf("to see what wakes in namespace %s, give it alone, or work in that namespace: add -n %s", named, named)
		}
	}
	return namespace, nil
}

// Places returns the places that the arguments name. Without arguments it returns the places that a label selector
// selects.
func Places(w *source.World, args []string, selector, namespace string) (places []Place, err error) {
	if len(args) == 0 {
		chosen, err := labels.Parse(selector)
		if err != nil {
			return nil, fmt.Errorf("--selector: %w", err)
		}
		return selected(w, chosen, namespace)
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

// selected returns the objects of a namespace that are scheduled and match a label selector.
func selected(w *source.World, selector labels.Selector, namespace string) ([]Place, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	scheduled := wake.Scheduled(memory.Snapshot)
	var places []Place
	for _, raw := range w.Objects {
		ref := source.RefOf(raw)
		kind := slices.IndexFunc(w.Kinds, func(k source.Kind) bool { return k.GroupKind == ref.GroupKind })
		if kind < 0 || scheduled[ref] == nil || ref.Namespace != namespace || !selector.Matches(memory.Object(ref).Labels) {
			continue
		}
		places = append(places, Place{wake.OfObject(w.Kinds[kind].Resource, ref)})
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no schedule selects an object with the labels %s in namespace %s", selector, namespace)
	}
	return places, nil
}

// look sets NotKept to the places without a mark in force, if the edit removes the mark. It also counts the
// scheduled objects that the places reach.
func (e *Effect) look(w *source.World, places []Place, now time.Time) error {
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	for ref, schedules := range wake.Scheduled(memory.Snapshot) {
		if slices.ContainsFunc(places, func(p Place) bool { return p.Reaches(ref, schedules) }) {
			e.scheduled++
		}
	}
	for _, p := range places {
		if e.Until.IsZero() && !e.mark.Kept(w, p, now) {
			e.NotKept = append(e.NotKept, p.String())
			if until := targets.KeptUntil(memory, p.Namespace, now, e.zone); e.mark == Awake && until != "" && p.Object.Name != "" {
				e.keptBy = fmt.Sprintf("namespace/%s keeps it awake until %s", p.Namespace, until)
			}
		}
	}
	return nil
}

// Kept reports whether a place has the mark, with an end after now.
func (m Mark) Kept(w *source.World, p Place, now time.Time) bool {
	text := ""
	for _, raw := range w.Objects {
		if p.Object.Name != "" && source.RefOf(raw) == p.Object {
			text = gjson.GetBytes(raw, "metadata.annotations."+gjson.Escape(m.Until)).Str
		}
	}
	for _, obj := range w.Policies {
		if p.Policy.Name != "" && source.IDOf(obj) == p.Policy {
			text = obj.GetAnnotations()[m.Until]
		}
	}
	for _, ns := range w.Namespaces {
		if p.Kind == "Namespace" && ns.Name == p.Name {
			text = ns.Annotations.Get(m.Until)
		}
	}
	until, err := timeline.ParseUntil(text, time.UTC)
	return err == nil && until.After(now)
}
