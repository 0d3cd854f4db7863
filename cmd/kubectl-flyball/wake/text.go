package wake

import (
	"slices"

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
)

// Text implements report.Finding.
func (e *Effect) Text(w *report.Writer) {
	note := ""
	if e.DryRun {
		note = " (dry run: nothing was written)"
	}
	for _, p := range e.Places {
		w.Line("%s: %s%s", p, e.becomes(p), note)
	}
	w.Line("")
	if e.Plan == nil {
		w.Line("The effect is not shown, because you have no right to read the policies.")
		return
	}
	if len(e.Plan.Changes) == 0 {
		w.Line("%s", e.noChange())
	}
	var rows [][]report.Cell
	for _, l := range e.Plan.Lines(w.Wide) {
		word := "happens"
		if l.Diff == "-" {
			word = "does not happen"
		}
		rows = append(rows, report.Row(instant.Text(l.At, e.zone), word, l.Object, l.What+" "+l.Was+" -> "+l.Becomes, l.By))
	}
	w.Grid("", nil, rows)
	for _, r := range e.Ready {
		w.Line("%s", w.Styled(r+" is ready", report.Good))
	}
}

// becomes returns the effect of the edit on a place, as text.
func (e *Effect) becomes(place string) string {
	switch {
	case !e.Until.IsZero():
		return e.mark.kept + " until " + instant.Text(e.Until, e.zone)
	case slices.Contains(e.NotKept, place):
		return "it was not " + e.mark.not
	}
	return "no longer " + e.mark.not
}

// noChange returns the reason why an edit changes nothing.
func (e *Effect) noChange() string {
	switch {
	case e.mark == Held && !e.Until.IsZero():
		return "This changes nothing: it is held until then anyway."
	case e.mark == Held && len(e.NotKept) == len(e.Places):
		return "This changes nothing: it was not held."
	case e.mark == Held:
		return "This changes nothing in the next 24 hours: something else holds it."
	case e.scheduled == 0:
		return "This changes nothing: no schedule selects what it reaches."
	case !e.Until.IsZero():
		return "This changes nothing: what it reaches is awake until then anyway."
	case e.keptBy != "":
		return "This changes nothing: " + e.keptBy + "."
	case len(e.NotKept) == len(e.Places):
		return "This changes nothing: schedules decide already."
	}
	return "This changes nothing in the next 24 hours: the schedules are awake, or something else keeps awake what it reaches."
}
