// Package wake computes the effect of keeping an object, a namespace or a schedule awake, or of holding an object, before
// the edit is made. It edits a copy of the world and compares the plans.
package wake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
)

// Place is an object, a namespace or a schedule that can have the annotation awake-until.
type Place struct{ wake.Place }

// Right returns the right that a user needs to keep the place awake.
func (p Place) Right() source.Right {
	return source.Right{Verb: "patch", Resource: p.Resource.GroupResource(), Namespace: p.Namespace}
}

// End returns the instant until which objects are kept awake. Exactly one of span and until must be given. The text
// span is a length of time from now, and the text until is an instant in the future.
func End(span, until string, now time.Time, zone *time.Location) (time.Time, error) {
	switch {
	case span != "" && until != "":
		return time.Time{}, errors.New("--for and --until both say how long: give only one of them")
	case span == "" && until == "":
		return time.Time{}, errors.New("say how long: give --for 2h, or --until with an instant")
	case span != "":
		d, err := instant.Span(span)
		if err != nil {
			return time.Time{}, fmt.Errorf("--for: %w", err)
		}
		return now.Add(d).Truncate(time.Second), nil
	}
	t, err := instant.Next(until, now, zone)
	if err != nil {
		return t, fmt.Errorf("--until: %w", err)
	}
	if !t.After(now) {
		err = fmt.Errorf("--until: %s is over", instant.Text(t, zone))
	}
	return t, err
}

// Find parses KIND/NAME as an object whose kind has an adapter, a namespace, or a schedule.
func Find(w *source.World, text, namespace string) (Place, error) {
	kind, name, _ := strings.Cut(text, "/")
	if NamespaceOf(text) != "" {
		if !slices.ContainsFunc(w.Namespaces, func(ns *workload.Object) bool { return ns.Name == name }) {
			return Place{}, fmt.Errorf("there is no namespace %s", name)
		}
		return Place{wake.OfNamespace(name)}, nil
	}
	if found, ok := findPolicy(w, kind, name, namespace); ok {
		return found, nil
	}
	if _, known := source.PolicyKind(kind); known {
		return Place{}, fmt.Errorf("there is no schedule %s: objects, namespaces and schedules are kept awake, other policies are not%s", text,
			workload.Meant(text, Names(w, namespace)))
	}
	target, err := w.FindTarget(text, namespace)
	if err != nil {
		return Place{}, err
	}
	for _, raw := range w.Objects {
		if source.RefOf(raw) == target.Ref {
			return Place{wake.OfObject(target.Kind.Resource, target.Ref)}, nil
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
	return slices.ContainsFunc(schedule.Kinds(), func(k policy.Kind) bool {
		return k.ClusterScoped && (strings.EqualFold(k.Name, kind) || strings.EqualFold(k.Resource, kind))
	})
}

// Names returns the namespace and the schedules that can be kept awake, in the form that Find parses.
func Names(w *source.World, namespace string) []string {
	names := []string{"namespace/" + namespace}
	for _, k := range schedule.Kinds() {
		for _, p := range w.Policies {
			if id := source.IDOf(p); id.Kind == k.Name && (k.ClusterScoped || id.Namespace == namespace) {
				names = append(names, strings.ToLower(k.Name)+"/"+id.Name)
			}
		}
	}
	return names
}

func findPolicy(w *source.World, kind, name, namespace string) (Place, bool) {
	id, _, known := source.PolicyNamed(kind+"/"+name, namespace)
	place, schedules := wake.OfPolicy(id)
	if known && schedules && slices.ContainsFunc(w.Policies, func(p policy.Object) bool { return source.IDOf(p) == id }) {
		return Place{place}, true
	}
	return Place{}, false
}

// Effect is the effect of setting or removing a mark.
type Effect struct {
	// Until is the instant until which the places are marked. It is absent if the annotation is removed.
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Places []string  `json:"places"`
	// DryRun is true if nothing was written.
	DryRun bool `json:"dryRun,omitempty"`
	// NotKept are the places that had no mark in force before.
	NotKept []string `json:"notKept,omitempty"`
	// Plan is the difference that the edit makes to the plan. It is absent if the world could not be read.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Ready lists the objects that have become ready.
	Ready []string `json:"ready,omitempty"`

	// kept are the objects that would go to sleep at once without the edit.
	kept []string
	// keptBy is a text that says why one of NotKept is awake nevertheless, or "".
	keptBy string
	// scheduled is the number of scheduled objects that the places reach.
	scheduled int
	mark      Mark
	zone      *time.Location
}

// Blind returns the effect of an edit if the world was not read.
func (m Mark) Blind(places []Place, until time.Time, reason string, zone *time.Location) *Effect {
	e := &Effect{Until: until, Reason: reason, mark: m, zone: zone}
	for _, p := range places {
		e.Places = append(e.Places, p.String())
	}
	return e
}

// Of returns the effect of an edit. It compares plans from now until some time after until.
func (m Mark) Of(ctx context.Context, w *source.World, places []Place, until time.Time, reason string, now time.Time,
	zone *time.Location) (*Effect, error) {
	e := m.Blind(places, until, reason, zone)
	if err := e.look(w, places, now); err != nil {
		return nil, err
	}
	edited, err := m.edit(w, places, until, reason)
	if err != nil {
		return nil, err
	}
	o := plan.Options{From: now, To: now.Add(24 * time.Hour), Zone: zone}
	if until.After(o.To) {
		o.To = until.Add(time.Minute)
	}
	if e.Plan, err = difference(ctx, w, edited, o); err != nil {
		return nil, err
	}
	if until.IsZero() {
		return e, nil
	}
	unkept, err := m.edit(w, places, time.Time{}, "")
	if err != nil {
		return nil, err
	}
	o.To = now.Add(time.Minute)
	spared, err := difference(ctx, unkept, edited, o)
	if err != nil {
		return nil, err
	}
	e.kept = atOnce(spared, "-")
	return e, nil
}

// edit returns the world in which places are marked until an instant. If until is the zero time, the mark is removed.
func (m Mark) edit(w *source.World, places []Place, until time.Time, reason string) (*source.World, error) {
	edited := *w
	edited.Objects, edited.Policies, edited.Namespaces = slices.Clone(w.Objects), slices.Clone(w.Policies), slices.Clone(w.Namespaces)
	for _, p := range places {
		if err := m.set(&edited, p, until, reason); err != nil {
			return nil, err
		}
	}
	return &edited, nil
}

// difference returns the difference between the plans of two worlds.
func difference(ctx context.Context, before, after *source.World, o plan.Options) (*plan.Plan, error) {
	was, err := plan.Make(ctx, before, o)
	if err != nil {
		return nil, err
	}
	is, err := plan.Make(ctx, after, o)
	if err != nil {
		return nil, err
	}
	return plan.Compare(was, is), nil
}

// atOnce returns the objects that only one of two compared plans changes at once. The parameter diff is "+" for the
// later plan and "-" for the earlier plan.
func atOnce(p *plan.Plan, diff string) (refs []string) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Diff == diff && !c.At.After(p.From) && !slices.Contains(refs, c.Target) {
			refs = append(refs, c.Target)
		}
	}
	return refs
}

// toAwait returns the objects for which Await waits: the objects among the places, and the objects that other places
// wake at once or keep awake.
func (e *Effect) toAwait(w *source.World, places []Place) (all []Place) {
	woken := append(atOnce(e.Plan, "+"), e.kept...)
	for _, raw := range w.Objects {
		ref := source.RefOf(raw)
		kind := slices.IndexFunc(w.Kinds, func(k source.Kind) bool { return k.GroupKind == ref.GroupKind })
		if kind >= 0 && (slices.Contains(woken, ref.String()) || slices.ContainsFunc(places, func(p Place) bool { return p.Object == ref })) {
			all = append(all, Place{wake.OfObject(w.Kinds[kind].Resource, ref)})
		}
	}
	return all
}

// Unwritten returns a message about a field that the manager still has to write to wake an object. It returns "" if
// there is no such field.
func (e *Effect) Unwritten(ref workload.Ref, raw []byte) string {
	for i := range e.Plan.Changes {
		c := &e.Plan.Changes[i]
		if c.Diff != "+" || c.Target != ref.String() || c.At.After(e.Plan.From) {
			continue
		}
		at, err := path.Probe(raw, path.Pointer(c.Field))
		if err != nil {
			return err.Error()
		}
		now := at.Value.Raw()
		if now == "null" {
			now = ""
		}
		if now != c.To && !path.Equal(now, c.To) {
			return fmt.Sprintf("%s is still %s", c.Field, plan.Brief(now))
		}
	}
	return ""
}

// set makes the edit in a world. It changes the given world.
func (m Mark) set(w *source.World, p Place, until time.Time, reason string) error {
	for i, raw := range w.Objects {
		if p.Object.Name != "" && source.RefOf(raw) == p.Object {
			edited, err := jsonpatch.MergePatch(raw, m.Patch(until, reason))
			if err != nil {
				return fmt.Errorf("edit %s: %w", p, err)
			}
			w.Objects[i] = edited
		}
	}
	for i, obj := range w.Policies {
		if p.Policy.Name != "" && source.IDOf(obj) == p.Policy {
			obj = obj.DeepCopyObject().(policy.Object)
			annotations := obj.GetAnnotations()
			if annotations == nil {
				annotations = map[string]string{}
			}
			m.Set(annotations, until)
			obj.SetAnnotations(annotations)
			w.Policies[i] = obj
		}
	}
	for i, ns := range w.Namespaces {
		if p.Kind == "Namespace" && ns.Name == p.Name {
			edited := *ns
			annotations := map[string]string{}
			for _, pair := range ns.Annotations {
				annotations[pair.Key] = pair.Value
			}
			m.Set(annotations, until)
			edited.Annotations = workload.NewPairs(annotations)
			w.Namespaces[i] = &edited
		}
	}
	return nil
}

// Names implements report.Finding.
func (e *Effect) Names() []string { return e.Places }
