package page

import (
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/timeline"
)

// Month is a month of the calendar of freezes, in weeks that begin on Monday.
type Month struct {
	Name  string
	Weeks [][]Date
}

// Date is a cell for a day of a month. It is empty for the cells before the first day.
type Date struct {
	Number string
	// Label names the day and everything in force on it, for screen readers and as a tooltip. It is empty if nothing is in
	// force.
	Label string
	Today bool
	Rects []Rect
}

// Months returns the calendar of the freezes and exceptions of the report, from the report's first month to its last
// month. A freeze of a part of a day is drawn in proportion to the elapsed time.
func (b body) Months() (all []Month) {
	y, m, _ := b.Freezes.From.In(b.v.Zone).Date()
	for ; ; m++ {
		first := timeline.Midnight(time.Date(y, m, 1, 12, 0, 0, 0, b.v.Zone), 0, b.v.Zone)
		if !first.Before(b.Freezes.To) {
			return all
		}
		month := Month{Name: first.In(b.v.Zone).Format("January 2006")}
		row := make([]Date, (int(first.In(b.v.Zone).Weekday())+6)%7)
		for day := 1; ; day++ {
			noon := time.Date(y, m, day, 12, 0, 0, 0, b.v.Zone)
			if noon.Month() != first.In(b.v.Zone).Month() {
				break
			}
			row = append(row, b.date(noon))
			if len(row) == 7 {
				month.Weeks, row = append(month.Weeks, row), nil
			}
		}
		if row != nil {
			month.Weeks = append(month.Weeks, append(row, make([]Date, 7-len(row))...))
		}
		all = append(all, month)
	}
}

// date returns the cell of the day that has the given noon.
func (b body) date(noon time.Time) Date {
	from, to := timeline.Midnight(noon, 0, b.v.Zone), timeline.Midnight(noon, 1, b.v.Zone)
	d := Date{Number: strconv.Itoa(noon.Day()), Today: !b.At.Before(from) && b.At.Before(to)}
	x := func(t time.Time) float64 {
		switch {
		case t.IsZero() || t.After(to):
			return 100
		case t.Before(from):
			return 0
		}
		return 100 * float64(t.Sub(from)) / float64(to.Sub(from))
	}
	var texts []string
	for i := range b.Freezes.Entries {
		e := &b.Freezes.Entries[i]
		if !e.Start.Before(to) || !e.End.IsZero() && !e.End.After(from) {
			continue
		}
		class := "denies"
		if e.Effect != "denies" {
			class = "allows"
		}
		start := 0.0
		if !e.Start.IsZero() {
			start = x(e.Start)
		}
		d.Rects = append(d.Rects, Rect{X: percent(start), Width: percent(max(x(e.End)-start, 4)), Class: class, Fill: "url(#fill-" + class + ")"})
		texts = append(texts, e.Policy+" "+effect(e)+", from "+edge(b.v, e.Start, "always")+" until "+edge(b.v, e.End, "for ever"))
	}
	if len(texts) > 0 {
		d.Label = noon.Format("Mon 2 January") + ": " + strings.Join(texts, "; ")
	}
	return d
}
