package plan

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/workload"
)

// barCells is the maximum number of cells in the bar of a timeline.
const barCells = 56

// cellSizes are the possible lengths of time of a cell. All of them are round.
var cellSizes = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour,
	2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour, day}

const day = 24 * time.Hour

// cells returns the length of time of a cell in a bar, and the number of cells.
func cells(span time.Duration) (size time.Duration, n int) {
	for _, size := range cellSizes {
		if span <= barCells*size {
			return size, int((span + size - 1) / size)
		}
	}
	size = (span/barCells + day - 1).Truncate(day)
	return size, int((span + size - 1) / size)
}

// spanText formats the length of a cell.
func spanText(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// apart is the largest number of changes that have a line each. If there are more, equal changes share a line. maxRows
// is the maximum number of lines.
const apart, maxRows = 24, 60

// maxBars is the maximum number of timelines, unless -o wide is given.
const maxBars = 20

// Text implements printer.Finding.
func (p *Plan) Text(w *printer.Writer) {
	w.Line("From %s to %s", printer.InstantText(p.From, p.zone), printer.InstantText(p.To, p.zone))
	if p.Hypothetical != "" {
		w.Line("%s", w.Styled(p.Hypothetical, printer.Warn))
	}
	p.textChanges(w)
	p.textBars(w)
	p.textTotals(w)
	for _, n := range p.Notes {
		w.Line("note: %s", n)
	}
}

func (p *Plan) textChanges(w *printer.Writer) {
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
	lines := p.Lines(w.Wide)
	shown := lines
	if len(shown) > maxRows && !w.Wide {
		shown = shown[:maxRows]
	}
	rows := make([][]printer.Cell, len(shown))
	for i := range shown {
		rows[i] = p.row(&shown[i])
	}
	w.Grid("", heads, rows)
	if more := len(lines) - len(shown); more > 0 {
		w.Line("and %d lines more; -o wide shows every write", more)
	}
}

// Line is one line of a table of changes: one change, or the same change of several objects.
type Line struct {
	*Change
	// These are texts for the table. Object has the objects, What has the field, Was has its value before the change, and
	// Becomes has its value after the change.
	Object, What, Was, Becomes string
}

// Lines returns the lines of a table of the changes. If there are many changes, and the table is not wide, equal
// changes share a line.
func (p *Plan) Lines(wide bool) []Line {
	var all []Line
	for _, l := range p.lines(wide) {
		all = append(all, l.text())
	}
	return all
}

// line is one line of the table.
type line struct {
	*Change
	objects []workload.Ref
	// from is true if the objects have different values before the change. to is true if they have different values after
	// the change.
	from, to bool
}

// lines returns the lines of the table. If there are many changes, changes at the same instant share a line when they
// differ only in the object and its values.
func (p *Plan) lines(wide bool) []line {
	var all []line
	together := len(p.Changes) > apart && !wide
	for i := range p.Changes {
		c := &p.Changes[i]
		same := -1
		for j := len(all) - 1; together && j >= 0 && all[j].At.Equal(c.At); j-- {
			if o := all[j]; o.Diff == c.Diff && o.By == c.By && o.Wave == c.Wave && o.Field == c.Field && o.Created == c.Created &&
				o.ref.GroupKind == c.ref.GroupKind && o.ref.Namespace == c.ref.Namespace {
				same = j
				break
			}
		}
		if same < 0 {
			all = append(all, line{Change: c, objects: []workload.Ref{c.ref}})
			continue
		}
		l := &all[same]
		l.objects = append(l.objects, c.ref)
		l.from, l.to = l.from || l.From != c.From, l.to || l.To != c.To
	}
	return all
}

// text returns the line with its texts for the table.
func (l *line) text() Line {
	field := Readable(l.Field)
	switch {
	case l.Created:
		field = "(created)"
	case l.Field == "":
		field = "(only the ledger)"
	}
	object, from, to := l.Target, Brief(l.From), Brief(l.To)
	if n := len(l.objects); n > 1 {
		object = fmt.Sprintf("%d %s: %s", n, strings.TrimSuffix(l.Target, "/"+l.ref.Name), named(l.objects))
	}
	if l.from {
		from = "various"
	}
	if l.to {
		to = "various"
	}
	return Line{Change: l.Change, Object: object, What: field, Was: from, Becomes: to}
}

// row returns the cells of one line.
func (p *Plan) row(l *Line) []printer.Cell {
	by := l.By
	if l.Wave != "" {
		by += ", " + l.Wave
	}
	row := printer.Row(printer.InstantText(l.At, p.zone), l.Object, l.What, l.Was, l.Becomes, by)
	if p.Compared {
		style := printer.Good
		if l.Diff == "-" {
			style = printer.Bad
		}
		row = append([]printer.Cell{{Text: l.Diff, Style: style}}, row...)
	}
	return row
}

// named returns the names of the first objects and the number of the others.
func named(refs []workload.Ref) string {
	const most = 3
	var names []string
	for _, r := range refs[:min(len(refs), most)] {
		names = append(names, r.Name)
	}
	if more := len(refs) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

var plainToken = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Readable formats a JSON pointer as a path in the style of adapters and kubectl, such as .spec.replicas. It keeps only
// the end of a long path.
func Readable(pointer string) string {
	const limit = 40
	if pointer == "" {
		return ""
	}
	var steps []string
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch _, err := strconv.Atoi(token); {
		case plainToken.MatchString(token):
			token = "." + token
		case err == nil:
			token = "[" + token + "]"
		default:
			token = "['" + token + "']"
		}
		steps = append(steps, token)
	}
	text, cut := strings.Join(steps, ""), false
	for len(text) > limit && len(steps) > 2 {
		steps, cut = steps[1:], true
		text = strings.Join(steps, "")
	}
	if cut {
		text = "..." + strings.TrimPrefix(text, ".")
	}
	return text
}

// Brief shortens a JSON text for a table.
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

// textBars writes a bar for each target that shows how much of the target runs.
func (p *Plan) textBars(w *printer.Writer) {
	if len(p.Timelines) == 0 {
		return
	}
	cell, n := cells(p.To.Sub(p.From))
	legend := ""
	if slices.ContainsFunc(p.Timelines, func(t Timeline) bool { return t.byUse() }) {
		legend = ", ~ by use"
	}
	w.Heading("What runs (# all, + some, . nothing%s; a cell is %s)", legend, spanText(cell))
	shown := p.Timelines
	if len(shown) > maxBars && !w.Wide {
		shown = shown[:maxBars]
	}
	var rows [][]printer.Cell
	for i, t := range shown {
		row := printer.Row(t.Target, t.bar(p.From, cell, n))
		if p.Compared {
			rows = append(rows, append([]printer.Cell{{Text: "-", Style: printer.Bad}},
				printer.Row(t.Target, p.TimelinesBefore[i].bar(p.From, cell, n))...))
			row = append([]printer.Cell{{Text: "+", Style: printer.Good}}, printer.Row("", t.bar(p.From, cell, n))...)
		}
		rows = append(rows, row)
	}
	w.Grid("  ", nil, rows)
	if more := len(p.Timelines) - len(shown); more > 0 {
		w.Line("  and %d more; -o wide shows them", more)
	}
}

// bar returns n cells. Each cell stands for a span of time and shows the level at the middle of the span.
func (t *Timeline) bar(from time.Time, cell time.Duration, n int) string {
	var b strings.Builder
	at := 0
	for i := range n {
		middle := from.Add(cell*time.Duration(i) + cell/2)
		for at+1 < len(t.Steps) && !t.Steps[at+1].At.After(middle) {
			at++
		}
		switch running := t.Steps[at].Running; {
		case t.Steps[at].ByUse:
			b.WriteByte('~')
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

func (p *Plan) textTotals(w *printer.Writer) {
	t := p.Totals
	w.Heading("Totals")
	w.Line("  %d of %s %s, in %s", t.Changed, workload.Count(t.Targets, "target"), changes(t.Changed), workload.Count(p.Writes, "write"))
	w.Line("  replica hours   %10.1f   saved %10.1f%s", t.ReplicaHours, t.ReplicaHoursSaved,
		p.than(func(t *Totals) float64 { return t.ReplicaHoursSaved }))
	w.Line("  requests                     saved %10.1f CPU hours%s, %.1f GiB hours of memory%s",
		t.CPUHoursSaved, p.than(func(t *Totals) float64 { return t.CPUHoursSaved }),
		t.MemoryGiBHoursSaved, p.than(func(t *Totals) float64 { return t.MemoryGiBHoursSaved }))
	if t.Uncounted > 0 {
		w.Line("  in no sum, for want of a count of replicas: %s that %s", workload.Count(t.Uncounted, "target"), changes(t.Uncounted))
	}
}

// changes returns "changes" or "change", the verb for n subjects.
func changes(n int) string {
	if n == 1 {
		return "changes"
	}
	return "change"
}

// than formats the difference from the total before the edit. Without a comparison it returns "".
func (p *Plan) than(of func(*Totals) float64) string {
	if p.Before == nil {
		return ""
	}
	change := math.Round(10*(of(&p.Totals)-of(p.Before))) / 10
	return fmt.Sprintf(" (%+.1f)", change+0) // adding 0 turns -0.0 into 0.0
}
