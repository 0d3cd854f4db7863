package page_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
)

// TestCalendarHasEachDayOnce checks that the calendar has each day of its months once, in the column of the day of the
// week, also if clocks change. Exactly the days in the list of freezes must be marked.
func TestCalendarHasEachDayOnce(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2037, 3, 20, 0, 0, 0, 0, berlin)
	w := demo(t)
	r, err := page.Of(t.Context(), w, page.Input{Now: from, From: from, To: from.AddDate(0, 0, 7), FreezesTo: from.AddDate(0, 0, 90),
		Zone: berlin})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.View(&out, page.Frame{Nav: "/freezes"}, nil, nil); err != nil {
		t.Fatal(err)
	}
	day, marked := time.Date(2037, 3, 1, 12, 0, 0, 0, berlin), 0
	for _, n := range elements(t, out.String()) {
		if n.Data != "tr" || n.Parent.Parent == nil || attribute(n.Parent.Parent, "class") != "month" || n.Parent.Data != "tbody" {
			continue
		}
		column := 0
		for cell := range n.ChildNodes() {
			if cell.Type != html.ElementNode {
				continue
			}
			if column++; cell.FirstChild == nil {
				continue
			}
			if cell.FirstChild.Data != day.Format("2") || (int(day.Weekday())+6)%7 != column-1 {
				t.Fatalf("column %d has %s for %s", column, cell.FirstChild.Data, day.Format("Mon 2 January"))
			}
			frozen := false
			begin, end := day.Add(-12*time.Hour), day.Add(12*time.Hour)
			for _, e := range r.Freezes.Entries {
				frozen = frozen || e.Start.Before(end) && (e.End.IsZero() || e.End.After(begin))
			}
			if got := strings.Contains(attribute(cell, "title"), day.Format("2 January")); got != frozen {
				t.Errorf("%s is marked: %v, want %v", day.Format(time.DateOnly), got, frozen)
			} else if got {
				marked++
			}
			day = day.AddDate(0, 0, 1)
		}
	}
	if day.Format(time.DateOnly) != "2037-07-01" || marked == 0 {
		t.Errorf("the calendar ends before %s, and %d days are marked", day.Format(time.DateOnly), marked)
	}
}
