package evaluate

import (
	"slices"
	"time"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Answer is the verdict on a change.
type Answer struct {
	Allowed bool `json:"allowed"`
	// Undecided is true if the change is refused only because of lost events of calendars.
	Undecided bool      `json:"undecided,omitempty"`
	Target    string    `json:"target"`
	Actions   []string  `json:"actions"`
	User      User      `json:"user"`
	At        time.Time `json:"at"`
	// Denials are the denials of policies of every enforcement.
	Denials []Denial `json:"denials,omitempty"`
	// Lifts are the exceptions that allow a denied change.
	Lifts []Lift `json:"lifts,omitempty"`
	// Finishes are the policies that allow a denied change by spec.letFinish, for a roll-out that began before the freeze.
	Finishes []Finish `json:"finishes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// NextAllowed is the time when a refused change is first allowed. If no such time was found, NotBefore is the
	// end of the searched period.
	NextAllowed time.Time `json:"nextAllowed,omitzero"`
	NotBefore   time.Time `json:"notBefore,omitzero"`
	// Message is the API server's answer to a refused change.
	Message string `json:"message,omitempty"`
	// Note is the reason why no policy denies the change.
	Note string `json:"note,omitempty"`
}

// Denial is the denial of a policy.
type Denial struct {
	Policy      string    `json:"policy"`
	Enforcement string    `json:"enforcement"`
	Actions     []string  `json:"actions"`
	Until       time.Time `json:"until,omitzero"`
	// Doubt names the lost events of calendars if the denial depends on them.
	Doubt   string `json:"doubt,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Contact string `json:"contact,omitempty"`
	DocsURL string `json:"docsURL,omitempty"`
	// LetFinish is the time until which controllers may finish roll-outs that began before the freeze.
	LetFinish time.Time `json:"letFinish,omitzero"`
}

// Finish is the effect of one policy's spec.letFinish.
type Finish struct {
	Policy  string    `json:"policy"`
	Actions []string  `json:"actions"`
	Until   time.Time `json:"until"`
}

// Lift is the effect of one exception.
type Lift struct {
	Policy    string   `json:"policy"`
	Exception string   `json:"exception"`
	Actions   []string `json:"actions"`
}

func (e *Evaluator) answer(req Inquiry, j freezeadmission.Judgement) Answer {
	v := &j.Verdict
	a := Answer{Allowed: v.Allowed, Undecided: v.Undecided(), Target: req.Target.String(),
		Actions: append([]string{}, j.Request.Actions.Names()...), User: req.User, At: req.At,
		Warnings: v.Warnings, NextAllowed: v.NextAllowed, NotBefore: v.NotBefore, Message: v.Message}
	set := e.Judge.Freezes.Set()
	for i := range v.Denials {
		d := &v.Denials[i]
		denial := Denial{Policy: d.Policy.String(), Enforcement: string(d.Enforcement), Actions: d.Names(), Until: d.Until, Doubt: d.Doubt}
		if rule := set.Rule(d.Policy); rule != nil {
			m := rule.Message()
			denial.Reason, denial.Contact, denial.DocsURL = m.Reason, m.Contact, m.DocsURL
			if d.Actions&(workload.ChangeRollOut|workload.ChangeScale) != 0 {
				denial.LetFinish = rule.LetFinish(req.At)
			}
		}
		a.Denials = append(a.Denials, denial)
	}
	for _, l := range v.Lifts {
		a.Lifts = append(a.Lifts, Lift{Policy: l.Policy.String(), Exception: l.Exception.String(), Actions: l.Actions.Names()})
	}
	for _, f := range v.Finishes {
		a.Finishes = append(a.Finishes, Finish{Policy: f.Policy.String(), Actions: f.Actions.Names(), Until: f.Until})
	}
	switch {
	case e.isExempt(req.Target):
		a.Note = "nothing in namespace " + req.Target.Namespace + " is ever judged, so that the cluster and Flyball can be repaired"
	case len(a.Denials) > 0 || len(a.Lifts) > 0 || len(a.Finishes) > 0:
	case len(a.Actions) == 0:
		a.Note = "this changes nothing that a freeze judges"
	default:
		a.Note = unopposed(set, j.Request)
	}
	return a
}

// unopposed returns the reason why no freeze denies a change.
func unopposed(set *freeze.Set, req freeze.UserChange) string {
	whatever := req
	whatever.Actions = ^workload.Change(0)
	const others = " judges only the changes of other users (spec.subjects, spec.excludeSubjects)"
	spared := set.Sparing(req)
	switch {
	case freeze.ControlPlane(req.User):
		return "changes by the control plane are never judged"
	case req.Terminating:
		return "its namespace is being deleted, so nothing in it is judged"
	case req.Deleting && req.Actions == workload.ChangeDelete:
		return "it is being deleted already"
	case slices.ContainsFunc(spared, isActive(req.Now)):
		return spared[slices.IndexFunc(spared, isActive(req.Now))].ID().String() + others
	case len(set.Concerning(req)) > 0:
		return "no freeze that selects it is in force at that time"
	case len(set.Concerning(whatever)) > 0:
		return "no freeze that selects it denies this"
	}
	if spared = set.Sparing(whatever); len(spared) > 0 {
		return spared[0].ID().String() + others
	}
	return "no freeze selects it, now or later"
}

func isActive(now time.Time) func(*freeze.Rule) bool {
	return func(r *freeze.Rule) bool {
		active, _, _ := r.Active(now)
		return active
	}
}

// unjudged returns the answer to a change of a kind without an adapter.
func unjudged(req Inquiry) Answer {
	return Answer{Allowed: true, Target: req.Target.String(), Actions: []string{}, User: req.User, At: req.At,
		Note: "there is no adapter for " + req.Target.GroupKind.String() + ", so no freeze judges it"}
}
