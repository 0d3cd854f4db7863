package page

import (
	"cmp"
	"fmt"
	"slices"
)

// savedRow is a row of the picture of savings: the days of a namespace.
type savedRow struct {
	Name, Text string
	Days       []savedDay
	Rects      []Rect
}

// savedDay is a day of a namespace as text.
type savedDay struct{ Day, Asleep, Reduced, Kept string }

// savedHeight is the height of a row in pixels. mostSpaces is the largest number of rows: the namespaces that save least
// share the last row.
const savedHeight, mostSpaces = 48, 12

// savedChart is the picture of savings by day and namespace.
type savedChart struct {
	*chart
	Spaces []savedRow
	// Most is the height of the picture's rows in replica hours a day.
	Most string
}

// Saved returns the picture of savings by day, or nil if nothing is saved and nothing kept awake.
func (b body) Saved() *savedChart {
	spaces := b.Week.Spaces()
	most := 0.0
	spaces = joined(spaces)
	for _, s := range spaces {
		for _, d := range s.Days {
			most = max(most, d.Asleep+d.Reduced+d.Kept)
		}
	}
	if most <= 0 {
		return nil
	}
	c := &savedChart{chart: newChart(b.v, b.Week, b.At), Most: amount(most)}
	for _, s := range spaces {
		c.Spaces = append(c.Spaces, c.row(s, most))
	}
	return c
}

// joined returns at most mostSpaces spaces. It adds up the spaces that save least.
func joined(all []Space) []Space {
	if len(all) <= mostSpaces {
		return all
	}
	saves := func(s Space) (sum float64) {
		for _, d := range s.Days {
			sum += d.Asleep + d.Reduced + d.Kept
		}
		return sum
	}
	slices.SortStableFunc(all, func(a, b Space) int { return cmp.Compare(saves(b), saves(a)) })
	rest := Space{Namespace: count(len(all)-mostSpaces+1, "more namespace"), Days: slices.Clone(all[mostSpaces-1].Days)}
	for _, s := range all[mostSpaces:] {
		for i := range rest.Days {
			rest.Days[i].Add(s.Days[i].Saved)
			rest.Days[i].Kept += s.Days[i].Kept
		}
	}
	return append(all[:mostSpaces-1], rest)
}

// row draws the days of a namespace as columns. A column has the hours asleep at the bottom, then those reduced, then those
// that Overrides keep awake.
func (c *savedChart) row(s Space, most float64) savedRow {
	row := savedRow{Name: cmp.Or(s.Namespace, "cluster")}
	var saved, kept float64
	for _, d := range s.Days {
		text := savedDay{d.From.In(c.v.Zone).Format("Mon 2 Jan"), amount(d.Asleep), amount(d.Reduced), amount(d.Kept)}
		saved, kept = saved+d.All(), kept+d.Kept
		row.Days = append(row.Days, text)
		x, to, top := c.x(d.From), c.x(d.To), float64(savedHeight)
		say := fmt.Sprintf("%s: %s replica hours asleep, %s reduced, %s kept awake by Overrides.", text.Day, text.Asleep, text.Reduced, text.Kept)
		for _, part := range []struct {
			hours float64
			class string
		}{{d.Asleep, "asleep"}, {d.Reduced, "part"}, {d.Kept, "awake"}} {
			height := part.hours / most * (savedHeight - 4)
			if height <= 0 {
				continue
			}
			top -= height
			row.Rects = append(row.Rects, Rect{X: percent(x + (to-x)*0.1), Width: percent((to - x) * 0.8), Y: fmt.Sprintf("%.1f", top),
				Height: fmt.Sprintf("%.1f", height), Class: part.class, Fill: "url(#fill-" + part.class + ")", Text: say})
		}
	}
	row.Text = amount(saved) + " saved"
	if kept > 0 {
		row.Text += ", " + amount(kept) + " kept awake"
	}
	return row
}
