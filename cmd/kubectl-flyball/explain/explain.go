// Package explain describes one object at an instant: the deciding policies and their reasons, the policies that
// nearly select it, its originals, the causes of waiting, and the next changes. Every part comes from the decision that the
// manager would make at that instant, and from a simulation of the time after it. The package decides nothing itself.
package explain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Explanation is the description of one object.
type Explanation struct {
	Target string    `json:"target"`
	At     time.Time `json:"at"`
	// Hypothetical is a remark that the instant lies in the past. It is absent for other instants.
	Hypothetical string `json:"hypothetical,omitempty"`
	// State is the state of the object: awake, asleep, falling_asleep, already_asleep, overridden, set or unable, or pending while a write
	// is still to be made. It is absent if nothing can be decided about the object.
	State string `json:"state,omitempty"`
	// Summary is the explanation in one line.
	Summary string `json:"summary"`
	// Winner is the policy that decides, and Reason is its reason; both are absent if no policy decides.
	Winner string `json:"winner,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Pending describes the writes that are still to be made. Waits is the cause for which these writes wait.
	Pending string `json:"pending,omitempty"`
	Waits   *Wait  `json:"waits,omitempty"`
	// Recording is true if a pending write changes only the ledger.
	Recording bool `json:"-"`
	// Claims are the values of the merged plan, by facet.
	Claims   []Claim  `json:"claims,omitempty"`
	Policies []Policy `json:"policies,omitempty"`
	// Overruled are the conflicts between policies, each with the winner, the loser and the reason.
	Overruled []Conflict `json:"overruled,omitempty"`
	// Nearly are the policies whose selector misses the object by a single term. If no policy selects the object, Nearly has
	// all policies that could select it.
	Nearly []Near `json:"nearly,omitempty"`
	// Ledger has the fields that Flyball changed, with their originals.
	Ledger []Entry `json:"ledger,omitempty"`
	// GovernedBy are the autoscalers of the object. Governs is the target of the object, if the object is an autoscaler.
	GovernedBy []Relation `json:"governedBy,omitempty"`
	Governs    *Relation  `json:"governs,omitempty"`
	// AppliedBy are the objects of GitOps tools whose record lists the object. They are known only if a policy holds owners.
	AppliedBy []Relation `json:"appliedBy,omitempty"`
	// Unheld has the reasons why policies with holdOwner hold no object of a GitOps tool for the object.
	Unheld []string `json:"unheld,omitempty"`
	// Next are the next changes, at most three.
	Next []Change `json:"next"`
	// Steps are the steps of the decision that follow the pipelines of the policies.
	Steps []Line `json:"steps,omitempty"`
	// Freezes are the answers, one for each action, whether the action is allowed now.
	Freezes []evaluate.Answer `json:"freezes,omitempty"`
	Notes   []string          `json:"notes,omitempty"`

	// also are the policies that keep the object awake beside Winner, if none asks for anything else.
	also []string
	// unreadable is true if a policy that could select the object cannot be read.
	unreadable bool
	zone       *time.Location
}

// Wait is the reason why a write waits.
type Wait struct {
	Reason string `json:"reason"`
	// Since is the instant since which the write waits for a wave of its order. It is absent if the instant is not known.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
}

// Claim is one value of the merged plan.
type Claim struct {
	Facet string    `json:"facet"`
	Value string    `json:"value"`
	By    string    `json:"by"`
	Since time.Time `json:"since,omitzero"`
}

// Policy is the trace of one policy, step by step.
type Policy struct {
	Policy string `json:"policy"`
	// Asks is the policy's claim in a word: sleep, awake, set, hold, keep, or nothing.
	Asks  string `json:"asks"`
	Steps []Line `json:"steps,omitempty"`
	Error string `json:"error,omitempty"`
	// Batch is the policy's rate limit, in words.
	Batch string `json:"batch,omitempty"`
	// Wave is the object's wave in the policy's order.
	Wave string `json:"wave,omitempty"`
}

// Line is the trace of one step.
type Line = pipeline.Line

// Conflict is a disagreement of two policies about one facet, with the winner and the loser.
type Conflict struct {
	Winner string `json:"winner"`
	Loser  string `json:"loser"`
	Facet  string `json:"facet"`
	Reason string `json:"reason"`
}

// Near is a policy that does not select the object.
type Near struct {
	Policy string `json:"policy"`
	// Fails are the terms of the policy's selector that the object does not fulfil.
	Fails []Fail `json:"fails"`
}

// Fail is a term of a selector that an object does not fulfil.
type Fail = selector.Mismatch

// Entry is a field changed by Flyball.
type Entry struct {
	Field string    `json:"field"`
	Was   string    `json:"was,omitempty"`
	Set   string    `json:"set,omitempty"`
	By    string    `json:"by"`
	Since time.Time `json:"since,omitzero"`
	// Text is the entry in words.
	Text string `json:"text"`
}

// Relation is another object: an autoscaler that governs the explained object, or a target that the explained object
// governs.
type Relation struct {
	Target string `json:"target"`
	// Text is the state of the other object in words.
	Text string `json:"text"`
}

// Change is one change to come.
type Change struct {
	At      time.Time `json:"at"`
	Message string    `json:"message"`
	By      string    `json:"by"`
}

// Input choose the explained object and instant.
type Input struct {
	At time.Time
	// Now is the instant at which the objects were read. The zero time means At. Writes between Now and At are simulated.
	Now  time.Time
	Zone *time.Location
	// User is the account for which freezes are evaluated.
	User evaluate.User
	// FlyballNamespace is the namespace of the manager.
	FlyballNamespace string
	// Ask gives the use of targets to the world, and returns notes. Nil: the use is unknown.
	Ask func(context.Context, *world.World) ([]string, error)
}

// Teller explains the objects of one compiled world.
type Teller struct {
	world  *source.World
	memory *world.Memory
}

// NewTeller compiles a world. The error names the objects that cannot be read.
func NewTeller(w *source.World) (*Teller, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	return &Teller{world: w, memory: memory}, nil
}

// Each calls yield for all objects with their JSON, in no particular order.
func (t *Teller) Each(yield func(workload.Ref, []byte)) {
	t.memory.EachObject(func(ref workload.Ref) { yield(ref, t.memory.Raw(ref)) })
}

// Of returns the explanation of one object of a world, as Teller.Of does.
func Of(ctx context.Context, w *source.World, target source.Target, o Input) (*Explanation, error) {
	t, err := NewTeller(w)
	if err != nil {
		return nil, err
	}
	return t.Of(ctx, target, o)
}

// Of returns the explanation of one object. A missing object is an error.
func (t *Teller) Of(ctx context.Context, target source.Target, o Input) (*Explanation, error) {
	if t.memory.Raw(target.Ref) == nil {
		return nil, t.world.Missing(target.Ref)
	}
	e := &Explanation{Target: target.String(), At: o.At, Hypothetical: source.Hypothetical(o.Now, o.At), Next: []Change{},
		Notes: slices.Clone(t.world.Notes), zone: o.Zone}
	if o.Ask != nil {
		notes, err := o.Ask(ctx, t.memory.World())
		if err != nil {
			return nil, err
		}
		e.Notes = append(e.Notes, notes...)
	}
	memory, err := e.reach(t.memory, target.Ref, source.RunUp(o.Now, o.At))
	if err != nil {
		return nil, err
	}
	var story decide.Story
	v := decide.Target(memory, target.Ref, o.At, &story)
	if v.Object == nil {
		e.Summary = "its kind is not in use, so nothing is decided about it"
		return e, nil
	}
	e.policies(memory, &v, &story)
	e.decided(&v)
	if why := v.Kind.Adapter.Paused(v.Object); why != "" {
		e.Notes = append(e.Notes, why+": its controller does not act, so its pods do not follow the object")
	}
	e.ledger(v.Object)
	e.relations(memory, target.Ref, o.At)
	e.owners(memory, &v, o.At)
	e.nearly(memory, &v)
	e.summarize(&v)
	if err := e.foresee(memory, target.Ref, &v); err != nil {
		return nil, err
	}
	return e, e.judge(ctx, t.memory, target, o)
}

// policies adds the trace of each policy.
func (e *Explanation) policies(memory *world.Memory, v *decide.Verdict, story *decide.Story) {
	for _, told := range story.Policies {
		p := Policy{Policy: told.Policy.String(), Asks: "nothing", Steps: slices.Clone(told.Trace.Lines)}
		if told.Err != nil {
			p.Error = told.Err.Error()
		}
		if known := memory.Policy(told.Policy); known != nil {
			p.Batch, p.Wave = batchText(known), decide.WaveOf(memory, known, v.Kind, v.Object)
		}
		if i := slices.IndexFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.ID == told.Policy }); i >= 0 {
			p.Asks = asks(&v.Opinions[i], len(told.Trace.Lines))
		}
		e.Policies = append(e.Policies, p)
	}
	for _, o := range v.Opinions {
		id := o.Policy.ID.String()
		switch {
		case o.Control.Exists():
			e.Policies = append(e.Policies, Policy{Policy: id, Asks: "nothing", Steps: []Line{{Step: "controller", Text: o.Alone}}})
		case o.Alone != "":
			e.Policies = append(e.Policies, Policy{Policy: id, Asks: "nothing", Steps: []Line{{Step: "itself", Text: o.Alone}}})
		case o.OnBehalf:
			e.Policies = append(e.Policies, Policy{Policy: id, Asks: onBehalf(v, o.Policy.ID), Steps: []Line{behalf(memory, v, &o, e.At)}})
		case o.Left:
			e.Policies = append(e.Policies, Policy{Policy: id, Asks: "nothing",
				Steps: []Line{{Step: "left", Text: "no longer selects the object, and has values to restore"}}})
		}
	}
	for _, s := range decide.SizedBy(memory, v.Kind.Ref(v.Object)) {
		if !e.traces(s.Policy.ID) {
			e.Policies = append(e.Policies, sized(v, &s, e.At))
		}
	}
	slices.SortFunc(e.Policies, func(a, b Policy) int { return strings.Compare(a.Policy, b.Policy) })
	e.Steps = slices.Clone(story.Lines)
}

// traces reports whether the explanation has the trace of a policy.
func (e *Explanation) traces(id workload.Policy) bool {
	return slices.ContainsFunc(e.Policies, func(have Policy) bool { return have.Policy == id.String() })
}

// sized returns the trace of a policy with a size for the object, through its autoscaler.
func sized(v *decide.Verdict, s *decide.Sizing, at time.Time) Policy {
	p := Policy{Policy: s.Policy.ID.String(), Asks: "nothing", Steps: []Line{{Step: "autoscaler",
		Text: fmt.Sprintf("selects %s, which scales this object: %s", s.Autoscaler, s.Policy.State(at).Message)}}}
	if size := v.Plan.Size; size != nil && size.By == s.Policy.ID {
		p.Asks = "set"
	}
	return p
}

func asks(o *decide.Opinion, steps int) string {
	switch {
	case o.Err != nil:
		return "keep"
	case o.Reached && o.Policy.Override.Effect == v1alpha1.OverrideAwake:
		return "awake"
	case o.Silent:
		return "nothing"
	}
	switch o.Class {
	case workload.ClassSleep:
		return "sleep"
	case workload.ClassAwake:
		return "awake"
	case workload.ClassKeep:
		return "keep"
	case workload.ClassOrphan:
		return "orphan"
	}
	if steps < 2 { // an idle trigger stops at the step window
		return "nothing"
	}
	return "set"
}

// onBehalf returns the claim on this object of a policy that decides about an object governed by this one: hold, set or
// nothing.
func onBehalf(v *decide.Verdict, id workload.Policy) string {
	switch {
	case v.Plan.Hold != nil && v.Plan.Hold.By == id || v.Kind.Adapter.CanOwn():
		return "hold"
	case needsNoHold(v):
		return "nothing"
	}
	return "set"
}

// behalf returns the reason why a policy that does not select this object has a claim on it.
func behalf(memory *world.Memory, v *decide.Verdict, o *decide.Opinion, at time.Time) Line {
	if !v.Kind.Adapter.CanOwn() {
		return Line{Step: "autoscaler", Text: autoscalerText(v)}
	}
	return Line{Step: "owner", Text: fmt.Sprintf("%s; it has holdOwner, and objects sleep that this one applies, which %s",
		o.Policy.State(at).Message, stateOfOwner(memory, o.Policy.ID, v.Kind.Ref(v.Object)))}
}

// stateOfOwner returns the state of an owner of targets of a policy.
func stateOfOwner(memory *world.Memory, id workload.Policy, owner workload.Ref) string {
	if p := memory.Find(id); p != nil {
		for _, o := range memory.OwnersOf(p) {
			if o.Ref == owner {
				return o.State()
			}
		}
	}
	return "has no target of " + id.String() + " any more"
}

func autoscalerText(v *decide.Verdict) string {
	if governed, ok := v.Kind.Adapter.Governs(v.Object); ok {
		return fmt.Sprintf("decides about %s, which this object governs", governed)
	}
	return "decides about the object that this autoscaler scales"
}

func batchText(p *decide.Policy) string {
	var parts []string
	if p.Down.Batch > 0 {
		parts = append(parts, fmt.Sprintf("at most %s down, then none for %s", workload.Count(p.Down.Batch, "change"), p.Down.Delay))
	}
	if p.Up.Batch > 0 {
		parts = append(parts, fmt.Sprintf("at most %s up, then none for %s", workload.Count(p.Up.Batch, "change"), p.Up.Delay))
	}
	return strings.Join(parts, "; ")
}

// decided adds the merged plan, the pending writes and the causes of their waiting.
func (e *Explanation) decided(v *decide.Verdict) {
	claim := func(facet, value string, by workload.Policy, since time.Time) {
		e.Claims = append(e.Claims, Claim{Facet: facet, Value: value, By: by.String(), Since: since})
	}
	if c := v.Plan.Size; c != nil {
		claim("size", sizeText(c.Value), c.By, c.Since)
	}
	if c := v.Plan.Min; c != nil {
		claim("min", fmt.Sprint(c.Value), c.By, c.Since)
	}
	if c := v.Plan.Max; c != nil {
		claim("max", fmt.Sprint(c.Value), c.By, c.Since)
	}
	if c := v.Plan.Hold; c != nil {
		claim("hold", "held", c.By, c.Since)
	}
	for _, key := range workload.SortedAmounts(v.Plan.Amounts) {
		c := v.Plan.Amounts[key]
		claim(key.String(), key.Text(c.Value), c.By, c.Since)
	}
	for _, key := range slices.Sorted(maps.Keys(v.Plan.Annotations)) {
		c := v.Plan.Annotations[key]
		claim(key, c.Value, c.By, c.Since)
	}
	for _, c := range v.Conflicts {
		e.Overruled = append(e.Overruled, Conflict{Winner: c.Winner.String(), Loser: c.Loser.String(), Facet: c.Facet, Reason: c.Reason})
	}
	slices.SortFunc(e.Overruled, func(a, b Conflict) int {
		return strings.Compare(a.Facet+"\x00"+a.Winner+"\x00"+a.Loser, b.Facet+"\x00"+b.Winner+"\x00"+b.Loser)
	})
	if v.Err == nil && v.Result.Patch != nil {
		e.Pending, e.Recording = v.Result.Message, v.Result.Message == ""
	}
	if v.Gate.Kind != decide.GateOpen {
		e.Waits = &Wait{Reason: v.Gate.Reason, Until: v.Gate.Until}
		if h := v.Gate.Order; h != nil {
			e.Waits.Reason += ": " + h.Why
			if h.Since.Before(e.At) { // otherwise no earlier write has waited for this wave
				e.Waits.Since = h.Since
			}
		}
	}
}

func sizeText(s workload.Size) string {
	switch s.Mode {
	case workload.SizeSleep:
		return "asleep: suspended, or every count at its minimum"
	case workload.SizeAtMost:
		return fmt.Sprintf("at most %d", s.Replicas)
	case workload.SizePercent:
		return fmt.Sprintf("%d%%", s.Percent)
	case workload.SizeExactly:
		return fmt.Sprint(s.Replicas)
	default:
		return "as its owner has it"
	}
}

// nearly adds the policies that do not select the object although their authors perhaps meant it.
func (e *Explanation) nearly(memory *world.Memory, v *decide.Verdict) {
	ns := memory.Namespace(v.Object.Namespace)
	e.unreadable = memory.HasBroken(v.Object.Namespace, func(p *world.Policy) bool { return p.Kind.ActsOnTargets() })
	memory.Policies(func(p *world.Policy) bool {
		if e.traces(p.ID) || !p.Kind.ActsOnTargets() || p.IsBroken() {
			return true
		}
		fails := p.Target.Mismatches(v.Kind.GroupKind, v.Object, ns.Labels)
		if len(fails) == 1 && fails[0].Term == "target" {
			return true // a freeze that suspends nothing has no targets to select
		}
		if !v.Kind.Can(p.Needs) {
			fails = append(fails, Fail{Term: "capability", Why: fmt.Sprintf("the policy needs one of %s, and the kind has only %s", listed(p.Needs),
				listed(v.Kind.Capabilities))})
		}
		foreign := p.ID.Namespace != "" && p.ID.Namespace != v.Object.Namespace
		if len(fails) == 1 && !foreign || len(fails) > 0 && !foreign && len(e.Policies) == 0 {
			e.Nearly = append(e.Nearly, Near{Policy: p.ID.String(), Fails: fails})
		}
		return true
	})
	slices.SortFunc(e.Nearly, func(a, b Near) int { return strings.Compare(a.Policy, b.Policy) })
}

// relations adds the autoscalers of the object, and the object that it governs.
func (e *Explanation) relations(memory *world.Memory, ref workload.Ref, at time.Time) {
	for _, g := range memory.Autoscalers(ref) {
		e.GovernedBy = append(e.GovernedBy, relationTo(memory, g, at))
	}
	obj, kind := memory.Object(ref), memory.Kind(ref.GroupKind)
	if governed, ok := kind.Adapter.Governs(obj); ok {
		r := relationTo(memory, memory.Referent(governed), at)
		e.Governs = &r
	}
}

// owners adds the objects of GitOps tools that apply the object, with the effect of the policies that hold them.
func (e *Explanation) owners(memory *world.Memory, v *decide.Verdict, at time.Time) {
	all, _ := memory.Owners(v.Kind.Ref(v.Object))
	for _, o := range v.Opinions {
		if !o.Policy.HoldsOwners || o.OnBehalf || len(all) > 0 || v.Kind.Adapter.CanOwn() {
			continue
		}
		why := "no Application, Kustomization or HelmRelease for this cluster has it in its record"
		if !memory.HoldsOwners() {
			why = world.NoOwnerAdapter
		}
		e.Unheld = append(e.Unheld, fmt.Sprintf("%s has holdOwner and holds nothing for it: %s", o.Policy.ID, why))
	}
	for _, owner := range all {
		r := relationTo(memory, owner, at)
		for _, o := range v.Opinions {
			if o.Policy.HoldsOwners && !o.OnBehalf {
				r.Text += fmt.Sprintf("; for %s it %s", o.Policy.ID, stateOfOwner(memory, o.Policy.ID, owner))
			}
		}
		e.AppliedBy = append(e.AppliedBy, r)
	}
}

// relationTo returns another object with its state in words.
func relationTo(memory *world.Memory, other workload.Ref, at time.Time) Relation {
	v := decide.Target(memory, other, at, nil)
	switch {
	case v.Object == nil:
		return Relation{other.String(), "it is not there"}
	case v.Err != nil:
		return Relation{other.String(), v.Err.Error()}
	}
	text := v.Result.State.String()
	if isPending(&v) {
		text = "about to be " + text
	}
	switch {
	case needsNoHold(&v):
		text = "as its owner has it, " + noHoldText
	case v.Plan.Hold != nil && v.Result.State == workload.StateUnable:
		text = "as its owner has it, " + unheldText
	case v.Plan.Hold != nil:
		text += ", held by " + v.Plan.Hold.By.String()
	}
	if v.Result.Patch != nil && v.Result.Message != "" {
		text += ", still to write: " + v.Result.Message
	}
	return Relation{other.String(), text}
}

func (e *Explanation) when(t time.Time) string { return printer.InstantText(t, e.zone) }
