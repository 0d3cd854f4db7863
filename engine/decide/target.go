package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Target decides for one target at an instant. It tells a story, if that is not nil, how.
func Target(w World, ref workload.Ref, now time.Time, story *Story) Verdict {
	k := w.Kind(ref.GroupKind)
	if k == nil {
		return Verdict{}
	}
	obj := w.Object(ref)
	if obj == nil {
		return Verdict{}
	}
	d := decider{w: w, now: now}
	v := d.render(k, obj, story)
	v.Kind, v.Object = k, obj
	v.OnceSizes = d.onceSizes(k, obj)
	if v.Err == nil && v.Result.Patch != nil {
		v.Gate = d.gate(k, obj, &v)
	}
	v.tell(story)
	return v
}

// decider decides at one instant in one world. It writes nothing and remembers nothing.
type decider struct {
	w   World
	now time.Time
}

// render merges what all policies ask of an object, and renders it.
func (d decider) render(k *Kind, obj *workload.Object, story *Story) Verdict {
	v := d.merge(k, obj, story)
	if len(v.Opinions) == 0 && v.Plan.Size == nil && len(obj.Ledger) == 0 && obj.LedgerError == "" {
		return v
	}
	v.Result, v.Err = k.Adapter.Render(obj, v.Plan)
	if v.Err == nil && v.Result.Sized && v.Result.Actions.Has(workload.ChangeRollOut) {
		v.sizeFirst(k, obj)
	}
	return v
}

// sizeFirst leaves to the next write what restarts pods beside a size. It has to wait for freezes, for budgets and for other targets, and what
// sleeps or wakes must not wait with it. Nor must that be charged to who changes requests, which has no rate limit.
func (v *Verdict) sizeFirst(k *Kind, obj *workload.Object) {
	size, others := k.Adapter.SetBy(obj)
	plan := v.Plan
	plan.Amounts = nil
	plan.Keep = maps.Clone(plan.Keep)
	for _, id := range others {
		if slices.Contains(size, id) {
			continue
		}
		if plan.Keep == nil {
			plan.Keep = map[workload.Policy]bool{}
		}
		plan.Keep[id] = true
	}
	if first, err := k.Adapter.Render(obj, plan); err == nil && first.Sized {
		first.Values = v.Result.Values
		v.Result = first
	}
}

// merge gathers what all policies ask of an object, for itself, for what it governs and for what governs it, and merges it.
func (d decider) merge(k *Kind, obj *workload.Object, story *Story) Verdict {
	a := d.ask(k, obj, story)
	v := Verdict{Opinions: a.opinions, Wake: a.wake}
	intents := deleteForOthers(a.intents)

	passed, wake := d.passedOn(k, obj)
	intents, v.Wake = append(intents, passed...), timeline.Earliest(v.Wake, wake)

	intents = append(intents, d.keepers(k, obj)...)

	onBehalf, wake := d.onBehalf(k, obj)
	intents, v.Wake = append(intents, onBehalf...), timeline.Earliest(v.Wake, wake)

	fromGoverned, wake := d.fromGoverned(k, obj)
	intents, v.Wake = append(intents, fromGoverned...), timeline.Earliest(v.Wake, wake)

	v.Opinions = append(v.Opinions, d.opinionsOnBehalf(slices.Concat(onBehalf, fromGoverned), v.Opinions)...)
	v.Opinions = append(v.Opinions, d.opinionsOfThoseThatLeft(k, obj, v.Opinions)...)
	v.Plan, v.Conflicts = pipeline.Merge(intents...)
	v.Plan.Within = d.boundsByGovernors(k, obj, v.Plan)
	d.dropBoundsFromPlan(&v.Plan, k, obj, onBehalf)
	return v
}

// answers are what the policies that select an object ask of it.
type answers struct {
	opinions []Opinion
	intents  []workload.Intent
	wake     time.Time
}

// ask runs the pipeline of every policy that selects the object.
func (d decider) ask(k *Kind, obj *workload.Object, story *Story) answers {
	var a answers
	ns := d.namespace(obj.Namespace)
	switch {
	case k.Releasing:
		story.add("ask", "nobody: the adapter of the kind is being deleted, so everything is given back")
		return a
	case obj.Deleting:
		story.add("ask", "nobody: the object is being deleted")
		return a
	case d.followsOwner(obj):
		story.add("ask", fmt.Sprintf("nobody: %s/%s controls the object and is put to sleep itself", obj.Owner.GroupKind, obj.Owner.Name))
		return a
	case ns.Terminating:
		story.add("ask", "nobody: the namespace is being deleted")
		return a
	case ns.Unknown:
		story.add("ask", "nobody: the namespace is not known, so everything stays as it is")
		a.intents = keepEverything(obj)
		return a
	}
	own := d.runsFlyball(k, obj)
	if own != "" {
		story.add("ask", "nobody: "+own)
	}
	var in pipeline.Input
	d.w.EachPolicy(obj.Namespace, func(p *Policy) {
		if !p.Selects(k, obj, ns.Labels) {
			return
		}
		if own != "" {
			a.opinions = append(a.opinions, Opinion{Policy: p, Class: workload.ClassKeep, Alone: own})
			return
		}
		if in.Now.IsZero() {
			in = d.input(k, obj, ns)
		}
		a.askPolicy(p, in, story)
	})
	return a
}

// Selects says whether the policy has something to ask of an object in a namespace with some labels.
func (p *Policy) Selects(k *Kind, obj *workload.Object, namespace workload.Pairs) bool {
	return !p.Deleting && k.Can(p.Needs) && p.Target.Matches(k.GroupKind, obj, namespace)
}

// EachAsked yields every policy that selects an object and is asked about it.
func EachAsked(w World, k *Kind, obj *workload.Object, yield func(*Policy)) {
	d := decider{w: w}
	ns := d.namespace(obj.Namespace)
	if d.leavesAlone(k, obj) || ns.Unknown {
		return
	}
	w.EachPolicy(obj.Namespace, func(p *Policy) {
		if p.Selects(k, obj, ns.Labels) {
			yield(p)
		}
	})
}

// LeavesAlone says whether no policy is asked about an object, whatever it selects.
func LeavesAlone(w World, k *Kind, obj *workload.Object) bool {
	return decider{w: w}.leavesAlone(k, obj)
}

func (d decider) leavesAlone(k *Kind, obj *workload.Object) bool {
	return k.Releasing || obj.Deleting || d.followsOwner(obj) || d.namespace(obj.Namespace).Terminating || d.runsFlyball(k, obj) != ""
}

// Host is a World that knows the objects that Flyball itself runs in: its Pod and the controllers of that.
type Host interface {
	RunsFlyball(workload.Ref) bool
}

// runsFlyball says why no policy acts on an object because Flyball itself runs in it, or is scaled by it: once it sleeps, nothing wakes it. Empty: the
// object has nothing to do with that.
func (d decider) runsFlyball(k *Kind, obj *workload.Object) string {
	host, ok := d.w.(Host)
	if !ok {
		return ""
	}
	const why = "which no policy acts on, because nothing would wake it again"
	if host.RunsFlyball(k.Ref(obj)) {
		return "Flyball itself runs in it, " + why
	}
	if governed, ok := k.Adapter.Governs(obj); ok && host.RunsFlyball(governed) {
		return fmt.Sprintf("it governs %s, in which Flyball itself runs and %s", governed, why)
	}
	return ""
}

// input is what pipelines see of an object.
func (d decider) input(k *Kind, obj *workload.Object, ns Namespace) pipeline.Input {
	in := pipeline.Input{Now: d.now, Target: k.Adapter.Observe(obj), NamespaceAwakeUntil: ns.AwakeUntil}
	in.Target.Ref = k.Ref(obj)
	_, in.Target.Governs = k.Adapter.Governs(obj)
	in.Target.Governed = len(d.w.Governors(in.Target.Ref)) > 0
	if adviser, ok := d.w.(Adviser); ok {
		if a := adviser.Advice(in.Target.Ref); a != nil && (a.UID == "" || a.UID == obj.UID) {
			in.Advice = a
		}
	}
	return in
}

// askPolicy runs the pipeline of one policy and adds its answer.
func (a *answers) askPolicy(p *Policy, in pipeline.Input, story *Story) {
	o := Opinion{Policy: p, Class: workload.ClassKeep}
	trace := story.newTrace()
	d, err := p.Pipeline.Run(in, trace)
	o.Err, o.Ignored = err, strings.Join(d.Ignored, "; ")
	story.answered(p.ID, trace, o.Err)
	if o.Err != nil {
		// A policy that cannot decide neither changes anything nor gives anything back.
		d.Intents = []workload.Intent{{By: p.ID, Class: workload.ClassKeep}}
	}
	o.Silent = len(d.Intents) == 0
	for _, intent := range d.Intents {
		o.Class = intent.Class
		if intent.ForGoverned {
			o.PassedOn = intent.Size
		}
	}
	a.intents = append(a.intents, d.Intents...)
	a.wake = timeline.Earliest(a.wake, d.Wake)
	a.opinions = append(a.opinions, o)
}

// keepEverything asks that all that policies have set on an object stays.
func keepEverything(obj *workload.Object) []workload.Intent {
	intents := make([]workload.Intent, len(obj.Ledger))
	for i := range obj.Ledger {
		intents[i] = workload.Intent{By: workload.ParsePolicy(obj.Ledger[i].By), Class: workload.ClassKeep}
	}
	return intents
}

// followsOwner says whether the object is controlled by one of an adapted kind that can be put to sleep itself. The owner is
// the lever then, and what is written here would only be undone. The owner's adapter need not be in use for that: it may
// be about to come.
func (d decider) followsOwner(obj *workload.Object) bool {
	return obj.Owner != nil && d.w.Adapts(obj.Owner.GroupKind)
}

// keepers asks, for policies that have changed the object, that what they set stays: for those that are broken, and for
// those that are deleted and orphan their targets.
func (d decider) keepers(k *Kind, obj *workload.Object) []workload.Intent {
	if k.Releasing {
		return nil
	}
	var intents []workload.Intent
	for i := range obj.Ledger {
		p := d.w.Policy(workload.ParsePolicy(obj.Ledger[i].By))
		switch {
		case p == nil:
		case p.Deleting && p.Orphan:
			intents = append(intents, workload.Intent{By: p.ID, Class: workload.ClassOrphan})
		case !p.Deleting && p.IsBroken():
			intents = append(intents, workload.Intent{By: p.ID, Class: workload.ClassKeep})
		}
	}
	return intents
}

// opinionsOnBehalf lists the policies that ask something of the object only because of what it governs, each once.
func (d decider) opinionsOnBehalf(intents []workload.Intent, have []Opinion) []Opinion {
	var out []Opinion
	for i := range intents {
		if p := d.w.Policy(intents[i].By); p != nil && !hasOpinion(have, p) && !hasOpinion(out, p) {
			out = append(out, Opinion{Policy: p, Class: intents[i].Class, OnBehalf: true})
		}
	}
	return out
}

// opinionsOfThoseThatLeft lists the policies that have changed the object but do not select it any more: they count it
// until it is given back.
func (d decider) opinionsOfThoseThatLeft(k *Kind, obj *workload.Object, have []Opinion) []Opinion {
	var out []Opinion
	for _, id := range d.changedBy(k, obj) {
		if p := d.w.Policy(id); p != nil && !hasOpinion(have, p) && !hasOpinion(out, p) {
			out = append(out, Opinion{Policy: p, Class: workload.ClassKeep, Left: true})
		}
	}
	return out
}

// changedBy lists the policies that have something to give back on an object. Of a ledger that cannot be read, they are
// those that it was known to be of.
func (d decider) changedBy(k *Kind, obj *workload.Object) []workload.Policy {
	if obj.Deleting {
		return nil
	}
	var ids []workload.Policy
	for i := range obj.Ledger {
		if obj.Ledger[i].Once == "" { // nothing is given back there
			ids = append(ids, workload.ParsePolicy(obj.Ledger[i].By))
		}
	}
	if recaller, ok := d.w.(Recaller); ok && obj.LedgerError != "" {
		ids = append(ids, recaller.LastKnown(k.Ref(obj))...)
	}
	return ids
}

// Recaller is a World that remembers, of objects whose ledger cannot be read any more, the policies that it was of.
type Recaller interface {
	LastKnown(workload.Ref) []workload.Policy
}

// Adviser is a World in which something was found for targets from what their pods used.
type Adviser interface {
	Advice(workload.Ref) *workload.Advice
}

func hasOpinion(opinions []Opinion, p *Policy) bool {
	return slices.ContainsFunc(opinions, func(o Opinion) bool { return o.Policy.ID == p.ID })
}

// namespace says what is known of the namespace of an object; objects outside namespaces have one of which nothing is to be said.
func (d decider) namespace(name string) Namespace {
	if name == "" {
		return Namespace{}
	}
	return d.w.Namespace(name)
}

// tell adds to a story what came after the policies were asked.
func (v *Verdict) tell(story *Story) {
	if story == nil {
		return
	}
	for _, c := range v.Conflicts {
		story.add("merge", fmt.Sprintf("%s wins over %s on %s (%s)", c.Winner, c.Loser, c.Facet, c.Reason))
	}
	switch {
	case v.Err != nil:
		story.add("render", v.Err.Error())
	case v.Result.Patch != nil:
		story.add("render", v.Result.Message)
	default:
		story.add("render", "nothing to write: "+cmp.Or(v.Result.Message, v.Result.State.String()))
	}
	story.add("render", v.Result.Failure)
	story.add("wait", v.Gate.Reason)
}
