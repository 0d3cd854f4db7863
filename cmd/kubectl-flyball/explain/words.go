package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/cani"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/engine/workload"
)

// listed returns a list of capabilities as text.
func listed(all []v1alpha1.Capability) string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// isPending reports whether a write to the object is still to be made, apart from one to its ledger alone. The object
// then does not have the state of the result yet.
func isPending(v *decide.Verdict) bool {
	return v.Err == nil && v.Result.Patch != nil && v.Result.Message != ""
}

// stateOf returns the present state of an object.
func stateOf(v *decide.Verdict) string {
	if isPending(v) {
		return "pending"
	}
	return v.Result.State.String()
}

// summarize sets the winner and the summary.
func (e *Explanation) summarize(v *decide.Verdict) {
	e.State = stateOf(v)
	switch {
	case v.Err != nil:
		e.State, e.Summary = "", v.Err.Error()
		return
	case len(e.Claims) > 0:
		e.Winner = e.Claims[0].By
	case len(v.Plan.Keep) > 0 && len(e.Ledger) > 0:
		e.Winner = e.Ledger[0].By
	case needsNoHold(v):
		e.Winner = v.Opinions[slices.IndexFunc(v.Opinions, isOnBehalf)].Policy.ID.String()
	case len(e.Overruled) > 0:
		e.Winner = e.Overruled[0].Winner
	default:
		for _, p := range e.Policies {
			switch {
			case p.Asks != "awake":
			case e.Winner == "":
				e.Winner = p.Policy
			default:
				e.also = append(e.also, p.Policy)
			}
		}
	}
	e.Reason = e.reason()
	text := e.stateText(v)
	if e.Pending != "" {
		text = "about to be " + text
	}
	if e.Winner != "" {
		text += ", because of " + e.Winner
		switch n := len(e.also); {
		case n == 1:
			text += " and " + e.also[0]
		case n > 1:
			text += fmt.Sprintf(" and %d others", n)
		}
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	e.Summary = text
}

// reason returns the reason of the winner, and how it overrules other policies.
func (e *Explanation) reason() string {
	if e.Winner == "" {
		switch {
		case len(e.Steps) > 0 && e.Steps[0].Step == "ask":
			return strings.TrimPrefix(e.Steps[0].Text, "no policy: ")
		case len(e.Policies) == 0 && e.unreadable:
			return "no policy that can be read selects it"
		case len(e.Policies) == 0:
			return "no policy selects it"
		default:
			return "no policy asks anything of it"
		}
	}
	var parts []string
	for _, p := range e.Policies {
		if p.Policy == e.Winner && len(p.Steps) > 0 {
			parts = append(parts, p.Steps[0].Text)
		}
	}
	for _, c := range e.Overruled {
		if c.Winner == e.Winner {
			parts = append(parts, fmt.Sprintf("it overrules %s by %s", c.Loser, reasonText(c.Reason)))
		}
	}
	return strings.Join(parts, "; ")
}

func reasonText(reason string) string {
	switch reason {
	case "capacity":
		return "asking for more capacity"
	case "priority":
		return "its higher priority"
	case "mandatory":
		return "being a freeze"
	case "override":
		return "being an Override"
	default:
		return reason
	}
}

func (e *Explanation) stateText(v *decide.Verdict) string {
	switch v.Result.State {
	case workload.StateAsleep:
		return "asleep"
	case workload.StateFallingAsleep:
		return fmt.Sprintf("falling asleep since %s (%s)", e.when(v.Falling.Since), v.Falling.Why)
	case workload.StateOverridden:
		return "changed by another writer: the value stays until the next transition"
	case workload.StateSet:
		if v.Plan.Hold != nil && e.Winner == v.Plan.Hold.By.String() && isOverride(v.Plan.Hold.By) {
			return "held"
		}
		return "set"
	case workload.StateAlreadyAsleep:
		return "left alone (" + v.Result.Message + ")"
	case workload.StateUnable:
		if v.Plan.Hold != nil {
			return "as its owner has it, " + unheldText
		}
		return "left alone (" + v.Result.Message + ")"
	}
	if needsNoHold(v) {
		return "as its owner has it, " + noHoldText
	}
	return "as its owner has it"
}

// isOverride reports whether a policy is an Override.
func isOverride(id workload.Policy) bool {
	return id.Kind == override.Kind || id.Kind == override.ClusterKind
}

const (
	noHoldText = "which its adapter says needs no holding"
	unheldText = "because its adapter has no way to hold it: it may act on its own"
)

// needsNoHold reports whether an object is an autoscaler that leaves its sleeping target alone, so that the policy of the
// target claims nothing of it.
func needsNoHold(v *decide.Verdict) bool {
	p := &v.Plan
	_, governs := v.Kind.Adapter.Governs(v.Object)
	return governs && slices.ContainsFunc(v.Opinions, isOnBehalf) && p.Hold == nil && p.Min == nil && p.Max == nil &&
		v.Kind.Adapter.Can(v1alpha1.CapabilityHold) && !v.Kind.Adapter.Observe(v.Object).WakesFromZero
}

func isOnBehalf(o decide.Opinion) bool { return o.OnBehalf }

// ledger adds the changed fields with their originals.
func (e *Explanation) ledger(obj *workload.Object) {
	if obj.LedgerError != "" {
		e.Notes = append(e.Notes, "its ledger cannot be read, so it is never written: "+obj.LedgerError)
	}
	for i := range obj.Ledger {
		en := &obj.Ledger[i]
		label := path.Pointer(en.Pointer).Last()
		if en.Element != "" {
			label = en.Element + " " + label
		}
		was := en.Original()
		entry := Entry{Field: en.Pointer, Was: was, Set: en.Set, By: en.By, Since: en.Since}
		if en.Once != "" {
			entry.Text = fmt.Sprintf("%s was set once to %s by %s%s, and left to others since", label, cmp.Or(en.Set, "nothing"), en.By,
				e.occasion(en, obj))
		} else {
			entry.Text = fmt.Sprintf("%s: %s; %s puts it to %s%s", label, cmp.Or(was, "not set"), en.By, cmp.Or(en.Set, "nothing"),
				e.occasion(en, obj))
		}
		if en.Pending {
			entry.Text += " (the write to /scale is not yet known to be through)"
		}
		e.Ledger = append(e.Ledger, entry)
	}
}

// occasion returns a text that says since when Flyball has set the field of a ledger entry. Usually this is the
// transition in the entry. If the object was created after the transition, it is the creation of the object.
func (e *Explanation) occasion(en *workload.Entry, obj *workload.Object) string {
	made := time.Unix(obj.Created, 0)
	switch {
	case en.Since.IsZero():
		return ", which it always does"
	case obj.Created > 0 && en.Since.Before(made):
		return fmt.Sprintf(" since the object was made at %s (its transition was before that, at %s)", e.when(made), e.when(en.Since))
	}
	return " since its transition at " + e.when(en.Since)
}

var instants = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2})`)

// Local returns a text of the engine with its instants converted to a time zone.
func Local(text string, zone *time.Location) string {
	return instants.ReplaceAllStringFunc(text, func(found string) string {
		t, err := time.Parse(time.RFC3339, found)
		if err != nil {
			return found
		}
		return printer.InstantText(t, zone)
	})
}

func (e *Explanation) local(text string) string { return Local(text, e.zone) }

// Names implements printer.Finding.
func (e *Explanation) Names() []string { return []string{e.Target} }

// Text implements printer.Finding.
func (e *Explanation) Text(w *printer.Writer) {
	w.Line("%s at %s", w.Styled(e.Target, printer.Bold), e.when(e.At))
	if e.Hypothetical != "" {
		w.Line("  %s", w.Styled(e.Hypothetical, printer.Warn))
	}
	w.Line("  %s", e.local(e.Summary))
	if e.Pending != "" {
		w.Line("  to be written: %s", e.Pending)
	}
	if e.Waits != nil {
		text := "  waiting: " + strings.TrimPrefix(e.Waits.Reason, "waits ")
		if !e.Waits.Since.IsZero() {
			text += ", since " + e.when(e.Waits.Since)
		}
		if !e.Waits.Until.IsZero() {
			text += ", until " + e.when(e.Waits.Until)
		}
		w.Line("%s", w.Styled(text, printer.Warn))
	}
	e.textPolicies(w)
	e.textBefore(w)
	e.textOwners(w)
	e.textNext(w)
	e.textFreezes(w)
	for _, n := range e.Notes {
		w.Line("")
		w.Line("note: %s", n)
	}
}

func (e *Explanation) textPolicies(w *printer.Writer) {
	if len(e.Policies) > 0 {
		w.Heading("Policies that select it")
	}
	for _, p := range e.Policies {
		mark := ""
		if p.Policy == e.Winner || slices.Contains(e.also, p.Policy) {
			mark = "  <- decides"
		}
		w.Line("  %s asks: %s%s", p.Policy, p.Asks, w.Styled(mark, printer.Good))
		for _, s := range p.Steps {
			w.Line("    %s: %s", s.Step, e.local(s.Text))
		}
		if p.Error != "" {
			w.Line("    %s", w.Styled("cannot decide: "+p.Error, printer.Bad))
		}
		if p.Wave != "" {
			w.Line("    wave: %s", p.Wave)
		}
		if p.Batch != "" {
			w.Line("    batches: %s", p.Batch)
		}
	}
	for _, c := range e.Overruled {
		w.Line("  %s overrules %s on %s by %s", c.Winner, c.Loser, c.Facet, reasonText(c.Reason))
	}
	if len(e.Nearly) > 0 {
		w.Heading("Policies that do not select it")
	}
	for _, n := range e.Nearly {
		for _, f := range n.Fails {
			w.Line("  %s, by %s: %s", n.Policy, f.Term, f.Why)
		}
	}
	if w.Wide && len(e.Steps) > 0 {
		w.Heading("What followed")
		for _, s := range e.Steps {
			w.Line("  %s: %s", s.Step, s.Text)
		}
	}
}

func (e *Explanation) textBefore(w *printer.Writer) {
	if len(e.Ledger) > 0 {
		w.Heading("What was there before")
	}
	for _, en := range e.Ledger {
		w.Line("  %s", en.Text)
	}
	if len(e.GovernedBy) > 0 || e.Governs != nil {
		w.Heading("Autoscalers")
	}
	for _, r := range e.GovernedBy {
		w.Line("  governed by %s: %s", r.Target, r.Text)
	}
	if e.Governs != nil {
		w.Line("  governs %s: %s", e.Governs.Target, e.Governs.Text)
	}
}

// textOwners lists the owners of the object.
func (e *Explanation) textOwners(w *printer.Writer) {
	if len(e.AppliedBy)+len(e.Unheld) > 0 {
		w.Heading("GitOps tools")
	}
	for _, text := range e.Unheld {
		w.Line("  %s", text)
	}
	for _, r := range e.AppliedBy {
		w.Line("  applied by %s: %s", r.Target, r.Text)
	}
}

func (e *Explanation) textNext(w *printer.Writer) {
	w.Heading("Next changes")
	if len(e.Next) == 0 {
		w.Line("  none in sight")
		return
	}
	var rows [][]printer.Cell
	for _, c := range e.Next {
		rows = append(rows, printer.Row(e.when(c.At), c.Message, "by "+c.By))
	}
	w.Grid("  ", nil, rows)
}

func (e *Explanation) textFreezes(w *printer.Writer) {
	if len(e.Freezes) == 0 {
		return
	}
	w.Heading("May it be changed now, by %s?", cmp.Or(e.Freezes[0].User.Name, "anybody without an exception of their own"))
	var rows [][]printer.Cell
	for _, a := range e.Freezes {
		word, style := cani.Word(a)
		rows = append(rows, []printer.Cell{{Text: strings.Join(a.Actions, ", ")}, {Text: word, Style: style}, {Text: e.whyOf(a)}})
	}
	w.Grid("  ", nil, rows)
}

// Permission is the answer to whether some actions are allowed, with the reason.
type Permission struct {
	Actions []string
	Allowed bool
	Word    string
	Why     string

	// Warnings are those of the API server for an allowed change.
	Warnings []string
}

// Permissions returns the answers of the freezes. Actions with the same answer are in one Permission.
func (e *Explanation) Permissions() (all []Permission) {
	for _, a := range e.Freezes {
		word, _ := cani.Word(a)
		next := Permission{Actions: a.Actions, Allowed: a.Allowed, Word: word, Why: e.whyOf(a), Warnings: a.Warnings}
		i := slices.IndexFunc(all, func(p Permission) bool {
			return p.Word == next.Word && p.Why == next.Why && slices.Equal(p.Warnings, next.Warnings)
		})
		if i < 0 {
			all = append(all, next)
			continue
		}
		all[i].Actions = slices.Concat(all[i].Actions, next.Actions)
	}
	return all
}

// whyOf returns the reason for an answer of the freezes.
func (e *Explanation) whyOf(a evaluate.Answer) string {
	why := a.Note
	if !a.Allowed {
		why = "until " + e.when(a.NextAllowed)
		if a.NextAllowed.IsZero() {
			why = "no later time is known"
		}
	}
	for _, d := range a.Denials {
		why = strings.TrimPrefix(strings.TrimSuffix(fmt.Sprintf("%s, %s: %s", why, d.Policy, d.Reason), ": "), ", ")
		if d.Doubt != "" {
			why += ", because of " + d.Doubt
		}
		if !d.LetFinish.IsZero() {
			why += ", controllers may finish roll-outs until " + e.when(d.LetFinish)
		}
	}
	for _, l := range a.Lifts {
		text := fmt.Sprintf("%s lifts %s", l.Exception, l.Policy)
		if !a.Allowed {
			text += " alone"
		}
		why = strings.TrimPrefix(why+", "+text, ", ")
	}
	return why
}
