package cani

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/admission/evaluate"
)

// Answers holds the verdicts on several changes.
type Answers struct {
	Allowed bool `json:"allowed"`
	// Undecided is true if changes are refused, all only because of lost events of calendars.
	Undecided bool              `json:"undecided,omitempty"`
	Answers   []evaluate.Answer `json:"answers"`

	// Zone is the time zone of the printed times.
	Zone *time.Location `json:"-"`
}

// All returns the answers together. They count as allowed if every change is allowed.
func All(answers []evaluate.Answer, zone *time.Location) Answers {
	all := Answers{Allowed: true, Answers: answers, Zone: zone}
	for _, a := range answers {
		all.Allowed = all.Allowed && a.Allowed
	}
	all.Undecided = !all.Allowed && !slices.ContainsFunc(answers, func(a evaluate.Answer) bool { return !a.Allowed && !a.Undecided })
	return all
}

// Names implements printer.Finding.
func (all Answers) Names() []string {
	names := make([]string, len(all.Answers))
	for i, a := range all.Answers {
		names[i] = a.Target
	}
	return names
}

// Text implements printer.Finding.
func (all Answers) Text(w *printer.Writer) {
	for i, a := range all.Answers {
		if i > 0 {
			w.Line("")
		}
		text(w, a, all.Zone)
	}
}

// Word returns the verdict in a word, and its style.
func Word(a evaluate.Answer) (string, printer.Style) {
	switch {
	case a.Allowed:
		return "yes", printer.Good
	case a.Undecided:
		return "cannot say", printer.Warn
	}
	return "no", printer.Bad
}

func text(w *printer.Writer, a evaluate.Answer, zone *time.Location) {
	word, style := Word(a)
	what, who := cmp.Or(strings.Join(a.Actions, ", "), "change"), cmp.Or(a.User.Name, "anybody")
	w.Line("%s: %s %s by %s at %s", w.Styled(word, style), what, a.Target, who, printer.InstantText(a.At, zone))
	if a.Note != "" {
		w.Line("  %s", a.Note)
	}
	for _, d := range a.Denials {
		w.Line("  %s", DenialText(d, zone))
	}
	for _, l := range a.Lifts {
		w.Line("  %s lets %s through, which %s denies", l.Exception, strings.Join(l.Actions, ", "), l.Policy)
	}
	for _, f := range a.Finishes {
		w.Line("  %s denies %s, and lets this controller finish the roll-out until %s", f.Policy, strings.Join(f.Actions, ", "),
			printer.InstantText(f.Until, zone))
	}
	if len(a.Denials) == 0 { // otherwise each policy that warns has a line above
		for _, text := range a.Warnings {
			w.Line("  %s", w.Styled("warning: "+text, printer.Warn))
		}
	}
	if a.Allowed {
		return
	}
	switch {
	case !a.NextAllowed.IsZero():
		w.Line("  next allowed: %s", w.Styled(printer.InstantText(a.NextAllowed, zone), printer.Bold))
	case !a.NotBefore.IsZero():
		w.Line("  not allowed before %s", printer.InstantText(a.NotBefore, zone))
	default:
		w.Line("  no later time is known at which it will be allowed")
	}
}

// DenialText returns one line about a denial: the policy, the end of the denial and the reason.
func DenialText(d evaluate.Denial, zone *time.Location) string {
	line := d.Policy
	switch d.Enforcement {
	case "Deny":
		line += " denies " + strings.Join(d.Actions, ", ")
	case "Warn":
		line += " only warns of " + strings.Join(d.Actions, ", ")
	default:
		line += " only records " + strings.Join(d.Actions, ", ")
	}
	if d.Until.IsZero() {
		line += ", with no end"
	} else {
		line += " until " + printer.InstantText(d.Until, zone)
	}
	if !d.LetFinish.IsZero() {
		line += " (controllers may finish roll-outs until " + printer.InstantText(d.LetFinish, zone) + ")"
	}
	if d.Doubt != "" {
		line += "; it cannot be said whether changes are frozen then, because of " + d.Doubt
	}
	if d.Reason != "" {
		line += ": " + d.Reason
	}
	if d.Contact != "" {
		line += fmt.Sprintf(" (contact %s)", d.Contact)
	}
	if d.DocsURL != "" {
		line += ", see " + d.DocsURL
	}
	return line
}
