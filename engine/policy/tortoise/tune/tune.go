// Package tune joins the parts: what was learnt of a target, the forecast of its demand, the phase it is in, and the choice of numbers.
// It decides from what it is told, at instants that it is told, so the same history gives the same numbers. What must survive a restart
// is in State.
package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/forecast"
	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/phase"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// Request is what a container requests, in milli-CPU and bytes.
type Request struct{ CPU, Memory int64 }

// Setting is all that is tuned.
type Setting struct {
	// Requests by container.
	Requests map[string]Request
	// Min and Max are the bounds of the autoscaler, Utilisation its target in percent.
	Min, Max, Utilisation int
}

// Limits bound the requests of a container.
type Limits struct{ Min, Max Request }

// Spec says what is asked for.
type Spec struct {
	Profile optimize.Profile
	Bounds  optimize.Bounds
	Guard   optimize.Guard
	// Scaled is the container whose CPU is Horizontal. The CPU of all others, and all memory, is Vertical.
	Scaled string
	// Limits by container.
	Limits map[string]Limits
	// Cooldown is the least time between two changes of requests.
	Cooldown time.Duration
	// Lead is how long scaling up takes until a pod serves: metrics, start and node.
	Lead time.Duration
	// Tolerance of the autoscaler, 0.1 by default.
	Tolerance float64
	// Manual asks for Emergency.
	Manual bool
}

// Defaults gives a spec for a profile.
func Defaults(p optimize.Profile, scaled string) Spec {
	return Spec{
		Profile: p, Guard: optimize.DefaultGuard(), Scaled: scaled, Cooldown: time.Hour, Lead: 4 * time.Minute, Tolerance: 0.1,
		Bounds: optimize.Bounds{Min: 3, Max: 100, PreferredMax: 30, MinRequest: 50, MaxRequest: 10_000, MinUtilisation: 60, MaxUtilisation: 90},
	}
}

// DefaultLimits bound every container that has none of its own.
var DefaultLimits = Limits{Min: Request{CPU: 10, Memory: 50 << 20}, Max: Request{CPU: 10_000, Memory: 10 << 30}}

func (s Spec) limits(name string) Limits {
	if l, ok := s.Limits[name]; ok {
		return l
	}
	return DefaultLimits
}

// Observed is what there is at an instant.
type Observed struct {
	Now     time.Time
	Setting Setting
	// Replicas are those wanted now, Ready those that are ready.
	Replicas, Ready int
	// Stuck says that the autoscaler cannot read its metrics.
	Stuck bool
}

// Recommendation is what should be set now.
type Recommendation struct {
	Phase   phase.Phase
	Setting Setting
	// Request is the request of the scaled container that the minimum is for, in milli-CPU.
	Request int64
	// Reasons, one a number at least.
	Reasons []optimize.Reason
	// Demand and Upper are the expected demand now and what it is not above, in milli-CPU. Loss is that of the forecast.
	Demand, Upper, Loss float64
}

// State is what survives a restart, beside the usage.
type State struct {
	Phase phase.Phase
	// Resized is when requests were last changed, Lowered when the minimum was, Collapsed since when demand has been away, and
	// Returned when it came back.
	Resized, Lowered, Collapsed, Returned time.Time
	// StuckSince and WellSince are since when the autoscaler has been blind, and since when all has been well.
	StuckSince, WellSince time.Time
	// Wanted is the request of the scaled container that is aimed at, as of Chosen.
	Wanted      int64
	Utilisation int
	Chosen      time.Time
}

// Tuner tunes one target.
type Tuner struct {
	Usage *usage.Target
	State State

	model  *forecast.Model
	fitted int64 // hour
	shares map[string]float64
	// quantile is the share of steps in which the upper bound is to hold.
	quantile float64
	reasons  []optimize.Reason
}

// New gives a tuner that has learnt nothing.
func New() *Tuner { return &Tuner{Usage: &usage.Target{}} }

// Observe learns from samples.
func (t *Tuner) Observe(samples ...usage.Sample) {
	for _, s := range samples {
		t.Usage.Add(s)
	}
}

// peaks reads the series of the scaled container.
type peaks struct{ *usage.Series }

// Peak implements forecast.Series.
func (p peaks) Peak(step int64) (float64, bool) {
	at := p.At(step)
	return at.Peak, at.Known
}

const stepsPerHour = int64(time.Hour / usage.Step)

func stepOf(at time.Time) int64 { return at.Unix() / int64(usage.Step/time.Second) }

// Decide gives what should be set at an instant.
func (t *Tuner) Decide(spec Spec, o Observed) Recommendation {
	t.reasons = nil
	t.refit(spec, o.Now)
	t.advance(spec, o)
	r := Recommendation{Phase: t.State.Phase, Setting: clone(o.Setting)}
	may := t.State.Phase.Allowed()
	if t.model == nil || !may.Raise {
		r.Reasons = []optimize.Reason{{Of: "phase", Text: string(t.State.Phase) + ": nothing is changed yet"}}
		return r
	}
	if may.Tune {
		t.choose(spec, o)
		t.vertical(spec, o, &r.Setting)
	}
	request := t.request(spec, o, &r.Setting, may)
	r.Request = request
	r.Upper = t.upper(spec, o)
	r.Demand, r.Loss = t.model.Peak(stepOf(o.Now)), t.model.Loss
	r.Setting.Min = t.minimum(spec, o, r.Upper, request, may)
	r.Setting.Max = max(spec.Bounds.Max, r.Setting.Min)
	if may.Tune && t.State.Utilisation > 0 {
		r.Setting.Utilisation = t.State.Utilisation
	}
	r.Reasons = t.reasons
	return r
}

func clone(s Setting) Setting {
	requests := make(map[string]Request, len(s.Requests))
	for name, r := range s.Requests {
		requests[name] = r
	}
	s.Requests = requests
	return s
}

func (t *Tuner) say(of, format string, args ...any) {
	t.reasons = append(t.reasons, optimize.Reason{Of: of, Text: fmt.Sprintf(format, args...)})
}

// refit fits the models at the first decision of each hour, to all hours before, and follows the level between. So a tuner that was
// restarted has the models that it had.
func (t *Tuner) refit(spec Spec, now time.Time) {
	series := t.Usage.Demand(spec.Scaled)
	if series == nil || series.Last() == 0 {
		t.model = nil
		return
	}
	step := stepOf(now)
	hour := step / stepsPerHour
	if t.model == nil || hour != t.fitted || !seasonal(t.model) && t.model.Known() < int(stepsPerHour) {
		until := hour * stepsPerHour
		if t.model == nil || !seasonal(t.model) {
			until = step
		}
		t.model, t.fitted = forecast.Fit(peaks{series}, until, forecast.Default()), hour
		t.quantile = t.model.Best(spec.Profile.Violation)
		t.shares = map[string]float64{}
		for _, name := range t.Usage.Containers() {
			t.shares[name] = t.share(spec, name, until)
		}
	}
	t.model.Follow(peaks{series}, step)
}

func seasonal(m *forecast.Model) bool {
	day, _ := m.Seasonal()
	return day
}

// advance takes the next phase.
func (t *Tuner) advance(spec Spec, o Observed) {
	s := &t.State
	seen := phase.Seen{Manual: spec.Manual, Span: t.Usage.Span(), Seasonal: t.model != nil && seasonal(t.model)}
	if newest := t.Usage.Newest(); !newest.IsZero() {
		seen.Silent = max(o.Now.Sub(newest), 0)
	}
	if !o.Stuck {
		s.StuckSince = time.Time{}
	} else if s.StuckSince.IsZero() {
		s.StuckSince = o.Now
	}
	if o.Stuck {
		seen.Stuck = o.Now.Sub(s.StuckSince)
	}
	if o.Stuck || seen.Silent > 2*time.Minute {
		s.WellSince = time.Time{}
	} else if s.WellSince.IsZero() {
		s.WellSince = o.Now
	}
	if !s.WellSince.IsZero() {
		seen.Steady = o.Now.Sub(s.WellSince)
	}
	if t.model != nil && s.Phase == phase.BackToNormal {
		seen.Level = o.Setting.Min <= t.needed(spec, o, t.upper(spec, o), o.Setting.Requests[spec.Scaled].CPU)
	}
	next, why := phase.Next(s.Phase, seen)
	if why != "" {
		t.say("phase", "%s: %s", next, why)
	}
	s.Phase = next
}

// The steps back from an emergency.
const (
	backEvery = 5 * time.Minute
	backShare = 0.1
)

// minimum gives the minimum of the autoscaler: what the upper bound of demand needs. In an emergency it never falls, and no pod that is
// there goes; on the way back it falls by a tenth every five minutes.
func (t *Tuner) minimum(spec Spec, o Observed, upper float64, request int64, may phase.May) int {
	needed := t.needed(spec, o, upper, request)
	t.say("min", "%d: demand is not above %.0fm with a chance of %g, a replica may be used up to %.0fm", needed, upper, t.quantile, spec.Profile.Headroom*float64(request))
	current := o.Setting.Min
	switch {
	case !may.Lower:
		held := max(needed, current, min(o.Replicas, spec.Bounds.Max))
		t.say("min", "%d: it never falls in an emergency", held)
		return held
	case needed >= current:
		return needed
	case t.State.Phase == phase.BackToNormal:
		if o.Now.Sub(t.State.Lowered) < backEvery {
			return current
		}
		t.State.Lowered = o.Now
		return max(needed, current-max(1, int(backShare*float64(current))))
	}
	// A few replicas less are not worth a change, unless that has been so for a while.
	if float64(needed) > 0.9*float64(current) && o.Now.Sub(t.State.Lowered) < 30*time.Minute {
		return current
	}
	t.State.Lowered = o.Now
	return needed
}

func (t *Tuner) needed(spec Spec, o Observed, upper float64, request int64) int {
	return optimize.Replicas(upper, max(request, 1), spec.Profile, spec.Bounds)
}

// The signs of a collapse: demand is less than a fifth of what was expected. It is over soon, or it is not a collapse.
const (
	collapsed     = 0.2
	collapseFor   = 2 * time.Hour
	catchUpFor    = 15 * time.Minute
	wideMargin    = 1.5
	freshnessSlop = 3 * time.Minute
)

// upper is what demand is not above from now until a pod that is started now serves, in milli-CPU.
func (t *Tuner) upper(spec Spec, o Observed) float64 {
	step, q := stepOf(o.Now), t.quantile
	upper := t.model.Upper(step, q)
	if ahead := stepOf(o.Now.Add(spec.Lead)); ahead != step {
		upper = max(upper, t.model.Upper(ahead, q))
	}
	if !t.State.Phase.Allowed().Seasons {
		upper *= wideMargin
	}
	if t.away(spec, o) {
		upper *= spec.Profile.CatchUp
		t.say("min", "demand collapsed: it comes back %g times as high", spec.Profile.CatchUp)
	}
	return upper
}

// away says that demand has collapsed lately, and may come back all at once.
func (t *Tuner) away(spec Spec, o Observed) bool {
	s := &t.State
	series := t.Usage.Demand(spec.Scaled)
	at := series.At(series.Last())
	fresh := at.Known && o.Now.Sub(t.Usage.Newest()) < freshnessSlop
	expected := t.model.Peak(stepOf(o.Now))
	low := fresh && series.Latest() < collapsed*expected && seasonal(t.model)
	switch {
	case low && s.Collapsed.IsZero():
		s.Collapsed = o.Now
	case !low && fresh && !s.Collapsed.IsZero():
		s.Collapsed, s.Returned = time.Time{}, o.Now
	}
	if !s.Collapsed.IsZero() {
		return o.Now.Sub(s.Collapsed) < collapseFor
	}
	return !s.Returned.IsZero() && o.Now.Sub(s.Returned) < catchUpFor
}

// Hours gives the minima of the next 24 hours for a request, one an hour from the current one on; none where nothing is known.
func (t *Tuner) Hours(spec Spec, now time.Time, request int64) []int {
	if t.model == nil {
		return nil
	}
	all := make([]int, 24)
	first := stepOf(now) / stepsPerHour * stepsPerHour
	for i := range all {
		for k := range stepsPerHour {
			n := optimize.Replicas(t.model.Upper(first+int64(i)*stepsPerHour+k, t.quantile), max(request, 1), spec.Profile, spec.Bounds)
			all[i] = max(all[i], n)
		}
	}
	return all
}

// choose makes the joint choice, once a day and with the first season.
func (t *Tuner) choose(spec Spec, o Observed) {
	s := &t.State
	if !s.Phase.Allowed().Seasons || !s.Chosen.IsZero() && o.Now.Sub(s.Chosen) < 24*time.Hour {
		return
	}
	current := o.Setting.Requests[spec.Scaled]
	in := optimize.Input{
		Profile: spec.Profile, Bounds: spec.Bounds, Request: current.CPU, Utilisation: o.Setting.Utilisation, Tolerance: spec.Tolerance,
		PerPod: float64(current.Memory) / (1 << 30) * spec.Profile.Memory,
	}
	for _, name := range slices.Sorted(maps.Keys(o.Setting.Requests)) {
		if name != spec.Scaled {
			in.Beside += t.shares[name]
		}
	}
	season := int64(forecast.Default().Day)
	if _, week := t.model.Seasonal(); week {
		season *= 7
	}
	for step := stepOf(o.Now); step < stepOf(o.Now)+season; step++ {
		in.Upper = append(in.Upper, t.model.Upper(step, t.quantile))
		in.Expected = append(in.Expected, t.model.Peak(step))
	}
	c := optimize.Choose(in)
	s.Chosen, s.Utilisation = o.Now, c.Utilisation
	if s.Wanted == 0 || c.Cost < (1-spec.Guard.Worth)*c.Now {
		s.Wanted = c.Request
	}
	t.reasons = append(t.reasons, c.Reasons...)
}

// request gives the request of the scaled container that the minimum is to be for, and puts it into the setting if now is the time.
// Downwards, the replicas come first: the request falls when so many are ready that what is left is enough.
func (t *Tuner) request(spec Spec, o Observed, to *Setting, may phase.May) int64 {
	current := o.Setting.Requests[spec.Scaled]
	if !may.Tune || t.State.Wanted == 0 || o.Now.Sub(t.State.Resized) < spec.Cooldown {
		return current.CPU
	}
	next, ok := spec.Guard.Step(current.CPU, t.State.Wanted, false)
	if !ok {
		return current.CPU
	}
	if next < current.CPU {
		demand := max(t.upper(spec, o), t.Usage.Demand(spec.Scaled).Latest())
		if enough := optimize.Replicas(demand, next, spec.Profile, spec.Bounds); o.Ready < enough {
			if enough >= spec.Bounds.Max {
				return current.CPU
			}
			t.say("request", "%dm comes once %d replicas are ready, %d are", next, enough, o.Ready)
			return next
		}
	}
	current.CPU = next
	to.Requests[spec.Scaled] = current
	for name, r := range to.Requests {
		if name != spec.Scaled {
			r.CPU = t.beside(spec, name, next)
			to.Requests[name] = r
		}
	}
	t.State.Resized = o.Now
	t.say("request", "%dm, on the way to %dm", next, t.State.Wanted)
	return next
}

// beside is the CPU request of another container: what it uses beside a pod whose scaled container is used up.
func (t *Tuner) beside(spec Spec, name string, request int64) int64 {
	l := spec.limits(name)
	return min(max(int64(math.Ceil(t.shares[name]*float64(request))), l.Min.CPU), l.Max.CPU)
}

// share is what another container uses for each milli-CPU of the scaled one: a quantile over the week before a step.
func (t *Tuner) share(spec Spec, name string, until int64) float64 {
	own, other := t.Usage.Demand(spec.Scaled), t.Usage.Demand(name)
	if own == nil || other == nil {
		return 0
	}
	var h usage.Histogram
	for step := max(until-7*24*stepsPerHour, 0); step < until; step++ {
		if a, b := own.At(step), other.At(step); a.Known && b.Known && a.Mean > 0 {
			h.Add(1e4*b.Mean/a.Mean, 1, time.Unix(1, 0), time.Hour)
		}
	}
	return h.Quantile(spec.Profile.Share) / 1e4
}

// vertical sizes memory, and the CPU of the containers that are not scaled. What is short grows at once; what is too much shrinks by
// steps, with cooldowns.
func (t *Tuner) vertical(spec Spec, o Observed, to *Setting) {
	last := t.State.Resized
	for _, name := range slices.Sorted(maps.Keys(to.Requests)) {
		r := to.Requests[name]
		l := spec.limits(name)
		margin := spec.Profile
		if !t.State.Phase.Allowed().Seasons {
			margin.MemoryMargin *= wideMargin
		}
		before := r
		if used := t.Usage.Memory(name, spec.Profile.MemoryQuantile); used > 0 {
			wanted, why := optimize.Memory(used, margin, l.Min.Memory, l.Max.Memory)
			r.Memory = step(spec, o.Now.Sub(last), r.Memory, wanted, used > tight*float64(r.Memory))
			why.Of = name + " " + why.Of
			t.reasons = append(t.reasons, why)
		}
		if share := t.shares[name]; name != spec.Scaled && share > 0 {
			wanted := t.beside(spec, name, o.Setting.Requests[spec.Scaled].CPU)
			r.CPU = step(spec, o.Now.Sub(last), r.CPU, wanted, wanted > r.CPU)
			t.say(name+" cpu", "%dm: %.3f of the %dm of %s", wanted, share, o.Setting.Requests[spec.Scaled].CPU, spec.Scaled)
		}
		if r != before {
			to.Requests[name] = r
			t.State.Resized = o.Now
		}
	}
}

// tight is the share of a memory request from which it must grow at once.
const tight = 0.92

func step(spec Spec, age time.Duration, current, wanted int64, needed bool) int64 {
	if wanted < current && (needed || age < spec.Cooldown) || wanted > current && !needed {
		return current
	}
	next, _ := spec.Guard.Step(current, wanted, needed)
	return next
}
