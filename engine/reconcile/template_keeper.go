package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TemplateKeeper creates the objects of policies' templates, keeps the templates' fields in place, and removes objects that no
// template asks for any more. Its decision is docs/decisions/0011.
type TemplateKeeper struct {
	*templateRegister
	World    *world.World
	Client   *apply.Templates
	Metrics  *Metrics
	Recorder events.EventRecorder
	Log      logr.Logger
}

// NewTemplateKeeper returns a TemplateKeeper. recorder receives events and may be nil.
func NewTemplateKeeper(w *world.World, client *apply.Templates, metrics *Metrics, recorder events.EventRecorder,
	log logr.Logger) *TemplateKeeper {
	return &TemplateKeeper{templateRegister: newTemplateRegister(), World: w, Client: client, Metrics: metrics, Recorder: recorder, Log: log}
}

// Follow applies a change of policies and returns the affected objects.
func (k *TemplateKeeper) Follow(c world.PolicyChange) []workload.Ref {
	return append(k.set(c.ID, c.New), madeFor(k.World.Snapshot(), c.ID)...)
}

// OfKind returns the wanted objects of a kind. It includes missing objects, which no watch delivers.
func (k *TemplateKeeper) OfKind(kind *world.LiveKind) []workload.Ref { return k.ofKind(kind.GroupKind) }

// Keep creates a missing object of a template, keeps the template's fields in place, and removes an object that no
// template asks for any more. changed reports whether it has changed the object; the watch then brings the change.
// missing reports whether the object was missing. If a missing object could not be created, the caller has nothing to
// decide. The error is a template that cannot be applied, or gate.ErrSoon after a stale write.
func (k *TemplateKeeper) Keep(ctx context.Context, ref workload.Ref) (changed, missing bool, err error) {
	snapshot := k.World.Snapshot()
	kind := snapshot.InUse(ref.GroupKind)
	if kind == nil || kind.Blocked != "" || kind.Releasing || !kind.Live.HasSynced() {
		return false, false, nil
	}
	obj := snapshot.Object(ref)
	if changed, err = k.removeUnwanted(ctx, snapshot, kind, obj); changed || err != nil {
		return changed, false, err
	}
	k.makeAutoscalers(ctx, snapshot, ref)
	wanted := k.WantedBy(ref)
	if len(wanted) == 0 || obj == nil && isGoverned(snapshot, wanted[0].Template) {
		return false, false, nil
	}
	done := k.agreed(ref)
	known := func(p *world.Policy) bool { return sameTemplate(p.Template, done.template) }
	if obj != nil && slices.ContainsFunc(wanted, known) && done.form == visible(obj, done.template) {
		return false, false, nil
	}
	changed, err = k.apply(ctx, kind, ref, wanted, done)
	if err != nil && !errors.Is(err, gate.ErrSoon) {
		k.fail(ref, err.Error())
	}
	return changed, obj == nil, err
}

// makeAutoscalers creates the missing autoscalers of an object, because another autoscaler of the object may have been
// removed.
func (k *TemplateKeeper) makeAutoscalers(ctx context.Context, s *world.Snapshot, ref workload.Ref) {
	for _, autoscaler := range k.toGovern(ref) {
		if s.Object(autoscaler) != nil || ref == autoscaler {
			continue
		}
		if _, _, err := k.Keep(ctx, autoscaler); err != nil {
			k.Log.V(1).Info("Failed to create an autoscaler of a template; will retry", "object", autoscaler.String(), "reason", err.Error())
		}
	}
}

// isGoverned reports whether the target of a template's autoscaler has another autoscaler already, or does not exist.
func isGoverned(s *world.Snapshot, t *policy.Template) bool {
	return t.Governs != (workload.Ref{}) && (len(s.Autoscalers(t.Governs)) > 0 || s.Object(t.Governs) == nil)
}

// apply reads a changed or missing object, and applies its template unless the object has all fields of the template.
func (k *TemplateKeeper) apply(ctx context.Context, kind *world.LiveKind, ref workload.Ref, wanted []*world.Policy, done agreed) (bool,
	error) {
	live, err := k.Client.Get(ctx, kind.Resource, ref.Namespace, ref.Name)
	if err != nil {
		return false, err
	}
	seen, err := project(kind, ref, live)
	if err != nil {
		return false, err
	}
	owner := policyOf(live, wanted)
	switch {
	case live == nil:
		owner = wanted[0]
	case owner == nil || live.GetDeletionTimestamp() != nil:
		// An object that belongs to no such policy is used as it is.
		t := wanted[0].Template
		k.agree(ref, agreed{template: t, form: visible(seen, t)})
		return false, nil
	}
	t := owner.Template
	claims, err := claimsOf(k.World.Snapshot(), kind, ref, seen)
	if err != nil {
		return false, err
	}
	if live != nil && sameTemplate(done.template, t) && done.isKept(live, claims) {
		k.agree(ref, agreed{template: t, form: visible(seen, t), answer: done.answer})
		return false, nil
	}
	want, err := manifest(t, owner, live, claims)
	if err != nil {
		return false, err
	}
	got, outcome, err := k.Client.Apply(ctx, kind.Resource, want)
	k.Metrics.TemplateWritten(kind.Adapter.Name(), string(outcome))
	switch outcome {
	case apply.Applied:
		if got == nil {
			return false, nil // a dry run creates nothing
		}
		if seen, err = project(kind, ref, got); err != nil {
			return false, err
		}
		k.agree(ref, agreed{template: t, form: visible(seen, t), answer: answerOf(got, want, t, claims)})
		return live == nil || got.GetResourceVersion() != live.GetResourceVersion(), nil
	case apply.Stale:
		return true, gate.ErrSoon
	default:
		return false, err
	}
}

// project returns the part of an object that the watch keeps, or nil for a missing object.
func project(kind *world.LiveKind, ref workload.Ref, live *unstructured.Unstructured) (*workload.Object, error) {
	if live == nil {
		return nil, nil
	}
	raw, err := live.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	obj, err := kind.Adapter.Project(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	return obj, nil
}

// policyOf returns the policy that owns an object.
func policyOf(live *unstructured.Unstructured, wanted []*world.Policy) *world.Policy {
	if live == nil {
		return nil
	}
	owner := metav1.GetControllerOf(live)
	for _, p := range wanted {
		if owner != nil && owner.UID == p.Object.GetUID() {
			return p
		}
	}
	return nil
}

// claimsOf returns the fields of an object that its template does not decide: values set by policies, and the counts
// that an autoscaler owns.
func claimsOf(w *world.Snapshot, kind *world.LiveKind, ref workload.Ref, obj *workload.Object) ([]claimed, error) {
	if obj == nil {
		return nil, nil
	}
	if obj.LedgerError != "" {
		return nil, fmt.Errorf("keep the template of %s: annotation %s: %s", ref, v1alpha1.AnnotationLedger, obj.LedgerError)
	}
	var all []claimed
	for i := range obj.Ledger {
		all = append(all, claimed{path.Pointer(obj.Ledger[i].Pointer), obj.Ledger[i].Element})
	}
	if len(w.Autoscalers(ref)) > 0 {
		for _, p := range kind.Adapter.Counts() {
			all = append(all, claimed{pointer: p})
		}
	}
	return all, nil
}
