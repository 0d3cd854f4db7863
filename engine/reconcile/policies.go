package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// policyKind is one kind of policy: how its objects are made, compiled and listed. A new policy is one more row.
type policyKind struct {
	name    string
	object  func() client.Object
	list    func() client.ObjectList
	compile func(e *Engine, obj client.Object) *policy.Policy
	orphan  func(obj client.Object) bool
	// calendars lists the calendars that the object names.
	calendars func(obj client.Object) []v1alpha1.CalendarRef
	// kinds lists the kinds that the object names, where its validity depends on them; nil: it does not.
	kinds func(obj client.Object) []v1alpha1.KindRef
	// harmless says that the object changes no target, so that it may go at any time; nil: none is.
	harmless func(obj client.Object) bool
}

func policyKinds() []policyKind { return slices.Concat(scheduleKinds(), triggerKinds(), freezeKinds()) }

func scheduleKinds() []policyKind {
	return []policyKind{
		{
			name:   schedule.Kind,
			object: func() client.Object { return &v1alpha1.Schedule{} },
			list:   func() client.ObjectList { return &v1alpha1.ScheduleList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				p, _ := schedule.Compile(obj.(*v1alpha1.Schedule), e.scheduleContext())
				return p
			},
			orphan: func(obj client.Object) bool {
				return obj.(*v1alpha1.Schedule).Spec.DeletionPolicy == v1alpha1.DeletionOrphan
			},
			calendars: func(obj client.Object) []v1alpha1.CalendarRef { return obj.(*v1alpha1.Schedule).Spec.Calendars },
		},
		{
			name:   schedule.ClusterKind,
			object: func() client.Object { return &v1alpha1.ClusterSchedule{} },
			list:   func() client.ObjectList { return &v1alpha1.ClusterScheduleList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				p, _ := schedule.CompileCluster(obj.(*v1alpha1.ClusterSchedule), e.scheduleContext())
				return p
			},
			orphan: func(obj client.Object) bool {
				return obj.(*v1alpha1.ClusterSchedule).Spec.DeletionPolicy == v1alpha1.DeletionOrphan
			},
			calendars: func(obj client.Object) []v1alpha1.CalendarRef { return obj.(*v1alpha1.ClusterSchedule).Spec.Calendars },
		},
	}
}

// calendar is a Calendar object as the engine knows it.
type calendar struct {
	// revision tells forms of the object apart.
	revision string
	days     timeline.Timeline
	// valid is false where the days cannot be read.
	valid bool
}

func (e *Engine) scheduleContext() schedule.Context {
	return schedule.Context{Scope: e.opts.Scope, Calendars: e.calendar}
}

func (e *Engine) calendar(name string) (timeline.Timeline, bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	c := e.calendars[name]
	return c.days, c.valid
}

// SetPolicy takes over a policy object, new or changed, and has every object looked at again that it selects or selected.
func (e *Engine) SetPolicy(pk policyKind, obj client.Object) {
	id := workload.Policy{Kind: pk.name, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	e.put(pk, id, func(known client.Object) client.Object {
		if known != nil && isNewer(known, obj) {
			return known
		}
		delete(e.refusals, id)
		return obj
	})
}

// RefusePolicy takes over a policy object that could not be given the finalizer: it keeps what it has set and does no more.
func (e *Engine) RefusePolicy(pk policyKind, obj client.Object, err error) {
	id := workload.Policy{Kind: pk.name, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	e.put(pk, id, func(known client.Object) client.Object {
		if known != nil && isNewer(known, obj) {
			return nil
		}
		e.refusals[id] = fmt.Sprintf("nothing is changed while the finalizer %s cannot be put on this policy: %v", v1alpha1.FinalizerRestore, err)
		return obj
	})
}

// unkept is what a policy is while it cannot be given the finalizer: as one that is broken, it keeps what it has set.
func unkept(p *policy.Policy, why string) *policy.Policy {
	broken := policy.Broken(p.ID, field.ErrorList{field.InternalError(field.NewPath("metadata", "finalizers"), errors.New(why))})
	broken.State = func(time.Time) policy.State { return policy.State{Name: "Blocked", Message: why} }
	broken.Condition, broken.Reports = p.Condition, p.Reports
	return broken
}

// isNewer says whether one form of an object is known to be newer than another. Two controllers read the same objects.
func isNewer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// put compiles a policy and takes it over, one at a time, so that what was compiled last is what stays. pick gets the object
// known so far, if any, and gives the one to take; nil takes none.
func (e *Engine) put(pk policyKind, id workload.Policy, pick func(known client.Object) client.Object) {
	e.policyMu.Lock()
	e.mu.RLock()
	old := e.index.all[id]
	e.mu.RUnlock()
	var known client.Object
	if old != nil {
		known = old.object
	}
	obj := pick(known)
	if obj == nil {
		e.policyMu.Unlock()
		return
	}
	next := &entry{
		id: id, policy: pk.compile(e, obj), object: obj, deleting: !obj.GetDeletionTimestamp().IsZero(), orphan: pk.orphan(obj), tally: newTally(),
	}
	if why := e.refusals[id]; why != "" && !next.deleting && !next.policy.Frozen() {
		next.policy, next.refused = unkept(next.policy, why), why
	}
	for _, ref := range pk.calendars(obj) {
		next.calendars = append(next.calendars, ref.Name)
	}
	if old != nil && e.turns(old, next) {
		e.awaitAll(old)
	}
	e.mu.Lock()
	if old != nil {
		next.tally = old.tally
		e.index.remove(old)
	}
	e.index.add(next)
	e.mu.Unlock()
	e.policyMu.Unlock()
	if st := statusOf(obj); old == nil && st != nil {
		e.resumeBatches(next.id, st)
	}
	e.keysChanged()
	e.usesChanged(old, next)
	e.templatesChanged(id, next)
	e.lookAgain(old, next)
	e.rollup.Dirty(next.id)
}

// RemovePolicy forgets a policy object that is gone.
func (e *Engine) RemovePolicy(id workload.Policy) {
	e.policyMu.Lock()
	delete(e.refusals, id)
	e.mu.Lock()
	old := e.index.all[id]
	if old != nil {
		e.index.remove(old)
	}
	e.mu.Unlock()
	e.policyMu.Unlock()
	if old == nil {
		return
	}
	e.wakes.Set(wakeKey{policy: id}, time.Time{})
	e.usesChanged(old, nil)
	e.templatesChanged(id, nil)
	e.lookAgain(old, nil)
	e.rollup.Forget(id)
	e.batches.Forget(id)
	e.metrics.forgetPolicy(id)
}

// lookAgain queues every object that an old or new form of a policy selects, or that it has changed.
func (e *Engine) lookAgain(old, next *entry) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, en := range []*entry{old, next} {
		if en == nil {
			continue
		}
		for _, ref := range e.ledgers.Refs(en.id) {
			e.queue.Add(ref)
		}
		for _, k := range e.kinds {
			e.selectAll(en.policy, k)
		}
	}
}

// usesChanged has the calendars looked at again that only one form of a policy names: they count their users.
func (e *Engine) usesChanged(old, next *entry) {
	uses := func(en *entry) sets.Set[string] {
		if en == nil {
			return nil
		}
		return sets.New(en.calendars...)
	}
	for name := range uses(old).SymmetricDifference(uses(next)) {
		e.nudges.calendar(name)
	}
}

// selectAll queues every object of a kind that a policy selects, what it governs and what governs it.
func (e *Engine) selectAll(p *policy.Policy, k *kind) {
	e.eachSelected(p, k, func(ref workload.Ref) {
		e.queue.Add(ref)
		if governed := e.governors.Governed(ref); governed != (workload.Ref{}) {
			e.queue.Add(governed)
		}
		for _, g := range e.governors.Of(ref) {
			e.queue.Add(g)
		}
	})
}

// eachSelected yields every object of a kind that a policy selects; the caller holds e.mu.
func (e *Engine) eachSelected(p *policy.Policy, k *kind, yield func(workload.Ref)) {
	if !p.Target.MatchesKind(k.gk) || !k.can(p.Needs) {
		return
	}
	visit := func(obj *workload.Object) bool {
		if p.Target.Matches(k.gk, obj, e.namespace(obj.Namespace).labels) {
			yield(k.ref(obj))
		}
		return true
	}
	named, byLabels := p.Target.Namespaces()
	if byLabels || len(named) == 0 {
		k.watch.Range(visit)
		return
	}
	for _, ns := range named {
		k.watch.RangeNamespace(ns, visit)
	}
}

// SetCalendar takes over a calendar, new or changed, and compiles again the policies that name one.
func (e *Engine) SetCalendar(c *v1alpha1.Calendar) {
	days, errs := when.Calendar(c.Name, c.Spec, field.NewPath("spec"))
	revision := fmt.Sprintf("%s/%d", c.UID, c.Generation)
	e.mu.Lock()
	same := e.calendars[c.Name].revision == revision
	// Policies that name an unreadable calendar become invalid, which changes nothing on their targets.
	e.calendars[c.Name] = calendar{revision: revision, days: days, valid: len(errs) == 0}
	e.mu.Unlock()
	if !same {
		e.recompile(c.Name)
	}
}

// RemoveCalendar forgets a calendar that is gone.
func (e *Engine) RemoveCalendar(name string) {
	e.mu.Lock()
	delete(e.calendars, name)
	e.mu.Unlock()
	e.recompile(name)
}

// recompile takes over again every policy that names a calendar.
func (e *Engine) recompile(calendar string) {
	e.mu.RLock()
	var users []workload.Policy
	for id, en := range e.index.all {
		if slices.Contains(en.calendars, calendar) {
			users = append(users, id)
		}
	}
	e.mu.RUnlock()
	for _, id := range users {
		for _, pk := range policyKinds() {
			if pk.name == id.Kind {
				e.put(pk, id, func(known client.Object) client.Object { return known })
			}
		}
	}
}

func (e *Engine) listPolicies(ctx context.Context, pk policyKind) ([]client.Object, error) {
	list := pk.list()
	if err := e.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list %s: %w", pk.name, err)
	}
	var out []client.Object
	err := apimeta.EachListItem(list, func(obj runtime.Object) error {
		out = append(out, obj.(client.Object))
		return nil
	})
	return out, err
}

// keys are the annotations that the policies look at and set, sorted.
func (e *Engine) keys() (match, set []string) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, en := range e.index.all {
		match = append(match, en.policy.Target.AnnotationKeys()...)
		match = append(match, en.policy.Template.AnnotationKeys()...)
		set = append(set, en.policy.SetAnnotations...)
	}
	if e.opts.Freezes != nil {
		match = append(match, e.opts.Freezes.Set().AnnotationKeys()...)
	}
	slices.Sort(match)
	slices.Sort(set)
	return slices.Compact(match), slices.Compact(set)
}

// keysChanged has the adapters compiled again if policies look at annotations that are not kept yet.
func (e *Engine) keysChanged() {
	match, set := e.keys()
	if e.adapters.grow(match, set) {
		e.nudgeGroup(context.Background(), inspect.AllGroups)
	}
}

// resumeBatches takes over the batches that an earlier run has recorded.
func (e *Engine) resumeBatches(id workload.Policy, st *v1alpha1.PolicyStatus) {
	if b := st.DownscaleBatch; b != nil {
		e.batches.Resume(apply.BatchKey{Policy: id, Direction: workload.DirectionDown}, b.OpenedAt.Time)
	}
	if b := st.UpscaleBatch; b != nil {
		e.batches.Resume(apply.BatchKey{Policy: id, Direction: workload.DirectionUp}, b.OpenedAt.Time)
	}
}

// policiesOf lists the policies whose targets include a kind, to have their status looked at again.
func (e *Engine) policiesOf(gk schema.GroupKind) []workload.Policy {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []workload.Policy
	for id, en := range e.index.all {
		if en.policy.Target.MatchesKind(gk) {
			out = append(out, id)
		}
	}
	return out
}
