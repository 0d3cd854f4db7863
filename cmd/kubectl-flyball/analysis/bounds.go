package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/timeline"
)

// Pods describe the pods of a target.
type Pods struct {
	// Request is the CPU request of the scaled container in milli-CPU. Target is the target utilisation of the autoscaler in
	// percent.
	Request int64
	Target  int
	// Least is the smallest minimum. Headroom is the factor by which the maximum of an hour exceeds the hour's largest
	// demand. No maximum is below Ceiling.
	Least    int
	Headroom float64
	Ceiling  int
}

// serve returns the number of pods that serve a demand in cores at the target utilisation.
func (p Pods) serve(cores float64) int {
	return int(math.Ceil(cores * 1000 * 100 / (float64(p.Request) * float64(p.Target))))
}

// Bounds are the bounds of an autoscaler in a window.
type Bounds struct {
	Name     string
	Window   v1alpha1.Window
	Min, Max int
}

// class is a group of weekdays with the same bounds.
type class struct {
	name        string
	first, last int // days of the week, from Monday
}

var classes = []class{{"weekdays", 0, 5}, {"weekend", 5, 7}}

// HourlyBounds returns bounds by hour, for Monday to Friday and for the weekend. The minimum of an hour serves the
// hour's peak on half of the teaching days. The maximum serves the hour's largest demand on any teaching day, times the
// headroom.
func (h History) HourlyBounds(teach Part, pods Pods) ([]Bounds, error) {
	week := h.week(teach, 0)
	var all [][]Bounds
	for _, c := range classes {
		var hours []Bounds
		for at := range 24 {
			var peaks []float64
			for d := c.first; d < c.last; d++ {
				peaks = append(peaks, week[d*24+at].peaks...)
			}
			if len(peaks) < 2 {
				return nil, refuse("on the days %s, %02d:00 on the %s was seen fewer than two times", teach, at, c.name)
			}
			slices.Sort(peaks)
			b := Bounds{Name: fmt.Sprintf("%s-%02d", c.name, at),
				Window: v1alpha1.Window{From: clockText(at * minutesOfHour), To: clockText((at + 1) * minutesOfHour)}}
			b.Min = step(max(pods.serve(peaks[len(peaks)/2]), pods.Least))
			b.Max = max(step(pods.serve(pods.Headroom*peaks[len(peaks)-1])), pods.Ceiling, b.Min)
			if n := len(hours); n > 0 && hours[n-1].Min == b.Min && hours[n-1].Max == b.Max {
				hours[n-1].Window.To = b.Window.To
				continue
			}
			b.Window.Days = dayNames[c.first:c.last]
			hours = append(hours, b)
		}
		all = append(all, hours)
	}
	if slices.EqualFunc(all[0], all[1], func(a, b Bounds) bool { return a.Window.From == b.Window.From && a.Min == b.Min && a.Max == b.Max }) {
		all = all[:1]
		for i := range all[0] {
			all[0][i].Name, all[0][i].Window.Days = "daily"+all[0][i].Name[len(classes[0].name):], nil
		}
	}
	bounds := slices.Concat(all...)
	if len(bounds) == 1 {
		return nil, refuse("every hour needs the same bounds on the days %s, from %d to %d pods: set these on the autoscaler", teach,
			bounds[0].Min, bounds[0].Max)
	}
	return bounds, nil
}

// step rounds a number of pods up, so that similar hours have the same bounds.
func step(n int) int {
	const exact, share = 5, 5
	if n <= exact {
		return n
	}
	unit := 1
	for unit*10 <= n {
		unit *= 10
	}
	unit = max(unit/share, 1)
	return (n + unit - 1) / unit * unit
}

// Compared are the outcomes of an autoscaler with the owner's bounds, and with bounds by hour.
type Compared struct{ Own, Proposed tune.Outcome }

// TryBounds replays the days of a part through the autoscaler's rules, with the owner's bounds and with bounds by hour.
func (h History) TryBounds(all []Bounds, p Part, pods Pods, least, most int) (Compared, error) {
	type window struct {
		timeline timeline.Timeline
		on       bool
		until    time.Time
	}
	var windows []window
	for _, b := range all {
		t, err := compiled([]v1alpha1.Window{b.Window}, p.From.Location())
		if err != nil {
			return Compared{}, err
		}
		windows = append(windows, window{timeline: t, until: p.From})
	}
	own := tune.PodSetting{Request: pods.Request, Target: pods.Target, Min: least, Max: most}
	var c Compared
	var before, after *tune.Cluster
	for minute, local := range p.minutes {
		now := own
		for i := range windows {
			w := &windows[i]
			if !w.until.IsZero() && !local.Before(w.until) {
				state := w.timeline.At(local)
				w.on, w.until = state.Active, state.Until
			}
			if w.on {
				now.Min, now.Max = all[i].Min, all[i].Max
			}
		}
		demand := float64(h.at(minute))
		if before == nil {
			begin := func(s tune.PodSetting) *tune.Cluster {
				return tune.NewCluster(tune.Default(), min(max(pods.serve(max(demand, 0)), s.Min), s.Max))
			}
			before, after = begin(own), begin(now)
		}
		if demand >= 0 {
			demand *= 1000
		}
		for range int(time.Minute / tune.ReplayStep) {
			before.Next(own, demand, &c.Own)
			after.Next(now, demand, &c.Proposed)
		}
	}
	return c, nil
}
