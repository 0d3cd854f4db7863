package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Target returns the verdict about a target at an instant. It records the steps in story unless story is nil.
func Target(w World, ref workload.Ref, now time.Time, story *Story) Verdict {
	return deciderOf(w, now).target(ref, story)
}

func deciderOf(w World, now time.Time) decider {
	waits, _ := w.(Standings)
	calm, _ := w.(Settling)
	return decider{w: w, now: now, waits: waits, settles: calm != nil && calm.Settles()}
}

// Settling is a World with the knowledge whether controllers act on its objects.
type Settling interface {
	// Settles reports whether every object settles as soon as it is written, because no controller acts.
	Settles() bool
}

// target returns the verdict about a target. It is empty if the target does not exist.
func (d decider) target(ref workload.Ref, story *Story) Verdict {
	k, obj := d.w.Kind(ref.GroupKind), d.w.Object(ref)
	if k == nil || obj == nil {
		return Verdict{}
	}
	v := d.render(k, obj, story)
	v.Kind, v.Object = k, obj
	v.OnceSizes = d.onceSizes(k, obj)
	if v.Err == nil && v.Result.Patch != nil {
		v.Gate = d.gate(k, obj, &v)
	}
	if !d.settles {
		v.follow()
	}
	v.addTo(story)
	return v
}

// follow marks a target written asleep as falling asleep until its controller has brought it to the new size.
func (v *Verdict) follow() {
	if v.Err != nil || v.Result.Patch != nil || v.Result.State != workload.StateAsleep {
		return
	}
	why := v.Kind.Adapter.Unsettled(v.Object)
	if why == "" {
		return
	}
	v.Result.State, v.Falling = workload.StateFallingAsleep, &Falling{Why: why}
	for i := range v.Object.Ledger {
		if en := &v.Object.Ledger[i]; en.Once == "" && en.Since.After(v.Falling.Since) {
			v.Falling.Since = en.Since
		}
	}
}

// decider decides at an instant in a world. It writes nothing and has no state.
type decider struct {
	w   World
	now time.Time
	// waits keeps the standings of orders. nil means that no standings are known.
	waits Standings
	// settles: every object settles as soon as it is written, in simulations, where no controller
	// acts.
	settles bool
	// searched has the results of searches of waves, for many decisions about one unchanged world. nil: no results
	// are kept.
	searched map[searchKey]Wave
}

// Survey decides about many targets of a world at one instant. It searches each wave once. The world must not
// change.
type Survey struct{ d decider }

// NewSurvey returns a Survey of a world at an instant.
func NewSurvey(w World, now time.Time) *Survey {
	d := deciderOf(w, now)
	d.searched = map[searchKey]Wave{}
	return &Survey{d}
}

// Target returns the verdict about a target, as the function Target does.
func (s *Survey) Target(ref workload.Ref) Verdict { return s.d.target(ref, nil) }

// render merges the claims of all policies on an object and renders the plan.
func (d decider) render(k *Kind, obj *workload.Object, story *Story) Verdict {
	v := d.merge(k, obj, story)
	if len(v.Opinions) == 0 && v.Plan.Size == nil && v.Plan.Hold == nil && len(obj.Ledger) == 0 && obj.LedgerError == "" {
		return v
	}
	v.Result, v.Err = k.Adapter.Render(obj, v.Plan)
	if v.Err == nil && v.Result.Actions&^workload.ChangeScale != 0 {
		if first, err := k.Adapter.RenderFirst(obj, v.Plan); err == nil && first.Patch != nil {
			v.Result = first
		}
	}
	return v
}

// answers are the claims and opinions of the policies that select an object.
type answers struct {
	opinions []Opinion
	intents  []workload.Intent
	wake     time.Time
	// useless are orders to keep an autoscaler awake, which no schedule puts to sleep.
	useless []*Policy
}

// ask runs the pipeline of every selecting policy.
func (d decider) ask(k *Kind, obj *workload.Object, story *Story) answers {
	var a answers
	ns := d.namespace(obj.Namespace)
	switch {
	case k.Releasing:
		story.add("ask", "no policy: the adapter of the kind is being deleted, so everything is given back")
		return a
	case obj.Deleting:
		story.add("ask", "no policy: the object is being deleted")
		return a
	case ns.Terminating:
		story.add("ask", "no policy: the namespace is being deleted")
		return a
	case ns.Unknown:
		story.add("ask", "no policy: the namespace is not known, so everything stays as it is")
		a.intents = keepEverything(obj)
		return a
	}
	d.askSelecting(k, obj, ns, &a, story)
	return a
}

// askSelecting asks the policies that select the object and do not leave it alone.
func (d decider) askSelecting(k *Kind, obj *workload.Object, ns Namespace, a *answers, story *Story) {
	own, controlled := d.runsFlyball(k, obj), d.controller(k, obj)
	switch {
	case controlled.Exists() && controlled.Adapter == "":
		story.add("ask", "no policy: "+controlled.String())
		return
	case own != "":
		story.add("ask", "no policy: "+own)
	}
	policies := d.selecting(k, obj, ns)
	if own != "" {
		for _, p := range policies {
			a.opinions = append(a.opinions, Opinion{Policy: p, Class: workload.ClassKeep, Alone: own})
		}
	}
	if own != "" || len(policies) == 0 {
		return
	}
	autoscalers := d.w.Autoscalers(k.Ref(obj))
	in := d.input(k, obj, len(autoscalers) > 0)
	controlled = d.control(k, obj, autoscalers)
	a.wake = controlled.Until
	acting := policies[:0]
	for _, p := range policies {
		switch why := p.leaves(k, obj, controlled); {
		case why == "":
			acting = append(acting, p)
		case controlled.Follows:
			story.add("ask", "no policy: "+why)
		default:
			a.opinions = append(a.opinions, Opinion{Policy: p, Class: workload.ClassKeep, Alone: why, Control: controlled})
		}
	}
	d.addOverrides(in, acting, k, obj, ns.Labels)
	a.opinions, a.intents = slices.Grow(a.opinions, len(acting)), make([]workload.Intent, 0, len(acting))
	for _, p := range acting {
		if o := p.Override; o != nil && (!o.IsActive(d.now) || o.Effect == v1alpha1.OverrideAwake && len(in.Bounds) == 0) {
			if in.Target.Governs && o.IsActive(d.now) {
				a.useless = append(a.useless, p)
			}
			continue // the order is over, or nothing puts the object to sleep
		}
		in.Use = d.use(p, in.Target.Ref, obj)
		a.askPolicy(p, in, story)
	}
	a.overruleKept()
	a.intents = d.spareKept(obj, a.intents, d.claimants(k, obj), a.opinions)
}

// overruleKept deletes the claims to keep values that yield to a claim to stay awake. Otherwise a policy that does not know the use of
// its target would keep it asleep where a known use would not.
func (a *answers) overruleKept() {
	yields := func(in workload.Intent) bool { return in.Yields && pipeline.IsOverruled(&in, a.intents) }
	if slices.ContainsFunc(a.intents, yields) {
		a.intents = slices.DeleteFunc(slices.Clone(a.intents), yields)
		for i := range a.opinions {
			o := &a.opinions[i]
			o.ByUse = o.ByUse && slices.ContainsFunc(a.intents, func(in workload.Intent) bool { return in.Yields && in.By == o.Policy.ID })
		}
	}
}

// ByUse reports whether only the use of the target decides whether it is asleep.
func (v *Verdict) ByUse() bool {
	return !v.Plan.Asleep() && slices.ContainsFunc(v.Opinions, func(o Opinion) bool { return o.ByUse })
}

// selecting returns the policies that select an object, in the order of the World.
func (d decider) selecting(k *Kind, obj *workload.Object, ns Namespace) []*Policy {
	policies := make([]*Policy, 0, 16)
	d.w.EachPolicyFor(k.GroupKind, obj, ns.Labels, d.now, func(p *Policy) {
		if p.Selects(k, obj, ns.Labels) {
			policies = append(policies, p)
		}
	})
	return policies
}

// addOverrides adds the orders in force to keep an object awake to the input, and the limits of the schedules among the acting policies
// if any order is in force. An order to keep a scaled object awake concerns its autoscalers too: an autoscaler that sleeps
// would put the object to sleep. An order to sleep or to hold is also limited by the schedules of the other object.
func (d decider) addOverrides(in *pipeline.Input, acting []*Policy, k *Kind, obj *workload.Object, labels workload.Pairs) {
	inForce := false
	add := func(p *Policy) {
		if p.Override == nil || !p.Override.IsActive(d.now) {
			return
		}
		inForce = true
		if p.Override.Effect == v1alpha1.OverrideAwake {
			in.Overrides = append(in.Overrides, *p.Override)
		}
	}
	for _, p := range acting {
		add(p)
	}
	tk, governed := d.governed(k, obj)
	if governed != nil {
		d.w.EachPolicyFor(tk.GroupKind, governed, labels, d.now, func(p *Policy) {
			if p.Override != nil && p.Override.Effect == v1alpha1.OverrideAwake && p.Selects(tk, governed, labels) &&
				!p.Selects(k, obj, labels) && p.leaves(tk, governed, ControlOf(d.w, tk, governed)) == "" {
				add(p)
			}
		})
	}
	if !inForce {
		return
	}
	for _, p := range acting {
		if p.Bounds != nil {
			in.Bounds = append(in.Bounds, *p.Bounds)
		}
	}
	d.addBeside(in, k, obj)
	if governed != nil {
		d.addBeside(in, tk, governed)
	}
	d.eachAutoscaler(in.Target.Ref, func(gk *Kind, autoscaler *workload.Object) { d.addBeside(in, gk, autoscaler) })
	all := slices.Concat(in.Bounds, in.Beside)
	if i := slices.IndexFunc(in.Overrides, func(o pipeline.Override) bool { return o.Applies(all, d.now) }); i >= 0 {
		in.Awake = &in.Overrides[i]
	}
}

// addBeside adds the limits of the schedules of an object to the input: of the target, and of an object that scales the target or is
// scaled by it. Limits of broken schedules stay, because an error in a schedule must not give way to orders.
func (d decider) addBeside(in *pipeline.Input, k *Kind, obj *workload.Object) {
	add := func(p *Policy) {
		isOf := func(b pipeline.Bounds) bool { return b.By == p.ID }
		if p.Bounds != nil && !slices.ContainsFunc(in.Bounds, isOf) && !slices.ContainsFunc(in.Beside, isOf) {
			in.Beside = append(in.Beside, *p.Bounds)
		}
	}
	d.eachAsked(k, obj, add)
	labels := d.namespace(obj.Namespace).Labels
	d.w.EachPolicyFor(k.GroupKind, obj, labels, d.now, func(p *Policy) {
		if p.Bounded != nil && !p.Deleting && p.Bounded.Matches(k.GroupKind, obj, labels) {
			add(p)
		}
	})
}

// spareKept returns the claims without the claims of Overrides if a policy keeps its values on the object, because the end of an
// Override would restore them. It says so in the opinions. others are further claims on the object.
func (d decider) spareKept(obj *workload.Object, intents, others []workload.Intent, opinions []Opinion) []workload.Intent {
	isOrder := func(in workload.Intent) bool {
		p := d.w.Policy(in.By)
		return p != nil && p.Override != nil
	}
	if !slices.ContainsFunc(intents, isOrder) {
		return intents
	}
	for i := range obj.Ledger {
		holders := obj.Ledger[i].Claimants()
		keeps := func(in workload.Intent) bool {
			return in.Class == workload.ClassKeep && slices.Contains(holders, in.By)
		}
		all := slices.Concat(intents, others)
		k := slices.IndexFunc(all, keeps)
		if obj.Ledger[i].Once != "" || k < 0 {
			continue
		}
		for i := range opinions {
			if o := &opinions[i]; o.Reached && o.Policy.Override.Effect != v1alpha1.OverrideAwake {
				o.Reached, o.Limited = false, all[k].By.String()+" keeps the target as it is"
			}
		}
		return slices.DeleteFunc(slices.Clone(intents), isOrder)
	}
	return intents
}

// limitOrders says of orders to stay awake that the target sleeps nevertheless: by a freeze, or by a schedule that the order does not
// name; or that an autoscaler is held because its scale target sleeps. useless are orders without an opinion.
func (v *Verdict) limitOrders(useless []*Policy, onBehalf []workload.Intent) {
	why := ""
	if i := slices.IndexFunc(onBehalf, func(in workload.Intent) bool { return in.Reason != "" }); i >= 0 {
		why = onBehalf[i].Reason + ", because of " + onBehalf[i].By.String()
		for _, p := range useless {
			v.Opinions = append(v.Opinions, Opinion{Policy: p, Class: workload.ClassKeep, Limited: why})
		}
	}
	if v.Plan.Asleep() {
		why = v.Plan.Size.By.String() + " puts it to sleep"
	}
	for i := range v.Opinions {
		if o := &v.Opinions[i]; why != "" && o.Reached && o.Policy.Override.Effect == v1alpha1.OverrideAwake {
			o.Reached, o.Limited = false, why
		}
	}
}

// Selects reports whether the policy selects an object and the kind has a capability that the policy needs. namespace
// has the labels of the object's namespace.
func (p *Policy) Selects(k *Kind, obj *workload.Object, namespace workload.Pairs) bool {
	return !p.Deleting && k.Can(p.Needs) && p.Target.Matches(k.GroupKind, obj, namespace)
}

// EachAsked yields every policy asked about an object.
func EachAsked(w World, k *Kind, obj *workload.Object, yield func(*Policy)) {
	decider{w: w}.eachAsked(k, obj, yield)
}

func (d decider) eachAsked(k *Kind, obj *workload.Object, yield func(*Policy)) {
	ns := d.namespace(obj.Namespace)
	if d.asksNone(k, obj) || ns.Unknown {
		return
	}
	control := ControlOf(d.w, k, obj)
	d.w.EachPolicyFor(k.GroupKind, obj, ns.Labels, d.now, func(p *Policy) {
		if p.Selects(k, obj, ns.Labels) && p.leaves(k, obj, control) == "" {
			yield(p)
		}
	})
}

// LeavesAlone reports whether a policy is not asked about an object, even if it selects the object.
func LeavesAlone(w World, p *Policy, k *Kind, obj *workload.Object) bool {
	return decider{w: w}.asksNone(k, obj) || LeftTo(w, p, k, obj).Exists()
}

// AsksNone reports whether no policy is asked about an object, not even a policy that lists its name.
func AsksNone(w World, k *Kind, obj *workload.Object) bool { return decider{w: w}.asksNone(k, obj) }

func (d decider) asksNone(k *Kind, obj *workload.Object) bool {
	if k.Releasing || obj.Deleting || d.namespace(obj.Namespace).Terminating || d.runsFlyball(k, obj) != "" {
		return true
	}
	c := d.controller(k, obj)
	return c.Exists() && c.Adapter == ""
}

// Host is a World with the objects in which Flyball itself runs: the Pod and the Pod's controllers.
type Host interface {
	RunsFlyball(workload.Ref) bool
}

// runsFlyball returns the reason why no policy acts on an object in which Flyball runs, or on its autoscaler: if
// Flyball slept, nothing would wake it. The result is "" for all other objects.
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

// input returns the input of the pipelines for an object.
func (d decider) input(k *Kind, obj *workload.Object, governed bool) *pipeline.Input {
	in := &pipeline.Input{Now: d.now, Target: k.Adapter.Observe(obj)}
	in.Target.Ref = k.Ref(obj)
	_, in.Target.Governs = k.Adapter.Governs(obj)
	in.Target.Governed = governed
	if adviser, ok := d.w.(Adviser); ok {
		if a := adviser.Advice(in.Target.Ref); a != nil && (a.UID == "" || a.UID == obj.UID) {
			in.Advice = a
		}
	}
	return in
}

// use returns the knowledge of an object's use by the demand of a policy, or nil.
func (d decider) use(p *Policy, ref workload.Ref, obj *workload.Object) *workload.Use {
	known, ok := d.w.(Used)
	if p.Idle == nil || !ok {
		return nil
	}
	if u := known.Use(p.ID, ref); u != nil && (u.UID == "" || u.UID == obj.UID) {
		return u
	}
	return nil
}

// askPolicy runs a policy's pipeline and adds its claims and its opinion to the answers.
func (a *answers) askPolicy(p *Policy, in *pipeline.Input, story *Story) {
	o := Opinion{Policy: p, Class: workload.ClassKeep}
	trace := story.newTrace()
	d, err := p.Pipeline.Run(in, trace)
	o.Err, o.Limited = err, strings.Join(d.Limited, "; ")
	if p.Override != nil {
		o.Yielding = d.Yielding
		o.Reached = o.Limited == "" && (len(d.Yielding) > 0 || p.Override.Effect != v1alpha1.OverrideAwake)
	}
	story.answered(p.ID, trace, o.Err)
	if o.Err != nil {
		// The policy could not decide, so its values stay: they are neither changed nor restored.
		d.Intents = []workload.Intent{{By: p.ID, Class: workload.ClassKeep}}
	}
	o.Silent = len(d.Intents) == 0
	for _, intent := range d.Intents {
		o.Class, o.ByUse = intent.Class, intent.Yields
		if intent.ForGoverned {
			o.PassedOn = intent.Size
		}
	}
	a.intents = append(a.intents, d.Intents...)
	a.wake = timeline.Earliest(a.wake, d.Wake)
	a.opinions = append(a.opinions, o)
}

// keepEverything returns claims to keep all values in an object's ledger.
func keepEverything(obj *workload.Object) []workload.Intent {
	var holders []workload.Policy
	for i := range obj.Ledger {
		holders = append(holders, obj.Ledger[i].Claimants()...)
	}
	return keepFor(holders)
}

// FollowsOwner reports whether the object's controller is an object of an adapted kind with its own lever, as a Deployment is of its
// ReplicaSets. Such an object is no target. Policies put its controller to sleep instead, because the controller would undo writes to
// the object. The controller's adapter need not be in use yet.
func FollowsOwner(w World, obj *workload.Object) bool {
	return obj.OwnerReference != nil && w.Adapts(obj.OwnerReference.GroupKind) == CanSleep
}

func (d decider) followsOwner(obj *workload.Object) bool { return FollowsOwner(d.w, obj) }

// claimants returns claims to keep the values of policies that are broken, and of deleted policies that leave their
// values in place.
func (d decider) claimants(k *Kind, obj *workload.Object) []workload.Intent {
	if k.Releasing {
		return nil
	}
	var intents []workload.Intent
	for i := range obj.Ledger {
		for _, id := range obj.Ledger[i].Claimants() {
			switch p := d.w.Policy(id); {
			case p == nil:
			case p.Deleting && p.Orphan:
				intents = append(intents, workload.Intent{By: p.ID, Class: workload.ClassOrphan})
			case !p.Deleting && p.IsBroken():
				intents = append(intents, workload.Intent{By: p.ID, Class: workload.ClassKeep})
			}
		}
	}
	return intents
}

// opinionsOnBehalf returns an opinion for each policy that has claims on an autoscaler only because of the scale
// target.
func (d decider) opinionsOnBehalf(intents []workload.Intent, have []Opinion) []Opinion {
	var out []Opinion
	for i := range intents {
		if p := d.w.Policy(intents[i].By); p != nil && !hasOpinion(have, p) && !hasOpinion(out, p) {
			out = append(out, Opinion{Policy: p, Class: intents[i].Class, OnBehalf: true})
		}
	}
	return out
}

// opinionsOfFormerPolicies returns an opinion for each policy that no longer selects an object but still has values to
// restore on it. The policy counts the object until the restore.
func (d decider) opinionsOfFormerPolicies(k *Kind, obj *workload.Object, have []Opinion) []Opinion {
	var out []Opinion
	for _, id := range d.changedBy(k, obj) {
		if p := d.w.Policy(id); p != nil && !hasOpinion(have, p) && !hasOpinion(out, p) {
			out = append(out, Opinion{Policy: p, Class: workload.ClassKeep, Left: true})
		}
	}
	return out
}

// changedBy returns the policies with something to restore on an object. If the ledger is unreadable, it also returns
// the policies of the last readable ledger.
func (d decider) changedBy(k *Kind, obj *workload.Object) []workload.Policy {
	if obj.Deleting {
		return nil
	}
	var ids []workload.Policy
	for i := range obj.Ledger {
		if obj.Ledger[i].Once == "" { // a size set once has no original to restore
			ids = append(ids, workload.ParsePolicy(obj.Ledger[i].By))
		}
	}
	if recaller, ok := d.w.(Recaller); ok && obj.LedgerError != "" {
		ids = append(ids, recaller.LastKnown(k.Ref(obj))...)
	}
	return ids
}

// Recaller is a World with the policies in the last readable form of an unreadable ledger.
type Recaller interface {
	LastKnown(workload.Ref) []workload.Policy
}

// Used is a World with the use of targets by the demand of policies.
type Used interface {
	Use(workload.Policy, workload.Ref) *workload.Use
}

// Adviser is a World with tuning advice for targets, from the usage of their pods.
type Adviser interface {
	Advice(workload.Ref) *workload.Advice
}

func hasOpinion(opinions []Opinion, p *Policy) bool {
	return slices.ContainsFunc(opinions, func(o Opinion) bool { return o.Policy.ID == p.ID })
}

// namespace returns the facts about an object's namespace. Cluster-scoped objects get an empty Namespace.
func (d decider) namespace(name string) Namespace {
	if name == "" {
		return Namespace{}
	}
	return d.w.Namespace(name)
}

// addTo adds the merge, render and wait steps to a story.
func (v *Verdict) addTo(story *Story) {
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
	if v.Gate.Order != nil {
		story.add("wait", v.Gate.Order.Why)
	}
}
