package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// templates knows which objects policies want to exist.
type templates struct {
	mu sync.Mutex
	of map[workload.Ref][]*entry
	by map[workload.Policy]workload.Ref
	// done holds, by object, what is known of the last time that it was found to be as its template says.
	done map[workload.Ref]agreed
	// failed says why an object could not be made or kept.
	failed map[workload.Ref]string
}

// agreed is an object that was as its template says.
type agreed struct {
	template *policy.Template
	// form is that of the watched object; see visible.
	form string
	// answer is what the API server made of the template when it was applied: it may spell values in another way. Nil for an
	// object that is somebody else's.
	answer map[string]any
}

func newTemplates() *templates {
	return &templates{of: map[workload.Ref][]*entry{}, by: map[workload.Policy]workload.Ref{}, done: map[workload.Ref]agreed{}, failed: map[workload.Ref]string{}}
}

// Set takes over the template of a policy; one that has none, or is being deleted, wants nothing. It returns the objects to
// look at.
func (t *templates) Set(id workload.Policy, en *entry) []workload.Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	var touched []workload.Ref
	old, had := t.by[id]
	if had {
		t.of[old] = slices.DeleteFunc(slices.Clone(t.of[old]), func(o *entry) bool { return o.id == id })
		delete(t.by, id)
		touched = append(touched, old)
	}
	if en != nil && !en.deleting && en.policy.Template != nil {
		ref := en.policy.Template.Ref()
		t.by[id] = ref
		t.of[ref] = append(slices.Clone(t.of[ref]), en)
		slices.SortFunc(t.of[ref], func(a, b *entry) int { return a.id.Compare(b.id) })
		touched = append(touched, ref)
	}
	if had && len(t.of[old]) == 0 {
		delete(t.of, old)
		delete(t.done, old)
		delete(t.failed, old)
	}
	return touched
}

// Of lists the policies that want an object, by name.
func (t *templates) Of(ref workload.Ref) []*entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[ref]
}

// OfKind lists the objects of a kind that policies want.
func (t *templates) OfKind(gk schema.GroupKind) []workload.Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	var refs []workload.Ref
	for ref := range t.of {
		if ref.GroupKind == gk {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Agree remembers that an object is as a template says; Agreed gives what was remembered last.
func (t *templates) Agree(ref workload.Ref, done agreed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done[ref] = done
	delete(t.failed, ref)
}

func (t *templates) Agreed(ref workload.Ref) agreed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done[ref]
}

// Fail remembers why an object could not be made or kept; Failure gives it, empty if nothing is wrong.
func (t *templates) Fail(ref workload.Ref, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed[ref] = why
	delete(t.done, ref)
}

func (t *templates) Failure(ref workload.Ref, id workload.Policy) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failed) == 0 || t.by[id] != ref {
		return ""
	}
	return t.failed[ref]
}

// templatesChanged takes over a policy's template and looks at the objects concerned.
func (e *Engine) templatesChanged(id workload.Policy, en *entry) {
	for _, ref := range e.templates.Set(id, en) {
		e.queue.Add(ref)
	}
	for _, ref := range e.madeFor(id) {
		e.queue.Add(ref)
	}
}

// queueTemplates looks at the objects of a kind that policies want: those that are missing are in no watch.
func (e *Engine) queueTemplates(gk schema.GroupKind) {
	for _, ref := range e.templates.OfKind(gk) {
		e.queue.Add(ref)
	}
}

// keepTemplate makes the object that a template asks for, if it is missing, keeps the template's fields in place, and removes
// what a template asks for no more. It reports whether it has changed the object, which the watch then brings back. With an error and no object there is
// nothing to decide about either.
func (e *Engine) keepTemplate(ctx context.Context, ref workload.Ref) (changed, missing bool, err error) {
	e.mu.RLock()
	k := e.kinds[ref.GroupKind]
	e.mu.RUnlock()
	if k == nil || k.blocked != "" || k.releasing || !k.watch.HasSynced() {
		return false, false, nil
	}
	obj := k.watch.Get(ref.Namespace, ref.Name)
	if changed, err = e.removeDropped(ctx, k, obj); changed || err != nil {
		return changed, false, err
	}
	wanted := e.templates.Of(ref)
	if len(wanted) == 0 {
		return false, false, nil
	}
	done := e.templates.Agreed(ref)
	known := func(en *entry) bool { return sameTemplate(en.policy.Template, done.template) }
	if obj != nil && slices.ContainsFunc(wanted, known) && done.form == visible(obj, done.template) {
		return false, false, nil
	}
	changed, err = e.applyTemplate(ctx, k, ref, wanted, done)
	if err != nil && !errors.Is(err, errSoon) {
		e.templates.Fail(ref, err.Error())
	}
	return changed, obj == nil, err
}

// applyTemplate reads an object that has changed, or is missing, and applies its template unless it is there already.
func (e *Engine) applyTemplate(ctx context.Context, k *kind, ref workload.Ref, wanted []*entry, done agreed) (bool, error) {
	live, err := e.templater.Get(ctx, k.resource, ref.Namespace, ref.Name)
	if err != nil {
		return false, err
	}
	seen, err := project(k, ref, live)
	if err != nil {
		return false, err
	}
	en := ownerOf(live, wanted)
	switch {
	case live == nil:
		en = wanted[0]
	case en == nil || live.GetDeletionTimestamp() != nil:
		// Somebody else's: used as it is.
		t := wanted[0].policy.Template
		e.templates.Agree(ref, agreed{template: t, form: visible(seen, t)})
		return false, nil
	}
	t := en.policy.Template
	claims, err := e.claims(k, ref, seen)
	if err != nil {
		return false, err
	}
	if live != nil && sameTemplate(done.template, t) && done.holds(live, claims) {
		e.templates.Agree(ref, agreed{template: t, form: visible(seen, t), answer: done.answer})
		return false, nil
	}
	want, err := manifest(t, en.object, live, claims)
	if err != nil {
		return false, err
	}
	got, outcome, err := e.templater.Apply(ctx, k.resource, want)
	e.metrics.writes.WithLabelValues(k.name, "template", string(outcome)).Inc()
	switch outcome {
	case apply.Applied:
		if seen, err = project(k, ref, got); err != nil {
			return false, err
		}
		e.templates.Agree(ref, agreed{template: t, form: visible(seen, t), answer: answerOf(got, want, t, claims)})
		return live == nil || got.GetResourceVersion() != live.GetResourceVersion(), nil
	case apply.Stale:
		return true, errSoon
	default:
		return false, err
	}
}

// project gives of an object what the watch would keep of it; nil for one that does not exist.
func project(k *kind, ref workload.Ref, live *unstructured.Unstructured) (*workload.Object, error) {
	if live == nil {
		return nil, nil
	}
	raw, err := live.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	obj, err := k.adapter.Project(raw)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	return obj, nil
}

// ownerOf finds the policy that an object belongs to.
func ownerOf(live *unstructured.Unstructured, wanted []*entry) *entry {
	if live == nil {
		return nil
	}
	owner := metav1.GetControllerOf(live)
	for _, en := range wanted {
		if owner != nil && owner.UID == en.object.GetUID() {
			return en
		}
	}
	return nil
}

// claims lists the fields of an object that its template does not decide: what policies have set, and the counts that an
// autoscaler owns.
func (e *Engine) claims(k *kind, ref workload.Ref, obj *workload.Object) ([]claimed, error) {
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
	if len(e.governors.Of(ref)) > 0 {
		for _, p := range k.adapter.Counts() {
			all = append(all, claimed{pointer: p})
		}
	}
	return all, nil
}
