package reconcile

import (
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

// opinion is what one policy says of a target.
type opinion struct {
	entry *entry
	// class is that of the policy's intent; ClassKeep when the policy could not decide.
	class workload.Class
	err   error
	// passed is a size that goes to what the object governs; nil: none.
	passed *workload.Size
	// derived is true where the policy selects what the object governs and not the object itself: it is no target then.
	derived bool
	// left is true where the policy does not select the object any more.
	left bool
}

// verdict is what all policies together say of a target, and the patch that follows.
type verdict struct {
	opinions  []opinion
	plan      workload.Plan
	conflicts []pipeline.Conflict
	wake      time.Time
	result    adapter.Result
	// standing are, by policy, the sizes set once that are still there.
	standing map[workload.Policy]string
	err      error
}

// judge decides for one object as it is observed now. It writes nothing and remembers nothing.
func (e *Engine) judge(k *kind, obj *workload.Object, now time.Time) verdict {
	v := e.agree(k, obj, now)
	if v.err != nil || (len(v.opinions) == 0 && v.plan.Size == nil && len(obj.Ledger) == 0 && obj.LedgerError == "") {
		return v
	}
	v.result, v.err = k.adapter.Render(obj, v.plan)
	return v
}

// agree gathers the intents of all policies on an object, and of whatever the object governs, and merges them.
func (e *Engine) agree(k *kind, obj *workload.Object, now time.Time) verdict {
	v, intents := e.opinions(k, obj, now)
	passed, wake := e.passedOn(k, obj, now)
	v.wake = earliest(v.wake, wake)
	intents = append(own(intents), passed...)
	intents = append(intents, e.frozen(k, obj)...)
	derived, wake := e.derived(k, obj, now)
	v.wake = earliest(v.wake, wake)
	intents = append(intents, derived...)
	v.opinions = append(v.opinions, e.behind(derived, v.opinions)...)
	v.opinions = append(v.opinions, e.leaving(k, obj, v.opinions)...)
	v.plan, v.conflicts = pipeline.Merge(intents...)
	v.plan.Within = e.within(k, obj, v.plan, now)
	e.rest(k, obj, derived, &v.plan)
	return v
}

// opinions runs the pipeline of every policy that selects the object.
func (e *Engine) opinions(k *kind, obj *workload.Object, now time.Time) (verdict, []workload.Intent) {
	var v verdict
	if k.releasing || obj.Deleting || e.followsOwner(obj) {
		return v, nil
	}
	ns := e.namespace(obj.Namespace)
	switch {
	case ns.terminating:
		return v, nil
	case ns.unknown:
		return v, e.asItIs(obj)
	}
	var intents []workload.Intent
	var in pipeline.Input
	e.index.each(obj.Namespace, func(en *entry) {
		if en.deleting || !k.can(en.policy.Needs) || !en.policy.Target.Matches(k.gk, obj, ns.labels) {
			return
		}
		if in.Now.IsZero() {
			in = pipeline.Input{Now: now, Target: k.adapter.Observe(obj), NamespaceAwakeUntil: ns.awakeUntil}
			in.Target.Ref = k.ref(obj)
			_, in.Target.Governs = k.adapter.Governs(obj)
			in.Target.Governed = len(e.governors.Of(in.Target.Ref)) > 0
		}
		o := opinion{entry: en, class: workload.ClassKeep, err: ns.err}
		var d pipeline.Decision
		if o.err == nil {
			d, o.err = en.policy.Pipeline.Run(in, nil)
		}
		if o.err != nil {
			// A policy that cannot decide neither changes anything nor gives anything back.
			d.Intents = []workload.Intent{{By: en.id, Class: workload.ClassKeep}}
		}
		for _, intent := range d.Intents {
			o.class = intent.Class
			if intent.ForGoverned {
				o.passed = intent.Size
			}
			intents = append(intents, intent)
		}
		if !d.Wake.IsZero() && (v.wake.IsZero() || d.Wake.Before(v.wake)) {
			v.wake = d.Wake
		}
		v.opinions = append(v.opinions, o)
	})
	return v, intents
}

// asItIs asks that what policies have set on an object stays.
func (e *Engine) asItIs(obj *workload.Object) []workload.Intent {
	var intents []workload.Intent
	for i := range obj.Ledger {
		intents = append(intents, workload.Intent{By: workload.ParsePolicy(obj.Ledger[i].By), Class: workload.ClassKeep})
	}
	return intents
}

// followsOwner says whether the object is controlled by one of an adapted kind that can be put to sleep itself: then the
// owner is the lever, and what is written here would only be undone.
func (e *Engine) followsOwner(obj *workload.Object) bool {
	if obj.Owner == nil {
		return false
	}
	owner := e.kinds[obj.Owner.GroupKind]
	return owner != nil && owner.can([]capability{v1alpha1.CapabilitySuspend, v1alpha1.CapabilityScale})
}

// behind lists the policies that ask something of the object only because of what it governs.
func (e *Engine) behind(derived []workload.Intent, have []opinion) []opinion {
	var out []opinion
	for i := range derived {
		en := e.index.all[derived[i].By]
		if en != nil && !slices.ContainsFunc(have, func(o opinion) bool { return o.entry == en }) {
			out = append(out, opinion{entry: en, class: derived[i].Class, derived: true})
		}
	}
	return out
}

// leaving lists the policies that have changed the object but do not select it any more: they count it until it is given back.
func (e *Engine) leaving(k *kind, obj *workload.Object, have []opinion) []opinion {
	var out []opinion
	add := func(id workload.Policy) {
		en := e.index.all[id]
		here := func(o opinion) bool { return o.entry == en }
		if en != nil && !slices.ContainsFunc(have, here) && !slices.ContainsFunc(out, here) {
			out = append(out, opinion{entry: en, class: workload.ClassKeep, left: true})
		}
	}
	for i := range obj.Ledger {
		if obj.Ledger[i].Once == "" { // nothing is given back there
			add(workload.ParsePolicy(obj.Ledger[i].By))
		}
	}
	if obj.LedgerError != "" {
		for _, id := range e.ledgers.Of(k.ref(obj)) {
			add(id)
		}
	}
	return out
}

// frozen asks, for the policies found in the object's ledger, that what they set stays: those that cannot be read, and
// those that are deleted with deletionPolicy Orphan.
func (e *Engine) frozen(k *kind, obj *workload.Object) []workload.Intent {
	var intents []workload.Intent
	for i := range obj.Ledger {
		en := e.index.all[workload.ParsePolicy(obj.Ledger[i].By)]
		switch {
		case en == nil || k.releasing:
		case en.deleting && en.orphan:
			intents = append(intents, workload.Intent{By: en.id, Class: workload.ClassOrphan})
		case !en.deleting && en.policy.Frozen():
			intents = append(intents, workload.Intent{By: en.id, Class: workload.ClassKeep})
		}
	}
	return intents
}

// derived asks what the sleep of a governed object needs of its governor. At zero the governor is held, before the object is
// put there, so that it does not wake it. At a lower size its bounds are set to that size once the object's ledger has its
// own: a governor that was faster would scale the object itself, and nobody would know from where. Either stays until the
// object has been given back.
func (e *Engine) derived(k *kind, obj *workload.Object, now time.Time) (derived []workload.Intent, wake time.Time) {
	target, ok := k.adapter.Governs(obj)
	if !ok || k.releasing || obj.Deleting {
		return nil, wake
	}
	tk := e.kinds[target.GroupKind]
	if tk == nil {
		return nil, wake
	}
	governed := tk.watch.Get(target.Namespace, target.Name)
	if governed == nil {
		return nil, wake
	}
	v, intents := e.opinions(tk, governed, now)
	intents = append(lasting(intents), e.frozen(tk, governed)...)
	v.plan, _ = pipeline.Merge(intents...)
	next, err := tk.adapter.Render(governed, v.plan)
	claim := v.plan.Size
	if !v.plan.Asleep() {
		if err != nil || next.Patch == nil || next.Direction != workload.DirectionUp {
			return nil, v.wake
		}
		// Still to be woken: the governor waits for that.
		return []workload.Intent{
			{By: next.By, Class: workload.ClassSet, Override: true, Hold: true, Enforce: true},
			{By: next.By, Class: workload.ClassKeep},
		}, v.wake
	}
	in := workload.Intent{By: claim.By, Class: workload.ClassSet, Override: true, Since: claim.Since, Enforce: true,
		Reason: fmt.Sprintf("%s is asleep", target)}
	capacity := tk.adapter.Observe(governed).Capacity(claim.Value)
	switch {
	case capacity == 0:
		in.Hold = true
	case err != nil || next.Patch != nil && next.Direction == workload.DirectionDown:
		// Still to be put to sleep: what the governor has already stays.
		return []workload.Intent{{By: claim.By, Class: workload.ClassKeep}}, v.wake
	default:
		in.Min, in.Max = &capacity, &capacity
	}
	return []workload.Intent{in}, v.wake
}

// waitsFor names a governor of the object that comes first: it has to be held before the object goes to zero, and to have
// its bounds before a size is set inside them.
func (e *Engine) waitsFor(k *kind, obj *workload.Object, v verdict, now time.Time) (workload.Ref, bool) {
	ref := k.ref(obj)
	sleeps := v.result.Direction == workload.DirectionDown && v.plan.Asleep() && k.adapter.Observe(obj).Capacity(v.plan.Size.Value) == 0
	once := v.plan.Size != nil && v.plan.Size.Once && len(v.result.Changed) > 0
	if !sleeps && !once {
		return workload.Ref{}, false
	}
	for _, g := range e.governors.Of(ref) {
		gk := e.kinds[g.GroupKind]
		if gk == nil || gk.blocked != "" {
			continue
		}
		obj := gk.watch.Get(g.Namespace, g.Name)
		if obj == nil || obj.Deleting {
			continue
		}
		if gv := e.judge(gk, obj, now); gv.err == nil && gv.result.Patch != nil {
			return g, true
		}
	}
	return workload.Ref{}, false
}

// namespaceFacts is what judging needs to know of a namespace.
type namespaceFacts struct {
	labels      workload.Pairs
	awakeUntil  time.Time
	terminating bool
	// unknown says that the namespace has not been seen yet, or is gone already. Which policies reach into it cannot be said.
	unknown bool
	err     error
}

func (e *Engine) namespace(name string) namespaceFacts {
	if name == "" {
		return namespaceFacts{}
	}
	obj := e.namespaces.Get("", name)
	if obj == nil {
		return namespaceFacts{unknown: true}
	}
	f := namespaceFacts{labels: obj.Labels, terminating: obj.Deleting}
	f.awakeUntil, f.err = schedule.AwakeUntil(obj.Annotations.Get(v1alpha1.AnnotationAwakeUntil))
	if f.err != nil {
		f.err = fmt.Errorf("annotation %s of namespace %s: %w", v1alpha1.AnnotationAwakeUntil, name, f.err)
	}
	return f
}
