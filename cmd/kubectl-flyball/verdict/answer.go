package verdict

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admit"
)

// Answer is the verdict on one change.
type Answer struct {
	Allowed bool      `json:"allowed"`
	Target  string    `json:"target"`
	Actions []string  `json:"actions"`
	User    User      `json:"user"`
	At      time.Time `json:"at"`
	// Denials are what policies have against the change, of all enforcements.
	Denials []Denial `json:"denials,omitempty"`
	// Lifts say which exceptions let through what a policy denies.
	Lifts    []Lift   `json:"lifts,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// NextAllowed is when a change that is refused is first allowed; NotBefore is, where no such time is in sight, how far was
	// looked.
	NextAllowed time.Time `json:"nextAllowed,omitzero"`
	NotBefore   time.Time `json:"notBefore,omitzero"`
	// Message is what the API server would answer to a change that is refused.
	Message string `json:"message,omitempty"`
	// Note says why the change is not judged at all.
	Note string `json:"note,omitempty"`
}

// Denial is what one policy has against a change.
type Denial struct {
	Policy      string    `json:"policy"`
	Enforcement string    `json:"enforcement"`
	Actions     []string  `json:"actions"`
	Until       time.Time `json:"until,omitzero"`
	Reason      string    `json:"reason,omitempty"`
	Contact     string    `json:"contact,omitempty"`
	DocsURL     string    `json:"docsURL,omitempty"`
}

// Lift is what one exception lets through.
type Lift struct {
	Policy    string   `json:"policy"`
	Exception string   `json:"exception"`
	Actions   []string `json:"actions"`
}

func (c *Court) answer(t source.Target, j admit.Judgement, user User, at time.Time) Answer {
	v := &j.Verdict
	a := Answer{Allowed: v.Allowed, Target: t.String(), Actions: append([]string{}, j.Request.Actions.Names()...), User: user, At: at,
		Warnings: v.Warnings, NextAllowed: v.NextAllowed, NotBefore: v.NotBefore, Message: v.Message}
	for i := range v.Denials {
		d := &v.Denials[i]
		denial := Denial{Policy: d.Policy.String(), Enforcement: string(d.Enforcement), Actions: d.Names(), Until: d.Until}
		if rule := c.memory.World().Set().Rule(d.Policy); rule != nil {
			m := rule.Message()
			denial.Reason, denial.Contact, denial.DocsURL = m.Reason, m.Contact, m.DocsURL
		}
		a.Denials = append(a.Denials, denial)
	}
	for _, l := range v.Lifts {
		a.Lifts = append(a.Lifts, Lift{Policy: l.Policy.String(), Exception: l.Exception.String(), Actions: l.Actions.Names()})
	}
	switch {
	case c.isExempt(t):
		a.Note = "nothing in namespace " + t.Namespace + " is ever judged, so that the cluster and Flyball can be repaired"
	case len(a.Actions) == 0 && len(a.Denials) == 0:
		a.Note = "this changes nothing that a freeze judges"
	}
	return a
}

// Unjudged is the answer to a change of a kind that no adapter speaks of.
func Unjudged(t source.Target, user User, at time.Time) Answer {
	return Answer{Allowed: true, Target: t.String(), Actions: []string{}, User: user, At: at,
		Note: "no adapter speaks of " + t.GroupKind.String() + ", so no freeze judges it"}
}

// Answers are the verdicts on some changes.
type Answers struct {
	Allowed bool     `json:"allowed"`
	Answers []Answer `json:"answers"`

	// Zone is that in which instants are shown.
	Zone *time.Location `json:"-"`
}

// Names implements report.Finding.
func (all Answers) Names() []string {
	names := make([]string, len(all.Answers))
	for i, a := range all.Answers {
		names[i] = a.Target
	}
	return names
}

// Text implements report.Finding.
func (all Answers) Text(w *report.Writer) {
	for i, a := range all.Answers {
		if i > 0 {
			w.Line("")
		}
		a.text(w, all.Zone)
	}
}

func (a Answer) text(w *report.Writer, zone *time.Location) {
	word, style := "yes", report.Good
	if !a.Allowed {
		word, style = "no", report.Bad
	}
	what := strings.Join(a.Actions, ", ")
	if what == "" {
		what = "change"
	}
	who := a.User.Name
	if who == "" {
		who = "anybody"
	}
	w.Line("%s: %s %s by %s at %s", w.Styled(word, style), what, a.Target, who, instant.Text(a.At, zone))
	if a.Note != "" {
		w.Line("  %s", a.Note)
	}
	for _, d := range a.Denials {
		w.Line("  %s", d.text(zone))
	}
	for _, l := range a.Lifts {
		w.Line("  %s lets %s through, which %s denies", l.Exception, strings.Join(l.Actions, ", "), l.Policy)
	}
	if len(a.Denials) == 0 { // else each policy that warns has its line already
		for _, text := range a.Warnings {
			w.Line("  %s", w.Styled("warning: "+text, report.Warn))
		}
	}
	if a.Allowed {
		return
	}
	switch {
	case !a.NextAllowed.IsZero():
		w.Line("  next allowed: %s", w.Styled(instant.Text(a.NextAllowed, zone), report.Bold))
	case !a.NotBefore.IsZero():
		w.Line("  not allowed before %s", instant.Text(a.NotBefore, zone))
	default:
		w.Line("  no later time is known at which it will be allowed")
	}
}

func (d Denial) text(zone *time.Location) string {
	text := d.Policy
	switch d.Enforcement {
	case "Deny":
		text += " denies " + strings.Join(d.Actions, ", ")
	case "Warn":
		text += " only warns of " + strings.Join(d.Actions, ", ")
	default:
		text += " only records " + strings.Join(d.Actions, ", ")
	}
	if d.Until.IsZero() {
		text += ", with no end"
	} else {
		text += " until " + instant.Text(d.Until, zone)
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	if d.Contact != "" {
		text += fmt.Sprintf(" (contact %s)", d.Contact)
	}
	if d.DocsURL != "" {
		text += ", see " + d.DocsURL
	}
	return text
}
