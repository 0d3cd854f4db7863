package suggest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// Quantity is a request. It has the owner's request, the recommended request, and the reasons.
type Quantity struct {
	// Own is the owner's request. It is absent if the owner has set none.
	Own         string   `json:"own,omitempty"`
	Recommended string   `json:"recommended,omitempty"`
	Reasons     []string `json:"reasons"`
}

// Container has the requests of a container.
type Container struct {
	Name string `json:"name"`
	// Scaled is true for the container whose CPU usage sets the number of replicas.
	Scaled bool     `json:"scaled"`
	CPU    Quantity `json:"cpu"`
	Memory Quantity `json:"memory"`
}

// Number is a number of an autoscaler, such as its minimum.
type Number struct {
	// Own is the owner's number. It is absent if the owner has set none.
	Own         *int64   `json:"own,omitempty"`
	Recommended int64    `json:"recommended"`
	Reasons     []string `json:"reasons"`
}

// Autoscaler has the numbers of the autoscaler. If no autoscaler exists, it has the numbers of a recommended
// autoscaler.
type Autoscaler struct {
	// Name is the name of the autoscaler. It is absent if no autoscaler exists.
	Name        string `json:"name,omitempty"`
	Min         Number `json:"min"`
	Max         Number `json:"max"`
	Utilisation Number `json:"utilisation"`
}

// Hour is the recommended minimum for the hour that begins at From.
type Hour struct {
	From time.Time `json:"from"`
	Min  int       `json:"min"`
}

// History describes the samples from which the numbers were computed.
type History struct {
	Samples int       `json:"samples"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
}

// Demand is the CPU demand of the scaled container, summed over all pods.
type Demand struct {
	Expected string `json:"expected"`
	// Upper is the upper bound of the demand that is expected until a pod started now would be ready.
	Upper string `json:"upper"`
	// Loss is the mean error of the hourly peaks expected from earlier days, as a share.
	Loss float64 `json:"loss"`
}

// Total is the request of all pods together.
type Total struct {
	Replicas int    `json:"replicas"`
	CPU      string `json:"cpu"`
	Memory   string `json:"memory"`
}

// Totals compare the requests of all pods. Own has the requests of the pods in the last sample. Recommended has the
// requests of the pods that serve the same demand with the recommended numbers.
type Totals struct {
	Own         Total `json:"own"`
	Recommended Total `json:"recommended"`
}

// Requests is the result of suggest requests.
type Requests struct {
	Target  string `json:"target"`
	Profile string `json:"profile"`
	// Tortoise is the Tortoise whose rules were used. It is absent if the defaults were used.
	Tortoise    string      `json:"tortoise,omitempty"`
	At          time.Time   `json:"at"`
	Phase       string      `json:"phase"`
	PhaseReason string      `json:"phaseReason,omitempty"`
	Settled     bool        `json:"settled"`
	Containers  []Container `json:"containers"`
	// Autoscaler is absent if the kind has no replicas.
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	Hours      []Hour      `json:"hours,omitempty"`
	Demand     *Demand     `json:"demand,omitempty"`
	Totals     Totals      `json:"totals"`
	// BackTest is absent if the history is short or there is no autoscaler.
	BackTest *BackTest `json:"backTest,omitempty"`
	History  History   `json:"history"`

	zone *time.Location
}

// requestsOf returns the result, with the numbers of a replay in the units of Kubernetes.
func requestsOf(s *analysis.Subject, profile string, at time.Time, o *analysis.Replayed, zone *time.Location) *Requests {
	f := &Requests{
		Target: s.Ref.String(), Profile: profile, At: at.In(zone), Phase: o.Phase, PhaseReason: o.PhaseReason, Settled: o.Settled, zone: zone,
		History: History{o.Samples, o.First.In(zone), o.Last.In(zone)},
		Totals:  Totals{totalOf(o.Now), totalOf(o.Then)},
	}
	for _, c := range o.Containers {
		f.Containers = append(f.Containers, Container{c.Name, c.Scaled, quantityOf(c.CPU, cpuText), quantityOf(c.Memory, memoryText)})
	}
	if o.Demand > 0 {
		f.Demand = &Demand{cpuText(int64(o.Demand + 0.5)), cpuText(int64(o.Upper + 0.5)), o.Loss}
	}
	if !s.Scalable {
		return f
	}
	f.Autoscaler = &Autoscaler{Min: numberOf(o.Min), Max: numberOf(o.Max), Utilisation: numberOf(o.Utilisation)}
	if s.Autoscaler != nil {
		f.Autoscaler.Name = s.Autoscaler.String()
		f.Autoscaler.Min.Own, f.Autoscaler.Max.Own = s.Autoscaler.Bounds.Min, s.Autoscaler.Bounds.Max
		if u := s.Target(); u != nil {
			f.Autoscaler.Utilisation.Own = &u.Percent
		}
	}
	if s.Autoscaler == nil {
		f.Autoscaler.Max.Reasons = []string{"there is no autoscaler now: the most that is allowed"}
	}
	for _, h := range o.Hours {
		f.Hours = append(f.Hours, Hour{h.From.In(zone), h.Min})
	}
	return f
}

func totalOf(t analysis.Total) Total { return Total{t.Replicas, cpuText(t.CPU), memoryText(t.Memory)} }

func quantityOf(n analysis.Number, text func(int64) string) Quantity {
	q := Quantity{Reasons: n.Reasons}
	if n.Own != 0 {
		q.Own = text(n.Own)
	}
	if n.Recommended != 0 {
		q.Recommended = text(n.Recommended)
	}
	return q
}

func numberOf(n analysis.Number) Number {
	return Number{Recommended: n.Recommended, Reasons: n.Reasons}
}

func cpuText(milli int64) string { return strconv.FormatInt(milli, 10) + "m" }

// memoryText formats memory in Mi, rounded up. If the value is too small for Mi, it uses a smaller unit.
func memoryText(bytes int64) string {
	const mebi = 1 << 20
	if bytes > -mebi && bytes < mebi {
		return resource.NewQuantity(bytes, resource.BinarySI).String()
	}
	rounded := bytes / mebi
	if bytes > 0 && bytes%mebi != 0 {
		rounded++
	}
	return strconv.FormatInt(rounded, 10) + "Mi"
}

// TooLittle reports whether the history is still too short for a recommendation.
func (f *Requests) TooLittle() bool {
	return f.Phase == string(tune.Initializing) || f.Phase == string(tune.GatheringData)
}

// Names implements printer.Finding.
func (f *Requests) Names() []string { return []string{f.Target} }

// Text implements printer.Finding.
func (f *Requests) Text(w *printer.Writer) {
	w.Heading("%s at %s, profile %s", f.Target, f.At.Format(printer.InstantLayout), f.Profile)
	switch {
	case f.Autoscaler == nil:
		w.Line("  it has no replicas to scale: bounds and utilisation are not for it")
	case f.Autoscaler.Name == "":
		w.Line("  no autoscaler governs it: bounds and utilisation are for one that would be made")
	default:
		w.Line("  governed by %s", f.Autoscaler.Name)
	}
	if f.Tortoise != "" {
		w.Line("  tuned as %s says", f.Tortoise)
	}
	w.Line("  %d samples, %s to %s", f.History.Samples, f.History.From.Format(printer.InstantLayout),
		f.History.To.Format(printer.InstantLayout))
	w.Line("  %s", f.State())
	if !f.Settled {
		w.Line("  more history can still change these numbers")
	}
	w.Heading("Recommended")
	w.Grid("  ", []string{"OF", "NOW", "RECOMMENDED"}, f.rows())
	if f.Demand != nil {
		w.Line("  demand now %s of CPU, up to %s is usual in this hour; days differ by about %.1f %%", f.Demand.Expected, f.Demand.Upper,
			100*f.Demand.Loss)
	}
	if own, then := f.Totals.Own, f.Totals.Recommended; !f.TooLittle() {
		w.Line("  at the last sample %d pods requested %s of CPU and %s of memory; with these numbers it would be %d, with %s and %s",
			own.Replicas, own.CPU, own.Memory, then.Replicas, then.CPU, then.Memory)
	}
	f.hours(w)
	f.backTest(w)
	w.Heading("Why")
	for _, l := range f.Lines() {
		because(w, l.Of, l.Reasons)
	}
}

func because(w *printer.Writer, of string, reasons []string) {
	w.Line("  %s", of)
	for _, why := range reasons {
		w.Line("    %s", why)
	}
}

// rows returns the rows of the table: each number with its present value.
func (f *Requests) rows() [][]printer.Cell {
	var rows [][]printer.Cell
	for _, l := range f.Lines() {
		style := printer.Plain
		if l.Recommended != l.Now {
			style = printer.Bold
		}
		if l.Of == "minimum" {
			l.Of = "minimum now"
		}
		rows = append(rows, []printer.Cell{{Text: l.Of}, {Text: cmp.Or(l.Now, "-")}, {Text: cmp.Or(l.Recommended, "-"), Style: style}})
	}
	return rows
}

// line returns the number with its present value, in a unit.
func (n *Number) line(of, unit string) Line {
	now := ""
	if n.Own != nil {
		now = strconv.FormatInt(*n.Own, 10) + unit
	}
	return Line{of, now, strconv.FormatInt(n.Recommended, 10) + unit, n.Reasons}
}

// hoursPerRow is the number of hours in a row of the table of minima.
const hoursPerRow = 12

// hours writes the recommended minima of the next day.
func (f *Requests) hours(w *printer.Writer) {
	if len(f.Hours) == 0 {
		return
	}
	w.Heading("By hour, from %s", f.Hours[0].From.Format(printer.InstantLayout))
	for from := 0; from < len(f.Hours); from += hoursPerRow {
		row := f.Hours[from:min(from+hoursPerRow, len(f.Hours))]
		var head, low strings.Builder
		head.WriteString("  hour   ")
		low.WriteString("  minimum")
		for _, h := range row {
			fmt.Fprintf(&head, " %4s", h.From.In(f.zone).Format("15"))
			fmt.Fprintf(&low, " %4d", h.Min)
		}
		w.Line("%s", head.String())
		w.Line("%s", low.String())
	}
}
