package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Tuning is the content of the page about tuning.
type Tuning struct {
	// World has the recommendations that Tortoises have made.
	World *source.World
	// HasHistory is true if the command names a source of usage, so that a target can be asked about.
	HasHistory bool
	// Object is the target asked about. Result is the answer, and Fault is the reason why there is none.
	Object string
	Result *suggest.Result
	Fault  string
}

// View writes the page.
func (t Tuning) View(out io.Writer, f Frame) error {
	return execute(out, "tuning", f.view("tuning", tuningBody{t, f.Zone}))
}

// tuningBody is the content of the page, in the form of the template.
type tuningBody struct {
	Tuning
	zone *time.Location
}

// tuned is the recommendation of a Tortoise for a target.
type tuned struct {
	Ref                          workload.Ref
	Policy, Mode, Phase, Waiting string
	// TakenBack is the reason why the last requests were taken back.
	TakenBack string
	Lines     []tunedLine
	Reasons   []string
	// Effect is the effect of the numbers on a pod in a sentence.
	Effect string
	status *v1alpha1.RecommendationStatus
}

// tunedSpace has the recommendations of a namespace. YAML has those with a recommendation as patches.
type tunedSpace struct {
	Namespace, YAML string
	Targets         []tuned
}

// Spaces returns the recommendations of Tortoises by namespace.
func (t tuningBody) Spaces() (all []tunedSpace) {
	for _, one := range t.Tuned() {
		if len(all) == 0 || all[len(all)-1].Namespace != one.Ref.Namespace {
			all = append(all, tunedSpace{Namespace: one.Ref.Namespace})
		}
		space := &all[len(all)-1]
		space.Targets = append(space.Targets, one)
		space.YAML += t.patches(&one)
	}
	return all
}

// tunedLine is a recommended number beside the present value of its owner.
type tunedLine struct {
	suggest.Line
	Applied bool
}

// Tuned returns the recommendations of Tortoises, by target.
func (t tuningBody) Tuned() (all []tuned) {
	for _, r := range t.World.Recommendations {
		st := &r.Status
		one := tuned{Policy: r.Spec.Policy, Phase: st.Phase, Waiting: st.Waiting, Mode: string(st.Mode), Reasons: st.Reasons,
			Ref: workload.Ref{GroupKind: schema.GroupKind{Group: r.Spec.Target.Group, Kind: r.Spec.Target.Kind}, Namespace: r.Namespace,
				Name: r.Spec.Target.Name}}
		if st.PhaseReason != "" {
			one.Phase += ": " + st.PhaseReason
		}
		if st.TakenBack != nil {
			one.TakenBack = st.TakenBack.Message
		}
		one.status, one.Effect = st, podEffect(st.Containers)
		for _, c := range st.Containers {
			one.request(c.Name+" cpu", c.CPU)
			one.request(c.Name+" memory", c.Memory)
		}
		if a := st.Autoscaler; a != nil {
			one.number("minimum", "", &a.Min)
			one.number("maximum", "", &a.Max)
			one.number("utilisation", " %", a.Utilisation)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b tuned) int {
		return cmp.Or(cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), a.Ref.Compare(b.Ref))
	})
	return all
}

func (t *tuned) request(of string, r *v1alpha1.RecommendedRequest) {
	if r != nil {
		now := ""
		if r.Own != nil {
			now = r.Own.String()
		}
		t.add(of, now, r.Recommended.String(), r.Reason, r.Applied)
	}
}

func (t *tuned) number(of, unit string, n *v1alpha1.RecommendedNumber) {
	if n != nil {
		now := ""
		if n.Own != nil {
			now = strconv.Itoa(int(*n.Own)) + unit
		}
		t.add(of, now, strconv.Itoa(int(n.Recommended))+unit, n.Reason, n.Applied)
	}
}

func (t *tuned) add(of, now, recommended, reason string, applied bool) {
	l := suggest.Line{Of: of, Now: now, Recommended: recommended}
	if reason != "" {
		l.Reasons = []string{reason}
	}
	t.Lines = append(t.Lines, tunedLine{l, applied})
}

// plot is the history of one resource of a container.
type plot struct {
	Title, Label string
	// Top and Half are the labels of the vertical axis, and Ticks those of the horizontal axis.
	Top, Half string
	Ticks     []Day
	// Lines are the points of the usage. A time without samples begins another line.
	Lines []string
	// Requested and Recommended are the heights of the two requests, or empty.
	Requested, Recommended string
	Days                   []plotDay
}

// plotDay is the usage of a day as text.
type plotDay struct{ Day, Mean, Most string }

// These are the measures of a plot. A plot has as many steps as it can show.
const plotWidth, plotHeight, plotSteps = 600, 110, 300

// Plots returns the history of the result.
func (t tuningBody) Plots() (all []plot) {
	f := t.Result.Finding
	for _, c := range f.Containers {
		for _, r := range []struct {
			name string
			is   suggest.Quantity
			of   func(workload.Sample) float64
			unit float64
			// in is the unit of the axis, which is axis times that of the samples.
			in     string
			axis   float64
			digits int
		}{{"CPU", c.CPU, func(s workload.Sample) float64 { return s.CPU }, 1000, "cores", 1000, 2},
			{"memory", c.Memory, func(s workload.Sample) float64 { return s.Memory }, 1, "MiB", 1 << 20, 0}} {
			h := usage{zone: t.zone, from: f.History.From, to: f.History.To, text: func(v float64) string { return amountText(v, r.name) },
				label: func(v float64) string { return strconv.FormatFloat(v/r.axis, 'f', r.digits, 64) }}
			for _, s := range t.Result.Samples {
				if v := r.of(s); s.Container == c.Name && v >= 0 {
					h.add(s.At, v)
				}
			}
			if len(h.all) > 0 {
				p := h.plot(amountOf(r.is.Own)*r.unit, amountOf(r.is.Recommended)*r.unit)
				p.Title = c.Name + " " + r.name + " in " + r.in
				p.Label = fmt.Sprintf("%s %s of a pod: at most %s, requested %s, recommended %s", c.Name, r.name, h.text(h.most),
					cmp.Or(r.is.Own, "nothing"), cmp.Or(r.is.Recommended, "nothing"))
				all = append(all, p)
			}
		}
	}
	return all
}

// amountOf returns a quantity as a number, or zero.
func amountOf(text string) float64 {
	q, _ := workload.ParseQuantity(text)
	return q.AsApproximateFloat64()
}

// amountText formats an amount of milli-CPU or of bytes.
func amountText(v float64, name string) string {
	if name == "CPU" {
		return strconv.Itoa(int(v+0.5)) + "m"
	}
	return strconv.Itoa(int(v/(1<<20)+0.5)) + "Mi"
}

// usage is the usage of a resource over time.
type usage struct {
	zone     *time.Location
	from, to time.Time
	// text formats an amount with its unit, and label without it.
	text, label func(float64) string
	all         []used
	most        float64
}

type used struct {
	at    time.Time
	value float64
}

func (h *usage) add(at time.Time, value float64) {
	h.all, h.most = append(h.all, used{at, value}), max(h.most, value)
}

// plot draws the usage beside the requests. A step of the picture has the largest usage of its time.
func (h *usage) plot(requested, recommended float64) (p plot) {
	top := 1.1 * max(h.most, requested, recommended)
	p.Top, p.Half, p.Ticks = h.label(top), h.label(top/2), h.ticks()
	y := func(v float64) string { return strconv.FormatFloat(plotHeight*(1-v/max(top, 1e-9)), 'f', 1, 64) }
	span := max(h.to.Sub(h.from), time.Second)
	line, last := "", -1
	for i := 0; i < len(h.all); {
		step, most := int(plotSteps*h.all[i].at.Sub(h.from)/(span+1)), 0.0
		for ; i < len(h.all) && int(plotSteps*h.all[i].at.Sub(h.from)/(span+1)) == step; i++ {
			most = max(most, h.all[i].value)
		}
		if last >= 0 && step > last+plotSteps/20 {
			p.Lines, line = append(p.Lines, line), ""
		}
		line += strconv.FormatFloat(plotWidth*float64(step)/plotSteps, 'f', 1, 64) + "," + y(most) + " "
		last = step
	}
	p.Lines = append(p.Lines, line)
	if requested > 0 {
		p.Requested = y(requested)
	}
	if recommended > 0 {
		p.Recommended = y(recommended)
	}
	p.Days = h.days()
	return p
}

// mostTicks is the largest number of days with a label below a plot.
const mostTicks = 8

// ticks returns the days of the plot.
func (h *usage) ticks() (all []Day) {
	span := h.to.Sub(h.from)
	every := max(1, int(span.Hours()/24)/mostTicks)
	for i := 0; span > 0; i += every {
		day := timeline.Midnight(h.from, i, h.zone)
		if !day.Before(h.to) {
			return all
		}
		if !day.Before(h.from) {
			x := 100 * float64(day.Sub(h.from)) / float64(span)
			all = append(all, Day{X: percent(x), TextX: percent(x + 0.5), Text: day.In(h.zone).Format("2 Jan")})
		}
	}
	return all
}

// days returns the mean and the largest usage of each day.
func (h *usage) days() (all []plotDay) {
	for i := 0; i < len(h.all); {
		day, sum, most, n := h.all[i].at.In(h.zone).Format("Mon 2006-01-02"), 0.0, 0.0, 0.0
		for ; i < len(h.all) && h.all[i].at.In(h.zone).Format("Mon 2006-01-02") == day; i++ {
			sum, most, n = sum+h.all[i].value, max(most, h.all[i].value), n+1
		}
		all = append(all, plotDay{day, h.text(sum / n), h.text(most)})
	}
	return all
}
