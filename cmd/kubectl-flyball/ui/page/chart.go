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

// foldAbove is the number of rows in a picture above which groups without a choice are folded.
const foldAbove = 150

// chart is a week with the geometry of its picture. Distances are per cent of the width, in proportion to elapsed time.
type chart struct {
	*week.Week
	v *view
	// at is the instant of "now": that of the reading, or the beginning of a week in the future.
	at time.Time
	// Open is the only group to show, or "" for all.
	Open string
}

// newChart returns the picture of a week.
func newChart(v *view, k *week.Week, at time.Time) *chart { return &chart{Week: k, v: v, at: at} }

// x returns the place of an instant.
func (c *chart) x(t time.Time) float64 {
	switch {
	case t.IsZero() || t.After(c.To):
		return 100
	case t.Before(c.From):
		return 0
	}
	return 100 * float64(t.Sub(c.From)) / float64(c.To.Sub(c.From))
}

// X returns the place of an instant as an SVG length.
func (c *chart) X(t time.Time) string { return percent(c.x(t)) }

func percent(f float64) string { return fmt.Sprintf("%.4f%%", f) }

// NowInside reports whether the picture has a line for now.
func (c *chart) NowInside() bool { return c.Now.After(c.From) && c.Now.Before(c.To) }

// Day is the label of a day.
type Day struct{ X, TextX, Text, Short string }

// Labels returns the labels of the days: each in a week, every few in a longer time.
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

// Hours returns the hours of a picture of at most two days, and the noons of one of at most eight. The label has the local time,
// so a change of the clocks moves it.
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

// Jump is the mark of a change of the clocks.
type Jump struct{ X, Width, Text string }

// Jumps returns the marks of the changes of the clocks.
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

// Rects returns the rectangles of bars. The height is how much runs, so the states differ in shape too.
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

// say returns the text of a bar.
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

// Bands returns the freezes and exceptions of the time, one line each policy.
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

// Band is the line of one freeze or exception.
type Band struct {
	Policy string
	Rects  []Rect
}

// effectFor returns the effect with its time.
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

// Entry is the text of one bar.
type Entry struct{ From, To, Text string }

// Entries returns the bars as text.
func (c *chart) Entries(bars []week.Bar) (all []Entry) {
	for i := range bars {
		all = append(all, Entry{c.v.When(bars[i].From), c.v.When(bars[i].To), sentence(&bars[i])})
	}
	return all
}

// State returns the state of bars now.
func (c *chart) State(bars []week.Bar) string { return nowText(bars, c.at) }

// Next returns the next change of bars.
func (c *chart) Next(bars []week.Bar) string { return nextText(bars, c.at, c.To, c.v.Zone) }

// Key names a group in addresses.
func (c *chart) Key(g *week.Group) string { return g.Namespace + " " + strings.Join(g.Policies, " ") }

// rowsInAll returns the number of rows.
func (c *chart) rowsInAll() (n int) {
	for i := range c.Groups {
		n += len(c.Groups[i].Rows)
	}
	return n
}

// Shows reports whether the rows of a group are part of the page: those of all groups, unless there are too many.
func (c *chart) Shows(g *week.Group) bool {
	return c.v.Inline || c.Open == c.Key(g) || c.Open == "" && c.rowsInAll() <= foldAbove
}

// Unfolded reports whether a group is open at first.
func (c *chart) Unfolded(g *week.Group) bool { return c.Open == c.Key(g) || c.rowsInAll() <= foldAbove }

// View returns the view, for links.
func (c *chart) View() *view { return c.v }

// Count returns the number of targets of a group in words.
func (c *chart) Count(g *week.Group) string { return workload.Count(len(g.Rows), "target") }

func listed(all []string) string { return strings.Join(all, ", ") }

// slug returns a state as the name of a class.
func slug(text string) string { return strings.ReplaceAll(text, " ", "-") }
