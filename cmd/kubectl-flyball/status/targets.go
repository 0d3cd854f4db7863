package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Target is an object under one policy.
type Target struct {
	Object string `json:"object"`
	Policy string `json:"policy"`
	// State is one of the states that a policy's status counts. It is "judged" if the policy only judges changes of the
	// object, and "held" for a hold by annotation.
	State string `json:"state"`
	// Since is the transition at which the policy put the object to sleep. It is absent if the policy has not done so.
	Since time.Time `json:"since,omitzero"`
	// Message explains the state, unless the state is obvious.
	Message string `json:"message,omitempty"`

	ref workload.Ref
}

// List is a list of targets.
type List struct {
	At      time.Time `json:"at"`
	Targets []Target  `json:"targets"`

	zone *time.Location
}

// TargetsInput selects the targets to list.
type TargetsInput struct {
	At   time.Time
	Zone *time.Location
	// Policy limits the list to one policy. The zero value means every policy with targets.
	Policy workload.Policy
	// Asleep limits the list to sleeping targets.
	Asleep bool
	// Keep reports whether an object is listed.
	Keep func(*workload.Object) bool
}

// stateWords are the names of the states counted by a policy.
var stateWords = map[status.Mark]string{
	status.Awake: "awake", status.Asleep: "asleep", status.AlreadyAsleep: "already asleep", status.Pending: "pending",
	status.FallingAsleep: "falling asleep",
	status.Overridden:    "overridden", status.Failed: "failed", status.Set: "set", status.Unable: "unable",
}

// TargetsOf returns the targets of a world.
func TargetsOf(memory *world.Memory, o TargetsInput) *List {
	l := &List{At: o.At, Targets: []Target{}, zone: o.Zone}
	survey := decide.NewSurvey(memory, o.At)
	memory.EachObject(func(ref workload.Ref) {
		if o.Keep(memory.Object(ref)) {
			l.add(memory, survey, ref, o)
		}
	})
	if p := memory.Find(o.Policy); p != nil && !o.Asleep {
		EachJudged(memory, p, func(ref workload.Ref) {
			if o.Keep(memory.Object(ref)) && !slices.ContainsFunc(l.Targets, func(t Target) bool { return t.ref == ref }) {
				l.Targets = append(l.Targets, Target{Object: ref.String(), Policy: p.ID.String(), State: "judged", ref: ref})
			}
		})
	}
	slices.SortFunc(l.Targets, func(a, b Target) int { return cmp.Or(a.ref.Compare(b.ref), cmp.Compare(a.Policy, b.Policy)) })
	return l
}

// EachJudged calls yield for the objects whose changes a freeze or a maintenance window judges.
func EachJudged(memory *world.Memory, p *world.Policy, yield func(workload.Ref)) {
	rule := freeze.RuleOf(p.Policy.Policy)
	if rule == nil {
		return
	}
	memory.EachObject(func(ref workload.Ref) {
		if rule.Selects(ref.GroupKind, memory.Object(ref), memory.Namespace(ref.Namespace).Labels) {
			yield(ref)
		}
	})
}

// add adds an object to the list, once for each policy that acts on it.
func (l *List) add(memory *world.Memory, survey *decide.Survey, ref workload.Ref, o TargetsInput) {
	v := survey.Target(ref)
	out := status.Outcome{}
	if v.Err != nil {
		out.Failure = v.Err.Error()
	}
	for _, m := range status.Marks(&v, out) {
		state := stateWords[m.State]
		if state == "" || o.Policy != (workload.Policy{}) && m.Policy != o.Policy || o.Asleep && !isAsleep(m.State) {
			continue
		}
		t := Target{Object: ref.String(), Policy: m.Policy.String(), State: state, Message: cmp.Or(m.Failure, m.Unable, m.Override, m.Conflict),
			ref: ref}
		switch m.State {
		case status.FallingAsleep:
			t.Since, t.Message = v.Falling.Since, v.Falling.Why
		case status.Asleep:
			t.Since = since(v.Object.Ledger, m.Policy)
		case status.Pending:
			t.Message = cmp.Or(v.Gate.Reason, v.Result.Message)
		case status.Awake:
			t.Message = cmp.Or(t.Message, l.keptAwake(memory, m.Policy, &v))
		}
		l.Targets = append(l.Targets, t)
	}
}

func isAsleep(s status.Mark) bool {
	return s == status.Asleep || s == status.FallingAsleep || s == status.AlreadyAsleep
}

// keptAwake returns the reason why an object is awake although its policy is asleep. It returns "" if the policy is
// awake.
func (l *List) keptAwake(memory *world.Memory, id workload.Policy, v *decide.Verdict) string {
	if p := memory.Find(id); p == nil || !p.State(l.At).Asleep {
		return ""
	}
	for _, o := range v.Opinions {
		if slices.Contains(o.Yielding, id) {
			return o.Policy.ID.String() + ": " + o.Policy.State(l.At).Message
		}
	}
	return "kept awake"
}

// since returns the first transition at which a policy changed a field that is still in the ledger.
func since(ledger workload.Ledger, id workload.Policy) (first time.Time) {
	for i := range ledger {
		if e := &ledger[i]; e.By == id.String() && (first.IsZero() || e.Since.Before(first)) {
			first = e.Since
		}
	}
	return first
}

// Names implements printer.Finding.
func (l *List) Names() (names []string) {
	for _, t := range l.Targets {
		if name := t.Object; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Text implements printer.Finding.
func (l *List) Text(w *printer.Writer) {
	if len(l.Targets) == 0 {
		w.Line("There are no such objects.")
		return
	}
	rows := make([][]printer.Cell, len(l.Targets))
	for i, t := range l.Targets {
		when := ""
		if !t.Since.IsZero() {
			when = printer.InstantText(t.Since, l.zone)
		}
		rows[i] = []printer.Cell{{Text: t.Object}, {Text: t.State, Style: style(t.State)}, {Text: when}, {Text: t.Policy}, {Text: t.Message}}
	}
	w.Grid("", []string{"OBJECT", "STATE", "SINCE", "POLICY", "WHY"}, rows)
	w.Line("%s", fmt.Sprintf("%s, %d asleep", workload.Count(len(l.Names()), "object"), l.asleep()))
}

func style(state string) printer.Style {
	switch state {
	case "failed":
		return printer.Bad
	case "unable", "overridden", "pending":
		return printer.Warn
	}
	return printer.Plain
}

// asleep returns the number of objects put to sleep by a policy.
func (l *List) asleep() int {
	var refs []workload.Ref
	for _, t := range l.Targets {
		if t.State == stateWords[status.Asleep] && !slices.Contains(refs, t.ref) {
			refs = append(refs, t.ref)
		}
	}
	return len(refs)
}
