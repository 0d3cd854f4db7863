// Package freezes shows when freezes and maintenance windows are in force: for a namespace or an object, over a span of
// time, with the gaps in which changes are allowed and the overlaps in which several policies deny them. It can also
// write a calendar file.
package freezes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Agenda lists everything in force in a span of time.
type Agenda struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// About is the namespace or the object. Empty means everything.
	About   string  `json:"about,omitempty"`
	Entries []Entry `json:"entries"`
	// Gaps are the times when no policy denies changes. Overlaps are the times when several policies do.
	Gaps     []Span `json:"gaps"`
	Overlaps []Span `json:"overlaps"`

	zone *time.Location
}

// Entry is one time when a policy denies changes, or an exception allows them.
type Entry struct {
	Policy string `json:"policy"`
	// Effect is denies, warns, records or allows.
	Effect  string   `json:"effect"`
	Actions []string `json:"actions"`
	// Start is the beginning of the entry, and End is its end. Either is absent if the entry has none.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// LetFinish is the end of the time in which controllers may finish roll-outs that had begun.
	LetFinish time.Time `json:"letFinish,omitzero"`
	// Judged are the users and groups whose changes the policy judges, in words; empty: everybody.
	Judged string `json:"judged,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Span is a span of time, with the policies that deny changes in it.
type Span struct {
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	Policies []string  `json:"policies,omitempty"`
}

// Input selects the content of an agenda.
type Input struct {
	From, To time.Time
	Zone     *time.Location
	// Targets are the objects to look at. Namespace is the namespace to look at. If both are empty, everything is included.
	Targets   []workload.Ref
	Namespace string
}

// Of returns the agenda of a world.
func Of(w *world.Memory, o Input) Agenda {
	a := Agenda{From: o.From, To: o.To, About: o.about(), Entries: []Entry{}, Gaps: []Span{}, Overlaps: []Span{}, zone: o.Zone}
	set := w.World().Set()
	for _, r := range set.Rules() {
		if o.concerns(w, r) {
			a.addRule(r)
		}
	}
	for _, e := range set.Exceptions() {
		from, to := e.Period()
		if o.concerns(w, e) && from.Before(o.To) && to.After(o.From) {
			a.Entries = append(a.Entries, Entry{Policy: e.ID().String(), Effect: "allows", Actions: e.Allows().Names(), Start: from, End: to,
				Reason: e.Reason()})
		}
	}
	slices.SortStableFunc(a.Entries, func(x, y Entry) int {
		return cmp.Or(x.Start.Compare(y.Start), strings.Compare(x.Policy, y.Policy))
	})
	a.sweep()
	return a
}

func (o Input) about() string {
	if len(o.Targets) == 0 {
		return o.Namespace
	}
	names := make([]string, len(o.Targets))
	for i, ref := range o.Targets {
		names[i] = ref.String()
	}
	return strings.Join(names, ", ")
}

// concerned is the common interface of freezes' rules and exceptions.
type concerned interface {
	Selects(kind schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) bool
	SelectsIn(namespace string, nsLabels workload.Pairs) bool
}

func (o Input) concerns(w *world.Memory, p concerned) bool {
	switch {
	case len(o.Targets) > 0:
		return slices.ContainsFunc(o.Targets, func(ref workload.Ref) bool {
			obj := w.Object(ref)
			return obj != nil && p.Selects(ref.GroupKind, obj, w.Namespace(ref.Namespace).Labels)
		})
	case o.Namespace != "":
		return p.SelectsIn(o.Namespace, w.Namespace(o.Namespace).Labels)
	}
	return true
}

// addRule adds an entry for every time when a rule is active.
func (a *Agenda) addRule(r *freeze.Rule) {
	effect := map[v1alpha1.Enforcement]string{
		v1alpha1.EnforcementDeny: "denies", v1alpha1.EnforcementWarn: "warns", v1alpha1.EnforcementAudit: "records",
	}[r.Enforcement()]
	if r.Denies() == 0 {
		effect = "suspends"
	}
	for at := a.From; at.Before(a.To); {
		active, since, until := r.Active(at)
		if active {
			a.Entries = append(a.Entries, Entry{Policy: r.ID().String(), Effect: effect, Actions: r.Denies().Names(), Start: since, End: until,
				LetFinish: r.LetFinish(since), Judged: r.Judged(), Reason: r.Message().Reason})
		}
		if until.IsZero() {
			return
		}
		at = until
	}
}

// Next returns the first time after o.From at which a policy begins to deny changes, however far away, or nil.
func Next(w *world.Memory, o Input) (next *Entry) {
	for _, r := range w.World().Set().Rules() {
		if r.Denies() == 0 || r.Enforcement() != v1alpha1.EnforcementDeny || !o.concerns(w, r) {
			continue
		}
		active, _, until := r.Active(o.From)
		if active && !until.IsZero() {
			active, _, until = r.Active(until)
		}
		if active || until.IsZero() || next != nil && !until.Before(next.Start) {
			continue
		}
		_, _, end := r.Active(until)
		next = &Entry{Policy: r.ID().String(), Effect: "denies", Actions: r.Denies().Names(), Start: until, End: end, Reason: r.Message().Reason}
	}
	return next
}

// sweep finds the gaps and the overlaps of entries that deny changes.
func (a *Agenda) sweep() {
	transitions := []time.Time{a.From, a.To}
	for _, e := range a.Entries {
		for _, t := range []time.Time{e.Start, e.End} {
			if e.Effect == "denies" && t.After(a.From) && t.Before(a.To) {
				transitions = append(transitions, t)
			}
		}
	}
	slices.SortFunc(transitions, time.Time.Compare)
	transitions = slices.CompactFunc(transitions, time.Time.Equal)
	for i := 0; i+1 < len(transitions); i++ {
		span := Span{Start: transitions[i], End: transitions[i+1]}
		for _, e := range a.Entries {
			if e.Effect == "denies" && !e.Start.After(span.Start) && (e.End.IsZero() || e.End.After(span.Start)) {
				span.Policies = append(span.Policies, e.Policy)
			}
		}
		switch len(span.Policies) {
		case 0:
			a.Gaps = append(a.Gaps, span)
		case 1:
		default:
			a.Overlaps = append(a.Overlaps, span)
		}
	}
}

// Names implements printer.Finding.
func (a Agenda) Names() []string {
	var names []string
	for _, e := range a.Entries {
		if !slices.Contains(names, e.Policy) {
			names = append(names, e.Policy)
		}
	}
	return names
}

// Text implements printer.Finding.
func (a Agenda) Text(w *printer.Writer) {
	title := "From " + printer.InstantText(a.From, a.zone) + " to " + printer.InstantText(a.To, a.zone)
	if a.About != "" {
		title += ", for " + a.About
	}
	w.Line("%s", title)
	w.Line("")
	if len(a.Entries) == 0 {
		w.Line("No freeze and no maintenance window is in force.")
		return
	}
	rows := make([][]printer.Cell, len(a.Entries))
	for i, e := range a.Entries {
		effect := strings.TrimSpace(e.Effect + " " + strings.Join(e.Actions, ", "))
		if e.Judged != "" {
			effect += " to " + e.Judged
		}
		if !e.LetFinish.IsZero() {
			effect += "; roll-outs may finish until " + printer.InstantText(e.LetFinish, a.zone)
		}
		rows[i] = printer.Row(a.format(e.Start, "always"), a.format(e.End, "for ever"), e.Policy, effect, e.Reason)
	}
	w.Grid("", []string{"FROM", "UNTIL", "POLICY", "EFFECT", "REASON"}, rows)
	a.spans(w, "Nothing denies changes", a.Gaps)
	a.spans(w, "Several policies deny changes", a.Overlaps)
}

func (a Agenda) spans(w *printer.Writer, title string, spans []Span) {
	if len(spans) == 0 {
		return
	}
	w.Heading("%s", title)
	rows := make([][]printer.Cell, len(spans))
	for i, s := range spans {
		rows[i] = printer.Row(printer.InstantText(s.Start, a.zone), "until "+printer.InstantText(s.End, a.zone), strings.Join(s.Policies, ", "))
	}
	w.Grid("  ", nil, rows)
}

func (a Agenda) format(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return printer.InstantText(t, a.zone)
}
