package suggest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// Played is the outcome of a replay with one setting of the scaled container and its autoscaler.
type Played struct {
	Request string `json:"request"`
	// Utilisation is in percent. It is absent without an autoscaler.
	Utilisation int `json:"utilisation,omitempty"`
	// MinTo is the largest minimum of the day. It is absent if the minimum does not vary by hour.
	Min   int `json:"min"`
	MinTo int `json:"minTo,omitempty"`
	Max   int `json:"max"`
	// Cores is the mean request of all pods. ViolationMinutes is the number of minutes a week in which the demand exceeds
	// 85 % of the requests of the ready pods.
	Cores            float64 `json:"cores"`
	ViolationMinutes float64 `json:"violationMinutesAWeek"`
}

// BackTest is the outcome of a back-test. The recommendation is learnt from the first part of the history. It is then
// tried on the rest of the history, with the autoscaler's rules.
type BackTest struct {
	LearntUntil time.Time `json:"learntUntil"`
	TriedUntil  time.Time `json:"triedUntil"`
	// Own is the outcome of the present setting. Recommended is the outcome of the recommendation at LearntUntil.
	// BestFixed is the outcome of the cheapest constant setting without more violations than Recommended. If there is no
	// such setting, it is the constant setting with the fewest violations.
	Own         Played `json:"own"`
	Recommended Played `json:"recommended"`
	BestFixed   Played `json:"bestFixed"`
}

// taught is the share of the history from which the recommendation is learnt. least is the shortest length of each of
// the two parts.
const (
	taught = 2.0 / 3
	least  = 24 * time.Hour
)

// border returns the instant that divides a history into the two parts of a back-test. It returns the zero time if the
// history is too short.
func border(samples []workload.Sample, at time.Time) time.Time {
	n := len(samples)
	for n > 0 && samples[n-1].At.After(at) {
		n--
	}
	if n == 0 {
		return time.Time{}
	}
	first, last := samples[0].At, samples[n-1].At
	b := first.Add(time.Duration(taught * float64(last.Sub(first)))).Truncate(time.Hour)
	if b.Sub(first) < least || last.Sub(b) < least {
		return time.Time{}
	}
	return b
}

// backTest replays the rest of the history with the recommendation from the first part of the history. It returns nil
// if there is no recommendation or no autoscaler.
func backTest(s *analysis.Subject, samples []workload.Sample, from, to time.Time, then *analysis.Replayed) *BackTest {
	if then == nil || !s.Scalable || s.Autoscaler == nil || s.Target() == nil || s.Requests[s.Scaled].CPU == 0 {
		return nil
	}
	load, ok := loadOf(samples, s.Scaled, from, to)
	b := s.Autoscaler.Bounds
	if !ok || b.Max == nil {
		return nil
	}
	own := tune.PodSetting{Request: s.Requests[s.Scaled].CPU, Target: int(s.Target().Percent), Min: 1, Max: int(min(*b.Max, math.MaxInt32))}
	if b.Min != nil {
		own.Min = int(*b.Min)
	}
	advised := tune.PodSetting{Request: own.Request, Target: int(then.Utilisation.Recommended), Min: int(then.Min.Recommended),
		Max: int(then.Max.Recommended)}
	for _, c := range then.Containers {
		if c.Scaled {
			advised.Request = c.CPU.Recommended
		}
	}
	var minima []int
	if n := len(then.Hours); n > 0 {
		advised.Min = slices.MinFunc(then.Hours, func(a, b analysis.Hour) int { return cmp.Compare(a.Min, b.Min) }).Min
		ahead := int(from.Sub(then.Hours[0].From) / time.Hour)
		for i := range len(load.Demand)/60 + 1 {
			minima = append(minima, then.Hours[(ahead+i)%n].Min)
		}
	}
	found := &BackTest{LearntUntil: from, TriedUntil: to, Own: play(load, own, nil), Recommended: play(load, advised, minima)}
	found.BestFixed = bestFixed(load, own, found.Recommended.ViolationMinutes)
	return found
}

// loadOf returns the demand of a container in the time between from and to, or false if the demand is unknown.
func loadOf(samples []workload.Sample, container string, from, to time.Time) (load tune.Load, ok bool) {
	var all []analysis.Reading
	for _, s := range samples {
		if s.Container == container && s.Replicas > 0 && s.CPU >= 0 && !s.At.Before(from) && !s.At.After(to) {
			all = append(all, analysis.Reading{At: s.At, Cores: s.CPU * float64(s.Replicas)})
		}
	}
	h, err := analysis.NewHistory(all)
	if err != nil {
		return load, false
	}
	load.First = from.Unix() / 60
	load.Demand = append(slices.Repeat([]float32{-1}, int(h.First-load.First)), h.Cores...)
	return load, true
}

// play simulates a setting on a load. The minima are the minima by hour, if the minimum varies.
func play(load tune.Load, s tune.PodSetting, minima []int) Played {
	o := tune.Play(load, tune.Default(), s, minima)
	const week = 7 * 24 * time.Hour
	weeks := max(float64(o.Steps)*tune.ReplayStep.Hours()/week.Hours(), 1e-9)
	p := Played{Request: cpuText(s.Request), Utilisation: s.Target, Min: s.Min, Max: s.Max,
		Cores: tenths(o.Pods() * float64(s.Request) / 1000), ViolationMinutes: tenths(o.Minutes() / weeks)}
	if len(minima) > 0 {
		if most := slices.Max(minima); most > s.Min {
			p.MinTo = most
		}
	}
	return p
}

func tenths(v float64) float64 { return math.Round(v*10) / 10 }

// bestFixed returns the outcome of the cheapest constant setting with at most the given violations, or else of the
// setting with the fewest violations. It tries pods of the present size and smaller pods, always with the present
// capacity at the maximum.
func bestFixed(load tune.Load, own tune.PodSetting, violations float64) Played {
	requests := []int64{own.Request}
	for _, r := range []int64{500, 250} {
		if r < own.Request {
			requests = append(requests, r)
		}
	}
	var best *Played
	for _, request := range requests {
		for target := 50; target <= 90; target += 5 {
			s := tune.PodSetting{Request: request, Target: target, Min: own.Min,
				Max: int(min((int64(own.Max)*own.Request+request-1)/request, math.MaxInt32))}
			p := play(load, s, nil)
			if best == nil || betterFixed(p, *best, violations) {
				best = &p
			}
		}
	}
	return *best
}

// betterFixed reports whether the outcome a is better than the outcome b. Violations up to the given number do not
// count. The outcome with fewer violations beyond this number is better, and with equal violations the outcome with the
// lower mean request.
func betterFixed(a, b Played, violations float64) bool {
	within := func(p Played) float64 { return max(p.ViolationMinutes-violations, 0) }
	return cmp.Or(cmp.Compare(within(a), within(b)), cmp.Compare(a.Cores, b.Cores)) < 0
}

// text describes the played setting.
func (p Played) text() string {
	low := fmt.Sprint(p.Min)
	if p.MinTo > 0 {
		low = fmt.Sprintf("%d-%d by hour", p.Min, p.MinTo)
	}
	return fmt.Sprintf("pods of %s, %d %%, %s to %d", p.Request, p.Utilisation, low, p.Max)
}

// backTest writes the outcomes of the back-test for people.
func (f *Requests) backTest(w *printer.Writer) {
	b := f.BackTest
	if b == nil {
		return
	}
	w.Heading("Back-test: learnt until %s, tried until %s", b.LearntUntil.In(f.zone).Format(printer.InstantLayout),
		b.TriedUntil.In(f.zone).Format(printer.InstantLayout))
	var rows [][]printer.Cell
	for _, r := range []struct {
		of string
		p  Played
	}{{"as it is", b.Own}, {"as recommended then", b.Recommended}, {"best fixed", b.BestFixed}} {
		rows = append(rows, printer.Row(r.of, r.p.text(), fmt.Sprintf("%.1f", r.p.Cores), fmt.Sprintf("%.1f", r.p.ViolationMinutes)))
	}
	w.Grid("  ", []string{"SETTING", "", "CORES", "VIOLATION MINUTES A WEEK"}, rows)
	if b.Recommended.Cores >= b.Own.Cores && b.Recommended.ViolationMinutes >= b.Own.ViolationMinutes {
		w.Line("  on these days the setting that there is was as good or better: keep it, or give more history")
	}
}
