package plan

import (
	"fmt"
	"math"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/engine/workload"
)

// barCells is how many cells the bar of a timeline has.
const barCells = 56

// maxBars is how many timelines are drawn unless everything is wanted.
const maxBars = 20

// Text implements report.Finding.
func (p *Plan) Text(w *report.Writer) {
	w.Line("From %s to %s", instant.Text(p.From, p.zone), instant.Text(p.To, p.zone))
	if p.Hypothetical != "" {
		w.Line("%s", w.Styled(p.Hypothetical, report.Warn))
	}
	p.textChanges(w)
	if !p.Compared {
		p.textBars(w)
	}
	p.textTotals(w)
	for _, n := range p.Notes {
		w.Line("note: %s", n)
	}
}

func (p *Plan) textChanges(w *report.Writer) {
	w.Line("")
	if len(p.Changes) == 0 && p.Compared {
		w.Line("The edit changes nothing in this time.")
		return
	}
	if len(p.Changes) == 0 {
		w.Line("Nothing is written in this time.")
		return
	}
	heads := []string{"WHEN", "OBJECT", "FIELD", "FROM", "TO", "BY"}
	if p.Compared {
		heads = append([]string{" "}, heads...)
	}
	rows := make([][]report.Cell, len(p.Changes))
	for i := range p.Changes {
		c := &p.Changes[i]
		field := c.Field
		switch {
		case c.Created:
			field = "(created)"
		case field == "":
			field = "(the ledger only)"
		}
		rows[i] = report.Row(instant.Text(c.At, p.zone), c.Target, field, Brief(c.From), Brief(c.To), c.By)
		if p.Compared {
			style := report.Good
			if c.Diff == "-" {
				style = report.Bad
			}
			rows[i] = append([]report.Cell{{Text: c.Diff, Style: style}}, rows[i]...)
		}
	}
	w.Grid("", heads, rows)
}

// Brief is a JSON text for a table.
func Brief(raw string) string {
	const limit = 40
	switch {
	case raw == "":
		return "-"
	case len(raw) <= limit:
		return raw
	case raw[0] == '{':
		return "{...}"
	case raw[0] == '[':
		return "[...]"
	}
	return strings.ToValidUTF8(raw[:limit], "") + "..."
}

// textBars draws how much of each target runs.
func (p *Plan) textBars(w *report.Writer) {
	if len(p.Timelines) == 0 {
		return
	}
	cell := p.To.Sub(p.From) / barCells
	w.Heading("What runs (# all, + some, . nothing; a cell is %s)", cell.Round(time.Minute))
	shown := p.Timelines
	if len(shown) > maxBars && !w.Wide {
		shown = shown[:maxBars]
	}
	rows := make([][]report.Cell, len(shown))
	for i, t := range shown {
		rows[i] = report.Row(t.Target, t.bar(p.From, cell))
	}
	w.Grid("  ", nil, rows)
	if more := len(p.Timelines) - len(shown); more > 0 {
		w.Line("  and %d more; -o wide shows them", more)
	}
}

// bar shows what runs for the longest part of each cell.
func (t *Timeline) bar(from time.Time, cell time.Duration) string {
	var b strings.Builder
	at := 0
	for i := range barCells {
		middle := from.Add(cell*time.Duration(i) + cell/2)
		for at+1 < len(t.Steps) && !t.Steps[at+1].At.After(middle) {
			at++
		}
		switch running := t.Steps[at].Running; {
		case running <= 0:
			b.WriteByte('.')
		case running < 1:
			b.WriteByte('+')
		default:
			b.WriteByte('#')
		}
	}
	return b.String()
}

func (p *Plan) textTotals(w *report.Writer) {
	t := p.Totals
	w.Heading("Totals")
	w.Line("  %d of %s %s, in %s", t.Changed, workload.Count(t.Targets, "target"), changes(t.Changed), workload.Count(p.Writes, "write"))
	w.Line("  replica hours   %10.1f   saved %10.1f%s", t.ReplicaHours, t.ReplicaHoursSaved, p.than(func(t *Totals) float64 { return t.ReplicaHoursSaved }))
	w.Line("  requests                     saved %10.1f CPU hours%s, %.1f GiB hours of memory%s",
		t.CPUHoursSaved, p.than(func(t *Totals) float64 { return t.CPUHoursSaved }),
		t.MemoryGiBHoursSaved, p.than(func(t *Totals) float64 { return t.MemoryGiBHoursSaved }))
	if t.Uncounted > 0 {
		w.Line("  in no sum, for want of a count of replicas: %s that %s", workload.Count(t.Uncounted, "target"), changes(t.Uncounted))
	}
}

// changes is the verb for so many of something.
func changes(n int) string {
	if n == 1 {
		return "changes"
	}
	return "change"
}

// than compares a sum with the one before.
func (p *Plan) than(of func(*Totals) float64) string {
	if p.Before == nil {
		return ""
	}
	change := math.Round(10*(of(&p.Totals)-of(p.Before))) / 10
	return fmt.Sprintf(" (%+.1f)", change+0) // plus nothing, so that there is no -0.0
}
