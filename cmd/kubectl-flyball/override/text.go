package override

import (
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
)

// fewLimits is the number of limited objects that a text names.
const fewLimits = 5

// Text implements printer.Finding.
func (e *Effect) Text(w *printer.Writer) {
	note := ""
	if e.DryRun {
		note = " (dry run: nothing was written)"
	}
	word := "created"
	if e.order.End {
		word = "deleted"
	}
	if e.DryRun {
		word = "would be " + word
	}
	for _, p := range e.Places {
		w.Line("%s: %s%s", p, e.becomes(), note)
	}
	for _, obj := range e.Overrides {
		w.Line("%s %s", refOf(obj), word)
	}
	if e.DryRun && !e.order.End {
		if manifest, err := e.Manifest(); err == nil {
			w.Line("")
			for line := range strings.Lines(manifest) {
				w.Line("%s", strings.TrimSuffix(line, "\n"))
			}
		}
	}
	w.Line("")
	if e.Plan == nil {
		w.Line("The effect is not shown, because you have no right to read the policies.")
		return
	}
	e.writeEffect(w)
	for _, r := range e.Ready {
		w.Line("%s", w.Styled(r+" is ready", printer.Good))
	}
}

// writeEffect writes the limits of the order and the difference that it makes.
func (e *Effect) writeEffect(w *printer.Writer) {
	for i, l := range e.Limits {
		if i == fewLimits {
			w.Line("... and %d more objects", len(e.Limits)-i)
			break
		}
		w.Line("%s", w.Styled(l.Object+": "+l.Reason, printer.Bad))
	}
	if len(e.Plan.Changes) == 0 {
		w.Line("%s", e.noChange())
	}
	var rows [][]printer.Cell
	for _, l := range e.Plan.Lines(w.Wide) {
		word := "happens"
		if l.Diff == "-" {
			word = "does not happen"
		}
		change := l.What
		if l.Field != "" {
			change += " " + l.Was + " -> " + l.Becomes
		}
		rows = append(rows, printer.Row(printer.InstantText(l.At, e.order.Zone), word, l.Object, change, l.By))
	}
	w.Grid("", nil, rows)
}

// states are the words for the state of a place under an order.
var states = map[v1alpha1.OverrideEffect]string{
	v1alpha1.OverrideAwake: "awake", v1alpha1.OverrideAsleep: "asleep", v1alpha1.OverrideHold: "held",
}

// becomes returns the effect of the order on a place, as text.
func (e *Effect) becomes() string {
	state := states[e.order.Effect]
	switch {
	case !e.order.End:
		return state + " until " + printer.InstantText(e.Until, e.order.Zone)
	case len(e.Overrides) == 0:
		return "no Override keeps exactly this " + state
	}
	return "no longer " + state
}

// noChange returns the reason why an order changes nothing.
func (e *Effect) noChange() string {
	state := states[e.order.Effect]
	switch {
	case e.order.End && len(e.Overrides) == 0:
		return "This changes nothing: kubectl get overrides,clusteroverrides lists the orders that are in force."
	case e.order.End:
		return "This changes nothing in the next 24 hours."
	case len(e.Limits) > 0 && e.reached == 0:
		return "This changes nothing, because of the limits above."
	case e.reached == 0 && e.order.Effect == v1alpha1.OverrideAwake:
		return "This changes nothing: no schedule selects what it reaches."
	case e.reached == 0:
		return "This changes nothing: it reaches no object."
	}
	return "This changes nothing: what it reaches is " + state + " until then anyway."
}
