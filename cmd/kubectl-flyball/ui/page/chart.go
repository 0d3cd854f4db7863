package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// FoldAbove is the largest number of rows that a picture shows at once. If there are more rows, all groups are folded
// until a person chooses one.
const FoldAbove = 150

// chart is a week with the geometry of its picture. Distances are percentages of the width, in proportion to elapsed
// time.
type chart struct {
	*Week
	v *view
	// at is the instant that the texts call now. It is the instant of reading, or the beginning of a week in the future.
	at time.Time
	// Open is the key of the only group whose rows are shown, or "" if no group is chosen.
	Open string
	// shapes are the drawn rows of bars. Rows with the same bars share a shape, because thousands of targets have few
	// different weeks.
	shapes  []shape
	shapeOf map[string]int
}

// shape is a row of bars. The pages draw it by its ID.
type shape struct {
	ID    string
	Rects []Rect
}

// newChart returns the picture of a week.
func newChart(v *view, k *Week, at time.Time) *chart { return &chart{Week: k, v: v, at: at} }

// x returns the horizontal position of an instant.
func (c *chart) x(t time.Time) float64 {
	switch {
	case t.IsZero() || t.After(c.To):
		return 100
	case t.Before(c.From):
		return 0
	}
	return 100 * float64(t.Sub(c.From)) / float64(c.To.Sub(c.From))
}

// X returns the horizontal position of an instant as an SVG length.
func (c *chart) X(t time.Time) string { return percent(c.x(t)) }

func percent(f float64) string { return fmt.Sprintf("%.4f%%", f) }

// NowInside reports whether the picture has a line for now.
func (c *chart) NowInside() bool { return c.Now.After(c.From) && c.Now.Before(c.To) }

// Day is the label of a day.
type Day struct {
	X, TextX, Text, Short string
	Today                 bool
}

// Labels returns the labels of the days. In a week each day has a label. In a longer time only every few days have one.
func (c *chart) Labels() (all []Day) {
	step := max(1, (len(c.Days)+9)/10)
	for i, d := range c.Days {
		if i%step == 0 {
			x := c.x(d)
			local := d.In(c.Location())
			short := local.Format("Mon")[:2] + local.Format(" 2")
			if step > 1 {
				short = local.Format("2 Jan")
			}
			all = append(all, Day{percent(x), percent(min(x+0.3, 100)), local.Format("Mon 2 Jan"), short, c.isToday(d)})
		}
	}
	return all
}

// isToday reports whether a day of the picture has the instant now.
func (c *chart) isToday(day time.Time) bool {
	return !c.Now.Before(day) && c.Now.Before(timeline.Midnight(day, 1, c.Location()))
}

// Span is a part of the picture behind the rows.
type Span struct{ X, Width string }

func (c *chart) span(day time.Time) Span {
	x := c.x(day)
	return Span{percent(x), percent(c.x(timeline.Midnight(day, 1, c.Location())) - x)}
}

// Weekends returns the Saturdays and Sundays.
func (c *chart) Weekends() (all []Span) {
	for _, d := range c.Days {
		if day := d.In(c.Location()).Weekday(); day == time.Saturday || day == time.Sunday {
			all = append(all, c.span(d))
		}
	}
	return all
}

// Today returns the present day, or nil if it is outside the picture or fills the picture.
func (c *chart) Today() *Span {
	for _, d := range c.Days {
		if c.isToday(d) && len(c.Days) > 1 {
			s := c.span(d)
			return &s
		}
	}
	return nil
}

// Hour is the label of an hour.
type Hour struct{ X, Text string }

// Hours returns the labels of the hours. A picture of at most two days has a label every three hours, and a picture of
// at most eight days has a label at noon. A label shows the local time, so it moves when the clocks change.
func (c *chart) Hours() (all []Hour) {
	span := c.To.Sub(c.From)
	every := 3
	switch {
	case span > 8*24*time.Hour:
		return nil
	case span > 50*time.Hour:
		every = 12
	}
	for _, d := range c.Days {
		for h := every; h < 24; h += every {
			y, m, day := d.In(c.Location()).Date()
			at := time.Date(y, m, day, h, 0, 0, 0, c.Location())
			if at.After(c.From) && at.Before(c.To) {
				all = append(all, Hour{c.X(at), at.Format("15:04")})
			}
		}
	}
	return all
}

// Jump is the mark at a change of the clocks.
type Jump struct{ X, Width, Text string }

// Jumps returns a mark for each change between summer time and standard time in the chart.
func (c *chart) Jumps() (all []Jump) {
	for _, k := range c.Clocks {
		x, to := c.x(k.From), c.x(k.To)
		all = append(all, Jump{percent(x), percent(max(to-x, 0.15)), printer.InstantText(k.At, c.Location()) + ": " + k.Text})
	}
	return all
}

// Rect is one rectangle of a bar.
type Rect struct{ X, Width, Y, Height, Class, Fill, Text string }

// rowHeight is the height of a bar in pixels.
const rowHeight = 22

// Rects returns the rectangles of bars. The height of a rectangle shows how much of the target runs, so that the states
// differ in shape too.
func (c *chart) Rects(bars []Bar) (all []Rect) {
	for i := range bars {
		b := &bars[i]
		x, to := c.x(b.From), c.x(b.To)
		r := Rect{X: percent(x), Width: percent(to - x), Y: "0", Height: fmt.Sprint(rowHeight), Class: slug(string(b.State)), Text: c.say(b)}
		if b.Past {
			r.Class += " past"
		}
		r.Fill = "url(#fill-" + slug(string(b.State)) + ")"
		all = append(all, r)
		if b.State == Reduced || b.State == Mixed {
			h := max(3, min(rowHeight-3, int(b.Running*rowHeight)))
			part := r
			part.Y, part.Height, part.Class, part.Fill = fmt.Sprint(rowHeight-h), fmt.Sprint(h), "awake", "url(#fill-awake)"
			all = append(all, part)
		}
	}
	return all
}

// say returns the state of a bar, its time and its reason in one sentence.
func (c *chart) say(b *Bar) string {
	text := stateText(b)
	text = strings.ToUpper(text[:1]) + text[1:] + " from " + c.short(b.From) + " until " + c.short(b.To)
	switch {
	case b.State == Unknown:
		return text + ", because no ledger had begun."
	case b.Text != "":
		return text + "."
	case len(b.By) == 0:
		return text + ", because no policy changes it."
	}
	return text + ", because of " + listed(b.By) + "."
}

// short formats an instant without its time zone, which the picture has.
func (c *chart) short(t time.Time) string { return short(t, c.at, c.v.Zone) }

// stateText returns the state of a bar with its numbers.
func stateText(b *Bar) string {
	text := cmp.Or(b.Text, string(b.State))
	if b.State == Reduced || b.State == Raised {
		text += fmt.Sprintf(" to %.0f%%", 100*b.Running)
	}
	if b.Replicas != nil && b.State != Unknown {
		text += fmt.Sprintf(" (%s)", count(int(*b.Replicas), "replica"))
	}
	return text
}

// sentence returns the state of a bar, with its numbers and its policies.
func sentence(b *Bar) string {
	text := stateText(b)
	if len(b.By) > 0 {
		text += ", by " + listed(b.By)
	}
	if b.Past && b.State != Unknown {
		text += ", as its ledger has it"
	}
	return text
}

// Freezes returns the freezes and exceptions in the time of the picture, with one band for each policy.
func (c *chart) Freezes() (all []Band) {
	for i := range c.Bands {
		e := &c.Bands[i]
		if !e.End.IsZero() && !e.End.After(c.From) {
			continue
		}
		j := 0
		for j < len(all) && all[j].Policy != e.Policy {
			j++
		}
		if j == len(all) {
			all = append(all, Band{Policy: e.Policy})
		}
		x, to := c.x(e.Start), c.x(e.End)
		class := "denies"
		if e.Effect == "allows" {
			class = "allows"
		}
		if all[j].Text == "" && (e.End.IsZero() || e.End.After(c.at)) {
			all[j].Text = c.times(e)
		}
		all[j].Rects = append(all[j].Rects, Rect{X: percent(x), Width: percent(max(to-x, 0.2)), Y: "3", Height: "12", Class: class,
			Fill: "url(#fill-" + class + ")", Text: c.effectFor(e)})
	}
	return all
}

// times returns the time of a freeze or an exception in short.
func (c *chart) times(e *freezes.Entry) string {
	text := "until " + c.short(e.End)
	if e.End.IsZero() {
		text = "for ever"
	}
	if e.Start.After(c.at) {
		text = "from " + c.short(e.Start) + " " + text
	}
	return text
}

// Band is the band of one freeze or exception in the picture. Text has its present or next time.
type Band struct {
	Policy, Text string
	Rects        []Rect
}

// effectFor returns the effect of a freeze or an exception, with its start and its end.
func (c *chart) effectFor(e *freezes.Entry) string {
	return effect(e) + ", from " + edge(c.v, e.Start, "always") + " until " + edge(c.v, e.End, "for ever")
}

// effect returns the effect of a freeze or an exception, with its reason.
func effect(e *freezes.Entry) string {
	text := e.Effect + " " + strings.Join(e.Actions, ", ")
	if e.Judged != "" {
		text += " to " + e.Judged
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

func edge(v *view, t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return v.When(t)
}

// Entry is one bar as text.
type Entry struct{ From, To, Text string }

// Entries returns the bars as text.
func (c *chart) Entries(bars []Bar) (all []Entry) {
	for i := range bars {
		all = append(all, Entry{c.v.When(bars[i].From), c.v.When(bars[i].To), sentence(&bars[i])})
	}
	return all
}

// Texts are the bars of targets as text.
type Texts struct {
	Targets []string
	Entries []Entry
}

// Texts returns the bars of the shown rows as text. Targets of a group with the same bars are together.
func (c *chart) Texts() (all []Texts) {
	for i := range c.Groups {
		if !c.Shows(&c.Groups[i]) {
			continue
		}
		at := map[string]int{}
		for j := range c.Groups[i].Rows {
			row := &c.Groups[i].Rows[j]
			id := c.shape(row.Bars)
			if _, known := at[id]; !known {
				at[id] = len(all)
				all = append(all, Texts{Entries: c.Entries(row.Bars)})
			}
			all[at[id]].Targets = append(all[at[id]].Targets, row.Target)
		}
	}
	return all
}

// shape returns the ID of the shape of bars. It draws the shape if no row had it before.
func (c *chart) shape(bars []Bar) string {
	var key strings.Builder
	for i := range bars {
		b, replicas := &bars[i], int64(-1)
		if b.Replicas != nil {
			replicas = *b.Replicas
		}
		_, _ = fmt.Fprintln(&key, b.From.Unix(), b.To.Unix(), b.State, b.Running, replicas, b.By, b.Past, b.Text)
	}
	at, known := c.shapeOf[key.String()]
	if !known {
		at = len(c.shapes)
		if c.shapeOf == nil {
			c.shapeOf = map[string]int{}
		}
		c.shapeOf[key.String()] = at
		c.shapes = append(c.shapes, shape{"bars-" + strconv.Itoa(at), c.Rects(bars)})
	}
	return c.shapes[at].ID
}

// Shapes returns the shapes of all rows that Strip has returned.
func (c *chart) Shapes() []shape { return c.shapes }

// State returns the state that a row of bars has now.
func (c *chart) State(bars []Bar) string { return nowText(bars, c.at) }

// Next returns the next change of state in a row of bars.
func (c *chart) Next(bars []Bar) string { return nextText(bars, c.at, c.To, c.v.Zone) }

// Alone reports whether a group has all targets of its namespace in the picture.
func (c *chart) Alone(g *Group) bool {
	for i := range c.Groups {
		if o := &c.Groups[i]; o.Namespace == g.Namespace && c.Key(o) != c.Key(g) {
			return false
		}
	}
	return true
}

// Policies returns the policies of a group. Those of the group's namespace are named without it, because the heading has it.
func (c *chart) Policies(g *Group) []string {
	all := slices.Clone(g.Policies)
	for i, id := range all {
		if p := workload.ParsePolicy(id); p.Namespace != "" && p.Namespace == g.Namespace {
			all[i] = p.Kind + " " + p.Name
		}
	}
	return all
}

// Listed is a line of the picture: the heading of a namespace, or a group.
type Listed struct {
	// Space is the name of the namespace, for a heading. Bars is the summary of its targets, and Text their number and states now.
	Space, Text string
	Bars        []Bar
	Group       *Group
}

// Listed returns the groups, with a heading before the groups of each namespace.
func (c *chart) Listed() (all []Listed) {
	for i := range c.Groups {
		g := &c.Groups[i]
		if i == 0 || c.Groups[i-1].Namespace != g.Namespace {
			space := c.In(g.Namespace)
			all = append(all, Listed{Space: cmp.Or(g.Namespace, "cluster"), Bars: space.Summary,
				Text: c.Count(space) + ", now " + c.State(space.Summary)})
		}
		all = append(all, Listed{Group: g})
	}
	return all
}

// Key returns the key of a group in the addresses of pages.
func (c *chart) Key(g *Group) string { return g.Namespace + " " + strings.Join(g.Policies, " ") }

// rowsInAll returns the number of rows of all groups.
func (c *chart) rowsInAll() (n int) {
	for i := range c.Groups {
		n += len(c.Groups[i].Rows)
	}
	return n
}

// Shows reports whether the page has the rows of a group. Usually it has the rows of all groups. If there are too many
// rows, it has only the rows of the open group.
func (c *chart) Shows(g *Group) bool {
	return c.v.Inline || c.Open == c.Key(g) || c.Open == "" && c.rowsInAll() <= FoldAbove
}

// Unfolded reports whether a group is unfolded when the page is opened.
func (c *chart) Unfolded(g *Group) bool { return c.Open == c.Key(g) || c.rowsInAll() <= FoldAbove }

// View returns the view, which makes links.
func (c *chart) View() *view { return c.v }

// Count returns the number of targets of a group in words.
func (c *chart) Count(g *Group) string { return count(len(g.Rows), "target") }

func listed(all []string) string { return strings.Join(all, ", ") }

// slug returns a state in the form of a CSS class.
func slug(text string) string { return strings.ReplaceAll(text, " ", "-") }
