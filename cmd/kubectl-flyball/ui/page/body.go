package page

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/doctor"
	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/engine/status"
)

// body is the content of a view of the report.
type body struct {
	*Report
	v    *view
	open string
	// Verdict is the answer to the question whether a change is allowed. It is nil if nothing was asked.
	Verdict *Verdict
}

// Verdict is the answer to the question whether a change is allowed.
type Verdict struct {
	Allowed bool
	// Text is the answer as can-i prints it. Command is the command line of can-i. Unseen names the objects that could not
	// be read.
	Text, Command, Unseen string
	// Fault is the reason why there is no answer.
	Fault string
}

// View returns the view.
func (b body) View() *view { return b.v }

// Chart returns the picture of the week.
func (b body) Chart() *chart {
	c := newChart(b.v, b.Week, b.At)
	c.Open = b.open
	return c
}

// Asleep returns the number of targets asleep or reduced now.
func (b body) Asleep() (n int) {
	for i := range b.Week.Groups {
		for _, row := range b.Week.Groups[i].Rows {
			if now := at(row.Bars, b.At); now != nil && (now.State == Asleep || now.State == Reduced) {
				n++
			}
		}
	}
	return n
}

// Frozen returns the number of freezes and maintenance windows that deny changes now.
func (b body) Frozen() int { return len(b.FrozenNow()) }

// FrozenNow returns the policies that deny changes now, in order.
func (b body) FrozenNow() (all []freezes.Entry) {
	for _, e := range b.Freezes.Entries {
		if e.Effect == "denies" && !e.Start.After(b.At) && (e.End.IsZero() || e.End.After(b.At)) {
			all = append(all, e)
		}
	}
	return all
}

// DaysUntil says in words how far away an instant is.
func (b body) DaysUntil(t time.Time) string {
	if days := int(t.Sub(b.At).Hours() / 24); days > 0 {
		return "in " + count(days, "day")
	}
	return "in less than a day"
}

// SpanName names the length of time of the picture.
func (b body) SpanName() string { return spanName(b.Week.From, b.Week.To) }

// FrozenWord returns the noun that follows the number Frozen.
func (b body) FrozenWord() string { return plural(b.Frozen(), "freeze") }

// Trouble returns the number of problems.
func (b body) Trouble() int {
	n := len(b.Problems())
	for _, c := range b.Health.Checks {
		if c.Outcome == doctor.Problem {
			n++
		}
	}
	return n
}

// TroubleWord returns the noun that follows the number Trouble.
func (b body) TroubleWord() string { return plural(b.Trouble(), "problem") }

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// strip is the picture of a row of bars.
type strip struct{ Label, Shape string }

// Strip returns the picture of a row of bars.
func (c *chart) Strip(bars []Bar, about string) strip {
	return strip{about + ": now " + c.State(bars) + "; " + c.Next(bars), c.shape(bars)}
}

// Edge formats the start or the end of a freeze. For the zero time it returns the text none.
func (v *view) Edge(t time.Time, none string) string { return edge(v, t, none) }

// Effect returns the effect of a freeze or an exception, with its reason.
func (v *view) Effect(e *freezes.Entry) string { return effect(e) }

// Heads returns the column heads for the worth of savings.
func (b body) Heads() []string { return b.rates.Heads() }

// worthCell is the worth of a saving in one unit, with the column head. Unit is the noun of the tile.
type worthCell struct{ Head, Text, Unit string }

// WorthCells returns the cells for the worth of a saving.
func (b body) WorthCells(w status.Worth) (cells []worthCell) {
	heads := b.Heads()
	if w.Cost != nil {
		cells = append(cells, worthCell{heads[0], money(*w.Cost), cmp.Or(w.Currency, "of cost")})
	}
	if w.CO2Grams != nil {
		cells = append(cells, worthCell{heads[len(heads)-1], grouped(int(math.Round(*w.CO2Grams))), "g of CO2"})
	}
	return cells
}

// money formats an amount of money: with two decimals below a hundred, and else whole.
func money(f float64) string {
	if math.Abs(f) < 99.995 {
		return strconv.FormatFloat(f, 'f', 2, 64)
	}
	return grouped(int(math.Round(f)))
}
