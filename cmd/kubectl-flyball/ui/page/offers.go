package page

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/cmd/kubectl-flyball/except"
	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/pause"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Offers are the actions that a person may take on one page. Each text is KIND/NAME in the form that the verb accepts.
type Offers struct {
	Namespace string
	// Order has the places for which the person may create an Override. End has the orders in force for exactly one of the places, if
	// the person may delete Overrides.
	Order []string
	End   []InForce
	// Denying are the policies that refuse changes of an object, and Refused are the refused actions. FromCluster is true if one of the
	// policies is a cluster policy, which only a cluster exception lifts. Except is the object, if the person may create the exception.
	Denying, Refused []string
	FromCluster      bool
	Except           string
	Pause, Resume    string
}

// InForce is a place with an order that is in force. Verb is the verb that made the order.
type InForce struct{ Verb, On string }

// Any reports whether at least one action is offered.
func (o *Offers) Any() bool {
	return o != nil && (len(o.Order) > 0 || len(o.End) > 0 || o.Except != "" || o.Pause != "" || o.Resume != "")
}

// Asker finds out whether a person has a right.
type Asker interface {
	Allowed(ctx context.Context, r source.Right, name string) (bool, error)
}

// Offering finds the actions that a person has the rights for.
type Offering struct {
	Asker
	World *source.World
	Now   time.Time
	// Namespace is the only namespace in the world. It is empty if the world has all namespaces.
	Namespace string
}

// OfTarget returns the actions on a target, its namespace and its schedules.
func (f Offering) OfTarget(ctx context.Context, t source.Target, story *explain.Explanation) (*Offers, error) {
	o := &Offers{Namespace: t.Namespace}
	own := strings.ToLower(t.GroupKind.String()) + "/" + t.Name
	var schedules []string
	for _, p := range story.Policies {
		kind, name, _ := strings.Cut(p.Policy, "/")
		text := strings.ToLower(kind) + "/" + path.Base(name)
		if _, err := override.Find(f.World, text, t.Namespace); err == nil {
			schedules = append(schedules, text)
		}
	}
	if len(schedules) > 0 {
		if err := f.addPlaces(ctx, o, append([]string{own, "namespace/" + t.Namespace}, schedules...)); err != nil {
			return nil, err
		}
	}
	for _, a := range story.Freezes {
		if a.Allowed {
			continue
		}
		o.Refused = append(o.Refused, a.Actions...)
		for _, d := range a.Denials {
			if d.Enforcement == string(v1alpha1.EnforcementDeny) && !slices.Contains(o.Denying, d.Policy) {
				o.Denying = append(o.Denying, d.Policy)
				o.FromCluster = o.FromCluster || workload.ParsePolicy(d.Policy).Namespace == ""
			}
		}
	}
	if len(o.Refused) == 0 {
		return o, nil
	}
	in := t.Namespace
	if o.FromCluster {
		in = ""
	}
	may, err := f.has(ctx, except.Rights(in), "")
	if may {
		o.Except = own
	}
	return o, err
}

// has reports whether the person has all of the given rights on an object.
func (f Offering) has(ctx context.Context, rights []source.Right, name string) (bool, error) {
	for _, r := range rights {
		if ok, err := f.Allowed(ctx, r, name); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// addPlaces adds the places for which the person may create Overrides, and the orders in force, if the person may delete Overrides. It
// leaves out missing places. It also leaves out schedules for all namespaces if the world has only one namespace.
func (f Offering) addPlaces(ctx context.Context, o *Offers, texts []string) error {
	for _, text := range texts {
		p, err := override.Find(f.World, text, o.Namespace)
		if err != nil || f.Namespace != "" && override.ReachesAll(text) {
			continue
		}
		create, err := f.Allowed(ctx, p.Right("create"), "")
		if err != nil {
			return err
		}
		if create {
			o.Order = append(o.Order, text)
		}
		remove, err := f.Allowed(ctx, p.Right("delete"), "")
		if err != nil {
			return err
		}
		if !remove {
			continue
		}
		for _, verb := range slices.Sorted(maps.Keys(effects)) {
			order := override.Order{Effect: effects[verb], End: true, Now: f.Now}
			if len(order.InForce(f.World, []override.Place{p})) > 0 {
				o.End = append(o.End, InForce{verb, text})
			}
		}
	}
	return nil
}

// OfPolicy returns the actions on a policy.
func (f Offering) OfPolicy(ctx context.Context, id workload.Policy) (*Offers, error) {
	o := &Offers{Namespace: id.Namespace}
	text := strings.ToLower(id.Kind) + "/" + id.Name
	if err := f.addPlaces(ctx, o, []string{text}); err != nil {
		return nil, err
	}
	var change pause.Change
	if change.Add(text, id.Namespace) == nil { // the kind of the policy has spec.suspend
		ok, err := f.has(ctx, change.Rights(), id.Name)
		switch {
		case err != nil:
			return nil, err
		case ok && isSuspended(f.World, id):
			o.Resume = text
		case ok:
			o.Pause = text
		}
	}
	return o, nil
}

// isSuspended reports whether spec.suspend of a policy is true.
func isSuspended(w *source.World, id workload.Policy) bool {
	for _, p := range w.Policies {
		if source.IDOf(p) != id {
			continue
		}
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
		spec, _ := raw["spec"].(map[string]any)
		suspended, _ := spec["suspend"].(bool)
		return err == nil && suspended
	}
	return false
}
