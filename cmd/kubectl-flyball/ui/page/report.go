// Package page renders the pages for people: the report in one file, and the views of kubectl flyball ui. Pages are complete
// without a script, name no external address, and have a text for everything that a picture shows. html/template escapes every
// text from the cluster.
//
// A Week arranges a plan as a picture: a row with bars of states for each target, and bands of freezes above. Every instant and every
// state comes from the plan, the ledgers and the agenda of freezes.
package page

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/doctor"
	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/status"
	enginestatus "flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Report has the week, the savings, the freezes and the problems of a world.
type Report struct {
	At      time.Time      `json:"at"`
	Scope   string         `json:"scope"`
	Week    *Week          `json:"week"`
	Savings []Saving       `json:"savings"`
	Freezes freezes.Agenda `json:"freezes"`
	// NextFreeze is the first freeze that begins after At, however far away. It is absent if none is known.
	NextFreeze *freezes.Entry  `json:"nextFreeze,omitempty"`
	Status     status.Overview `json:"status"`
	Health     *doctor.Checkup `json:"health"`
	Missing    []string        `json:"missing,omitempty"`
	// Worth is the worth of all savings.
	Worth enginestatus.Worth `json:"worth,omitzero"`

	zone  *time.Location
	rates enginestatus.Rates
	// Namespace is the only namespace of the report. It is empty for all namespaces.
	Namespace string `json:"-"`
}

// Saving is the sum of the savings of a policy in a namespace.
type Saving struct {
	Namespace string             `json:"namespace,omitempty"`
	Policy    string             `json:"policy"`
	Totals    plan.Totals        `json:"totals"`
	Worth     enginestatus.Worth `json:"worth,omitzero"`
}

// Input selects the content of a report.
type Input struct {
	// Now is the instant at which the objects were read. From is the beginning of the week, and To is its end.
	Now, From, To time.Time
	// FreezesTo is the end of the list of freezes.
	FreezesTo time.Time
	Zone      *time.Location
	// Namespace is the only namespace of the report. It is empty for all namespaces.
	Namespace string
	// Live is true if a manager works on the world.
	Live bool
	// Rates are the rates by which savings are shown as money and CO2.
	Rates enginestatus.Rates
	// Progress is called with each instant that the simulation reaches. It may be nil.
	Progress func(at time.Time)
}

// Of returns the report of a world.
func Of(ctx context.Context, w *source.World, o Input) (*Report, error) {
	at := o.Now
	if o.From.After(at) {
		at = o.From
	}
	r := &Report{At: at.In(o.Zone), Scope: scope(o.Namespace), zone: o.Zone, rates: o.Rates,
		Namespace: o.Namespace, Savings: []Saving{}}
	var err error
	if r.Week, err = WeekOf(ctx, w, WeekOptions{From: o.From, To: o.To, Now: o.Now, Zone: o.Zone, Namespace: o.Namespace,
		Progress: o.Progress}); err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	r.sumUp(o)
	r.Worth = o.worth(r.Week.Totals)
	frozen := freezes.Input{From: at, To: o.FreezesTo, Zone: o.Zone, Namespace: o.Namespace}
	r.Freezes, r.NextFreeze = freezes.Of(memory, frozen), freezes.Next(memory, frozen)
	r.Status = StatusOf(w, memory, at, o)
	if r.Health, err = doctor.Of(w, doctor.Input{Live: o.Live, Namespace: o.Namespace, Now: at}); err != nil {
		return nil, err
	}
	if text := w.Unseen.Note(); text != "" {
		r.Missing = append(r.Missing, text)
	}
	return r, nil
}

// WithFreezes returns the report with the freezes of a time that begins at At and ends at another instant.
func (r *Report) WithFreezes(w *source.World, to time.Time) (*Report, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	own := *r
	own.Freezes = freezes.Of(memory, freezes.Input{From: r.At, To: to, Zone: r.zone, Namespace: r.Namespace})
	return &own, nil
}

// sumUp adds the savings of each policy in each namespace, in order.
func (r *Report) sumUp(o Input) {
	for i := range r.Week.Groups {
		g := &r.Week.Groups[i]
		for by, share := range g.Shares() {
			at, found := slices.BinarySearchFunc(r.Savings, by, func(s Saving, by string) int {
				return cmp.Or(cmp.Compare(s.Namespace, g.Namespace), cmp.Compare(s.Policy, by))
			})
			if !found {
				r.Savings = slices.Insert(r.Savings, at, Saving{Namespace: g.Namespace, Policy: by})
			}
			r.Savings[at].Totals.Add(share)
		}
	}
	for i := range r.Savings {
		r.Savings[i].Worth = o.worth(r.Savings[i].Totals)
	}
}

// scope names the namespaces of a page.
func scope(namespace string) string { return cmp.Or(namespace, "all namespaces") }

func (o Input) worth(t plan.Totals) enginestatus.Worth {
	return o.Rates.Of(t.CPUHoursSaved, t.MemoryGiBHoursSaved)
}

// StatusOf returns the overview of a world at an instant.
func StatusOf(w *source.World, memory *world.Memory, at time.Time, o Input) status.Overview {
	v := status.Input{At: at, Zone: o.Zone, Live: o.Live, Unread: func(p *world.Policy) string {
		if w.HidesCalendarsOf(p) {
			return "it uses calendars, which you may not list"
		}
		return ""
	}}
	if o.Live {
		v.Namespace = o.Namespace
		v.Judged = status.CountJudged(memory, func(*world.Policy) bool { return len(w.Unseen) == 0 })
	}
	return status.Of(memory, v)
}

// Problems returns the policies with a problem.
func (r *Report) Problems() []status.Policy {
	return slices.DeleteFunc(slices.Clone(r.Status.Policies), func(p status.Policy) bool { return p.Problem == "" && len(p.Failures) == 0 })
}

// Ill returns the checks that found a problem or could not be made.
func (r *Report) Ill() []doctor.Check {
	return slices.DeleteFunc(slices.Clone(r.Health.Checks), func(c doctor.Check) bool { return c.Outcome == doctor.OK })
}

// HTML writes the report as one file.
func (r *Report) HTML(out io.Writer) error {
	v := &view{Title: "Flyball: " + r.Scope, Zone: r.zone, Inline: true}
	v.Body = body{Report: r, v: v}
	return execute(out, "report", v)
}

// Names implements printer.Finding.
func (r *Report) Names() []string {
	var names []string
	for i := range r.Week.Groups {
		for _, row := range r.Week.Groups[i].Rows {
			names = append(names, row.Target)
		}
	}
	return names
}

// Text implements printer.Finding.
func (r *Report) Text(w *printer.Writer) {
	w.Line("%s, from %s to %s", r.Scope, printer.InstantText(r.Week.From, r.zone), printer.InstantText(r.Week.To, r.zone))
	w.Heading("%s", spanName(r.Week.From, r.Week.To))
	if r.Week.Empty != "" {
		w.Line("  %s", r.Week.Empty)
	}
	rows := [][]printer.Cell{}
	for i := range r.Week.Groups {
		g := &r.Week.Groups[i]
		rows = append(rows, printer.Row(cmp.Or(g.Namespace, "cluster"), listed(g.Policies), count(len(g.Rows), "target"),
			nowText(g.Summary, r.At), r.nextText(g.Summary)))
	}
	if len(rows) > 0 {
		w.Grid("  ", []string{"NAMESPACE", "POLICIES", "TARGETS", "NOW", "NEXT"}, rows)
	}
	w.Heading("Savings from %s on", printer.InstantText(r.At, r.zone))
	rows = nil
	for _, s := range append(slices.Clone(r.Savings), Saving{"all", "", r.Week.Totals, r.Worth}) {
		cells := append([]string{cmp.Or(s.Namespace, "cluster"), s.Policy, fmt.Sprintf("%.1f", s.Totals.ReplicaHoursSaved),
			fmt.Sprintf("%.1f", s.Totals.CPUHoursSaved), fmt.Sprintf("%.1f", s.Totals.MemoryGiBHoursSaved)}, s.Worth.Cells()...)
		rows = append(rows, printer.Row(cells...))
	}
	heads := []string{"NAMESPACE", "POLICY", "REPLICA HOURS", "CPU HOURS", "MEMORY GIB HOURS"}
	for _, head := range r.rates.Heads() {
		heads = append(heads, strings.ToUpper(head))
	}
	w.Grid("  ", heads, rows)
	w.Heading("Freezes")
	r.Freezes.Text(w)
	w.Heading("Problems")
	r.textProblems(w)
	for _, n := range slices.Concat(r.Week.Notes, r.Missing) {
		w.Line("note: %s", n)
	}
}

func (r *Report) textProblems(w *printer.Writer) {
	problems, ill := r.Problems(), r.Ill()
	if len(problems)+len(ill) == 0 {
		w.Line("  none")
	}
	for _, p := range problems {
		w.Line("  %s: %s", policyID(p), p.Problem)
		for _, f := range p.Failures {
			w.Line("    %s %s/%s: %s", f.Kind, f.Namespace, f.Name, f.Message)
		}
	}
	for _, c := range ill {
		for _, d := range c.Details {
			w.Line("  %s (%s): %s", c.Name, c.Outcome, d)
		}
	}
}

func policyID(p status.Policy) string {
	return workload.Policy{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}.String()
}

// at returns the bar at an instant, or nil.
func at(bars []Bar, t time.Time) *Bar {
	for i := range bars {
		if !bars[i].From.After(t) && bars[i].To.After(t) {
			return &bars[i]
		}
	}
	return nil
}

// nowText returns the state of a row of bars at an instant, as text.
func nowText(bars []Bar, t time.Time) string {
	b := at(bars, t)
	switch {
	case b == nil:
		return ""
	case b.State == Mixed:
		return b.Text
	}
	return string(b.State)
}

// nextText returns the next change of state after now, as text.
func (r *Report) nextText(bars []Bar) string { return nextText(bars, r.At, r.Week.To, r.zone) }

// short formats an instant without its time zone, because the picture beside it shows the zone. An instant in the next
// six days has the day of the week. Any later instant has the date.
func short(t, now time.Time, zone *time.Location) string {
	if t.Sub(now) < 6*24*time.Hour {
		return t.In(zone).Format("Mon 15:04")
	}
	return t.In(zone).Format("2 Jan 15:04")
}

func nextText(bars []Bar, t, end time.Time, zone *time.Location) string {
	for b := at(bars, t); b != nil; {
		next := at(bars, b.To)
		if next == nil || !b.To.Before(end) {
			break
		}
		if next.State != b.State || next.Text != b.Text {
			return nowText(bars, b.To) + " from " + short(b.To, t, zone)
		}
		b = next
	}
	return "no change"
}
