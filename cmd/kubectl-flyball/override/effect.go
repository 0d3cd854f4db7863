package override

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// Effect is the effect of creating Overrides, or of taking them away.
type Effect struct {
	// Until is the end of the order. It is absent if Overrides are taken away.
	Until  time.Time `json:"until,omitzero"`
	Places []string  `json:"places"`
	// DryRun is true if nothing was written.
	DryRun bool `json:"dryRun,omitempty"`
	// Overrides are the created Overrides, or those that are taken away.
	Overrides []policy.Object `json:"overrides"`
	// Limits are the reasons why an order has not its whole effect, by object.
	Limits []Limit `json:"limits,omitempty"`
	// Plan is the difference that the order makes to the plan. It is absent if the world could not be read.
	Plan *plan.Plan `json:"plan,omitempty"`
	// Ready lists the objects that have become ready.
	Ready []string `json:"ready,omitempty"`

	// kept are the objects that would go to sleep at once without the order.
	kept []string
	// reached is the number of objects on which the order has its effect.
	reached int
	order   Order
}

// Limit is the reason why an order has no effect, or not the whole effect, on an object.
type Limit struct {
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// Blind returns the effect of an order if the world was not read.
func (o *Order) Blind(places []Place) *Effect {
	e := &Effect{Until: o.until, order: *o}
	for _, p := range places {
		e.Places = append(e.Places, p.String())
	}
	if !o.End {
		e.Overrides = o.Objects(places)
	}
	return e
}

// Of returns the effect of an order about places. It compares plans from now until some time after the end of the order.
func (o *Order) Of(ctx context.Context, w *source.World, places []Place) (*Effect, error) {
	e := o.Blind(places)
	if o.End {
		e.Overrides = o.InForce(w, places)
	}
	after := without(w, e.Overrides)
	if !o.End {
		previews := named(w, e.Overrides)
		after = with(w, previews)
		if err := e.count(after, previews); err != nil {
			return nil, err
		}
	}
	from := o.Now.Truncate(time.Second)
	options := plan.Input{From: from, To: from.Add(24 * time.Hour), Zone: o.Zone}
	if o.until.After(options.To) {
		options.To = o.until.Add(time.Minute)
	}
	var err error
	if e.Plan, err = difference(ctx, w, after, options); err != nil || o.End {
		return e, err
	}
	// Without the earlier orders for the same places, the objects appear that this order keeps awake.
	options.To = from.Add(time.Minute)
	spared, err := difference(ctx, without(w, o.InForce(w, places)), after, options)
	if err != nil {
		return nil, err
	}
	e.kept = atOnce(spared, "-")
	return e, nil
}

// named returns Overrides with names for a preview. No policy of the world has such a name.
func named(w *source.World, overrides []policy.Object) (all []policy.Object) {
	for _, obj := range overrides {
		obj = obj.DeepCopyObject().(policy.Object)
		base := strings.TrimSuffix(obj.GetGenerateName(), "-")
		obj.SetName(base)
		isTaken := func(p policy.Object) bool { return source.IDOf(p) == source.IDOf(obj) }
		for i := 2; slices.ContainsFunc(w.Policies, isTaken) || slices.ContainsFunc(all, isTaken); i++ {
			obj.SetName(fmt.Sprintf("%s-%d", base, i))
		}
		all = append(all, obj)
	}
	return all
}

func with(w *source.World, overrides []policy.Object) *source.World {
	edited := *w
	for _, obj := range overrides {
		edited.SetPolicy(obj)
	}
	return &edited
}

func without(w *source.World, overrides []policy.Object) *source.World {
	edited := *w
	edited.Policies = slices.DeleteFunc(slices.Clone(w.Policies), func(p policy.Object) bool {
		return slices.ContainsFunc(overrides, func(o policy.Object) bool { return source.IDOf(o) == source.IDOf(p) })
	})
	return &edited
}

// count counts the objects of a world on which its Overrides have their effect, and finds the limits of the others.
func (e *Effect) count(w *source.World, overrides []policy.Object) error {
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	ids := map[workload.Policy]bool{}
	for _, obj := range overrides {
		id := source.IDOf(obj)
		if p := memory.Find(id); p != nil && p.IsBroken() {
			return fmt.Errorf("such an Override is not valid: %w", p.Invalid.ToAggregate())
		}
		ids[id] = true
	}
	survey := decide.NewSurvey(memory, e.order.Now)
	memory.EachObject(func(ref workload.Ref) {
		v := survey.Target(ref)
		for _, o := range v.Opinions {
			switch {
			case !ids[o.Policy.ID]:
			case o.Limited != "":
				e.Limits = append(e.Limits, Limit{ref.String(), o.Limited})
			case o.Reached:
				e.reached++
			}
		}
	})
	slices.SortFunc(e.Limits, func(a, b Limit) int { return strings.Compare(a.Object, b.Object) })
	return nil
}

// difference returns the difference between the plans of two worlds.
func difference(ctx context.Context, before, after *source.World, o plan.Input) (*plan.Plan, error) {
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
		kind := slices.IndexFunc(w.Kinds, func(k source.AdaptedKind) bool { return k.GroupKind == ref.GroupKind })
		if kind >= 0 && (slices.Contains(woken, ref.String()) || slices.ContainsFunc(places, func(p Place) bool { return p.Object == ref })) {
			all = append(all, ofObject(w.Kinds[kind].Resource, ref))
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

// Manifest returns the Overrides as YAML documents, without their empty status.
func (e *Effect) Manifest() (string, error) {
	var text strings.Builder
	for i, obj := range e.Overrides {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return "", fmt.Errorf("encode %s: %w", idOf(obj), err)
		}
		metadata, _ := fields["metadata"].(map[string]any)
		for _, key := range []string{"creationTimestamp", "uid", "resourceVersion", "generation", "managedFields", "finalizers"} {
			delete(metadata, key)
		}
		delete(fields, "status")
		if spec, _ := fields["spec"].(map[string]any); len(spec) > 0 {
			if target, _ := spec["target"].(map[string]any); len(target) == 0 {
				delete(spec, "target")
			}
		}
		document, err := yaml.Marshal(fields)
		if err != nil {
			return "", fmt.Errorf("encode %s: %w", idOf(obj), err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(document)
	}
	return text.String(), nil
}

// CheckHold returns an error for an object that cannot be held. The error says why, and names the kinds that can be held.
func CheckHold(w *source.World, p Place) error {
	if p.Object.Name == "" {
		return nil
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	var names []string
	for _, k := range w.Kinds {
		if known := memory.Kind(k.GroupKind); known != nil && known.Adapter.Can(v1alpha1.CapabilityHold) {
			names = append(names, k.Resource.Resource)
		}
	}
	slices.Sort(names)
	k, obj := memory.Kind(p.Object.GroupKind), memory.Object(p.Object)
	control := decide.ControlOf(memory, k, obj)
	switch {
	case !k.Adapter.Can(v1alpha1.CapabilityHold):
		return fmt.Errorf("%s cannot be held, because its adapter %s has no hold: objects of these kinds can be held: %s", p, k.Adapter.Name(),
			strings.Join(names, ", "))
	case control.Exists() && !control.Follows && control.Scales.Name == "":
		return fmt.Errorf("%s cannot be held: %s", p, control)
	case decide.AsksNone(memory, k, obj):
		return fmt.Errorf("%s cannot be held: no policy may act on it; explain says why", p)
	case !k.Adapter.Observe(obj).CanHold:
		return fmt.Errorf("%s cannot be held, because no hold of its adapter %s fits it", p, k.Adapter.Name())
	}
	return nil
}

// Names implements report.Finding.
func (e *Effect) Names() []string {
	names := make([]string, len(e.Overrides))
	for i, obj := range e.Overrides {
		kind, name, _ := strings.Cut(refOf(obj), "/")
		names[i] = kind + ".flyball.dev/" + name
	}
	return names
}
