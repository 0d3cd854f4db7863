package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/week"
	"flyball.dev/flyball/engine/workload"
)

// FoldAbove is the largest number of rows that a picture shows at once. If there are more rows, all groups are folded
// until a person chooses one.
const FoldAbove = 150

// chart is a week with the geometry of its picture. Distances are percentages of the width, in proportion to elapsed
// time.
type chart struct {
	*week.Week
	v *view
	// at is the instant that the texts call now. It is the instant of reading, or the beginning of a week in the future.
	at time.Time
	// Open is the key of the only group whose rows are shown, or "" if no group is chosen.
	Open string
}

// newChart returns the picture of a week.
func newChart(v *view, k *week.Week, at time.Time) *chart { return &chart{Week: k, v: v, at: at} }

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
type Day struct{ X, TextX, Text, Short string }

// Labels returns the labels of the days. In a week each day has a label. In a longer time only every few days have one.
func (c *chart) Labels() (all []Day) {
	step := max(1, (len(c.Days)+9)/10)
	for i, d := range c.Days {
		if i%step == 0 {
			x := c.x(d)
			local := d.In(c.Location())
			all = append(all, Day{percent(x), percent(min(x+0.3, 100)), local.Format("Mon 2 Jan"), local.Format("Mon")[:2]})
		}
	}
	return all
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
		all = append(all, Jump{percent(x), percent(max(to-x, 0.15)), instant.Text(k.At, c.Location()) + ": " + k.Text})
	}
	return all
}

// Rect is one rectangle of a bar.
type Rect struct{ X, Width, Y, Height, Class, Fill, Text string }

// rowHeight is the height of a bar in pixels.
const rowHeight = 22

// Rects returns the rectangles of bars. The height of a rectangle shows how much of the target runs, so that the states
// differ in shape too.
func (c *chart) Rects(bars []week.Bar) (all []Rect) {
	for i := range bars {
		b := &bars[i]
		x, to := c.x(b.From), c.x(b.To)
		r := Rect{X: percent(x), Width: percent(to - x), Y: "0", Height: fmt.Sprint(rowHeight), Class: slug(string(b.State)), Text: c.say(b)}
		if b.Past {
			r.Class += " past"
		}
		r.Fill = "url(#fill-" + slug(string(b.State)) + ")"
		all = append(all, r)
		if b.State == week.Reduced || b.State == week.Mixed {
			h := max(3, min(rowHeight-3, int(b.Running*rowHeight)))
			part := r
			part.Y, part.Height, part.Class, part.Fill = fmt.Sprint(rowHeight-h), fmt.Sprint(h), "awake", "url(#fill-awake)"
			all = append(all, part)
		}
	}
	return all
}

// say returns the text that describes a bar.
func (c *chart) say(b *week.Bar) string {
	return sentence(b) + ", from " + c.v.When(b.From) + " to " + c.v.When(b.To)
}

// sentence returns the state of a bar, with its numbers and its policies.
func sentence(b *week.Bar) string {
	text := cmp.Or(b.Text, string(b.State))
	if b.State == week.Reduced || b.State == week.Raised {
		text += fmt.Sprintf(" to %.0f%%", 100*b.Running)
	}
	if b.Replicas != nil && b.State != week.Unknown {
		text += fmt.Sprintf(" (%s)", workload.Count(int(*b.Replicas), "replica"))
	}
	if len(b.By) > 0 {
		text += ", by " + listed(b.By)
	}
	if b.Past && b.State != week.Unknown {
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
		all[j].Rects = append(all[j].Rects, Rect{X: percent(x), Width: percent(max(to-x, 0.2)), Y: "3", Height: "12", Class: class,
			Fill: "url(#fill-" + class + ")", Text: c.effectFor(e)})
	}
	return all
}

// Band is the band of one freeze or exception in the picture.
type Band struct {
	Policy string
	Rects  []Rect
}

// effectFor returns the effect of a freeze or an exception, with its start and its end.
func (c *chart) effectFor(e *freezes.Entry) string {
	return effect(e) + ", from " + edge(c.v, e.Start, "always") + " until " + edge(c.v, e.End, "for ever")
}

// effect returns the effect of a freeze or an exception, with its reason.
func effect(e *freezes.Entry) string {
	text := e.Effect + " " + strings.Join(e.Actions, ", ")
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
func (c *chart) Entries(bars []week.Bar) (all []Entry) {
	for i := range bars {
		all = append(all, Entry{c.v.When(bars[i].From), c.v.When(bars[i].To), sentence(&bars[i])})
	}
	return all
}

// State returns the state that a row of bars has now.
func (c *chart) State(bars []week.Bar) string { return nowText(bars, c.at) }

// Next returns the next change of state in a row of bars.
func (c *chart) Next(bars []week.Bar) string { return nextText(bars, c.at, c.To, c.v.Zone) }

// Listed is a line of the picture: the heading of a namespace, or a group.
type Listed struct {
	// Space is the name of the namespace, for a heading. Bars is the summary of its targets, and Text their number and states now.
	Space, Text string
	Bars        []week.Bar
	Group       *week.Group
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
func (c *chart) Key(g *week.Group) string { return g.Namespace + " " + strings.Join(g.Policies, " ") }

// rowsInAll returns the number of rows of all groups.
func (c *chart) rowsInAll() (n int) {
	for i := range c.Groups {
		n += len(c.Groups[i].Rows)
	}
	return n
}

// Shows reports whether the page has the rows of a group. Usually it has the rows of all groups. If there are too many
// rows, it has only the rows of the open group.
func (c *chart) Shows(g *week.Group) bool {
	return c.v.Inline || c.Open == c.Key(g) || c.Open == "" && c.rowsInAll() <= FoldAbove
}

// Unfolded reports whether a group is unfolded when the page is opened.
func (c *chart) Unfolded(g *week.Group) bool { return c.Open == c.Key(g) || c.rowsInAll() <= FoldAbove }

// View returns the view, which makes links.
func (c *chart) View() *view { return c.v }

// Count returns the number of targets of a group in words.
func (c *chart) Count(g *week.Group) string { return workload.Count(len(g.Rows), "target") }

func listed(all []string) string { return strings.Join(all, ", ") }

// slug returns a state in the form of a CSS class.
func slug(text string) string { return strings.ReplaceAll(text, " ", "-") }
