package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
)

// bars returns the bars of a target. The bars of the past come from its ledger, and the bars of the future come from
// the plan.
func (w *Week) bars(line *plan.Timeline) (all []Bar) {
	first := line.Steps[0]
	if start := first.At; w.From.Before(start) {
		known := start
		if !first.Since.IsZero() && first.Since.Before(start) {
			known = first.Since
		}
		if known.Before(w.From) {
			known = w.From
		}
		all = add(all, Bar{From: w.From, To: known, State: Unknown, Past: true})
		first.ByUse = false // the past is known
		past := bar(&first, known, start)
		past.Past = true
		all = add(all, past)
	}
	for i := range line.Steps {
		to := w.To
		if i+1 < len(line.Steps) {
			to = line.Steps[i+1].At
		}
		all = add(all, bar(&line.Steps[i], line.Steps[i].At, to))
	}
	return all
}

// bar returns the bar of one step of a plan.
func bar(s *plan.Step, from, to time.Time) Bar {
	b := Bar{From: from, To: to, State: Awake, Running: s.Running, Replicas: s.Replicas, By: s.By}
	switch {
	case s.ByUse:
		b.State = ByUse
	case s.Running <= 0:
		b.State = Asleep
	case s.Running < 1:
		b.State = Reduced
	case s.Running > 1:
		b.State = Raised
	case len(s.By) > 0:
		b.State = Set
	}
	return b
}

// add appends a bar, unless its time is empty. If the bar continues the last bar, add extends the last bar instead.
func add(all []Bar, b Bar) []Bar {
	if !b.From.Before(b.To) {
		return all
	}
	if n := len(all); n > 0 && all[n-1].same(&b) {
		all[n-1].To = b.To
		return all
	}
	return append(all, b)
}

func (b *Bar) same(o *Bar) bool {
	count := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	return b.State == o.State && b.Running == o.Running && count(b.Replicas) == count(o.Replicas) && b.Past == o.Past && b.Text == o.Text &&
		slices.Equal(b.By, o.By)
}

// summarize sets the bars of the folded group. Where all targets have the same state, the bar has this state. Otherwise
// it is mixed, with the counts of targets by state.
func (g *Group) summarize() {
	var edges []time.Time
	for i := range g.Rows {
		for _, b := range g.Rows[i].Bars {
			edges = append(edges, b.From, b.To)
		}
	}
	slices.SortFunc(edges, time.Time.Compare)
	edges = slices.CompactFunc(edges, time.Time.Equal)
	at := make([]int, len(g.Rows)) // the index of each row's bar at the edge
	for i := 0; i+1 < len(edges); i++ {
		sum := Bar{From: edges[i], To: edges[i+1], Past: true}
		counts := map[BarState]int{}
		for j := range g.Rows {
			bars := g.Rows[j].Bars
			for at[j]+1 < len(bars) && !bars[at[j]].To.After(edges[i]) {
				at[j]++
			}
			b := &bars[at[j]]
			counts[b.State]++
			sum.Running += min(b.Running, 1) / float64(len(g.Rows))
			sum.Past = sum.Past && b.Past
			sum.State = b.State
		}
		if len(counts) > 1 {
			sum.State = Mixed
		}
		sum.Text = texts(counts)
		g.Summary = add(g.Summary, sum)
	}
}

// texts formats the numbers of targets by state.
func texts(counts map[BarState]int) string {
	var parts []string
	for _, s := range BarStates() {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}
