// Package tune joins the parts: what was learnt of a target, the forecast of its demand, the phase it is in, and the choice of numbers.
// It decides from what it is told, at instants that it is told, so the same history gives the same numbers. What must survive a restart
// is in State.
package tune

import (
	"fmt"
	"maps"
	"math"
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

// Unbounded is what no request is above: a million cores, or a pebibyte.
const Unbounded = 1 << 50

// Limits bound the requests of a container; a Max of Unbounded is none. Floor is the part of Min that somebody has asked for: what requests less is short of it.
type Limits struct{ Min, Max, Floor Request }

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
	// Lead is how long scaling up takes until a pod serves, for as long as too few starts were seen: metrics, start and node.
	Lead time.Duration
	// Tolerance of the autoscaler, 0.1 by default.
	Tolerance float64
	// Manual asks for Emergency. Dry says that nothing is carried out.
	Manual, Dry bool
	// Vertical says that what is sized, and not scaled by replicas, is what a VerticalPodAutoscaler recommends. Fixed says that nothing is scaled by
	// replicas.
	Vertical, Fixed bool
	// Zone is that in whose days and weeks demand repeats; nil: UTC. Daily says that it repeats by the day alone.
	Zone  *time.Location
	Daily bool
}

// Vertical is what a VerticalPodAutoscaler recommends for a container: a target, and from Lower to Upper what it would leave. Zero is not
// known.
type Vertical struct {
	// By is its name.
	By                   string
	Target, Lower, Upper Request
	// Unsure says that it has seen too little.
	Unsure bool
}

// Defaults gives a spec for a profile.
func Defaults(p optimize.Profile, scaled string) Spec {
	return Spec{
		Profile: p, Guard: optimize.DefaultGuard(), Scaled: scaled, Cooldown: time.Hour, Lead: 4 * time.Minute, Tolerance: 0.1,
		Bounds: optimize.Bounds{Min: 3, Max: 100, PreferredMax: 30, MinRequest: 50, MaxRequest: Unbounded, MinUtilisation: 60, MaxUtilisation: 90},
	}
}

// DefaultLimits bound every container that has none of its own: nobody but its owner knows what is too much.
var DefaultLimits = Limits{Min: Request{CPU: 10, Memory: 50 << 20}, Max: Request{CPU: Unbounded, Memory: Unbounded}}

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
	// Since is since when there could have been samples; zero: always. Before that, silence says nothing.
	Since time.Time
	// Replicas are those wanted now, Ready those that are ready.
	Replicas, Ready int
	// Requested is what the scaled container of a pod that is ready requests on average, in milli-CPU; 0: not known, or of no matter.
	Requested int64
	// Behind says that some pod still requests more than Setting has, ready or not.
	Behind bool
	// Started are the pods that became ready since the last decision: how long each took from its creation.
	Started []time.Duration
	// Stuck says that the autoscaler cannot read its metrics.
	Stuck bool
	// Changed says that the owner has changed a request since the last decision. Own are the requests as the owner has them.
	Changed bool
	Own     map[string]Request
	// Attached says that an autoscaler governs the target, and Targets are the target utilisations that its owner gave it.
	Attached bool
	Targets  []Target
	// Vertical is what is recommended, by container.
	Vertical map[string]Vertical
}

// Target is a target utilisation of an autoscaler, of a container or, without a name, of whole pods.
type Target struct {
	Container string
	Memory    bool
	Percent   int
}

// Recommendation is what should be set now.
type Recommendation struct {
	Phase   phase.Phase
	Setting Setting
	// Request is the request of the scaled container that the minimum is for once pods have it, in milli-CPU.
	Request int64
	// Unbound says that nothing is known of the autoscaler yet: bounds and utilisation stay as its owner has them.
	Unbound bool
	// Targets are target utilisations where there is more than that of the scaled container; nil: Setting has the one there is.
	Targets []Target
	// Next is when the next change of a request is due that is known of; zero: none is.
	Next time.Time
	// Reasons, one a number at least.
	Reasons []optimize.Reason
	// Demand and Upper are the expected demand now and what it is not above, in milli-CPU. Loss is that of the forecast.
	Demand, Upper, Loss float64
}

// State is what survives a restart, beside the usage.
type State struct {
	Phase phase.Phase
	// Resized is when requests were last changed, Raised when one last rose because it was short, Behind when some pod last requested more
	// than was set, Lowered when the minimum was lowered, Collapsed since when demand has been away, and Returned when it came back.
	Resized, Raised, Behind, Lowered, Collapsed, Returned time.Time
	// StuckSince and WellSince are since when the autoscaler has been blind, and since when all has been well.
	StuckSince, WellSince time.Time
	// Wanted is the request of the scaled container that is aimed at, as of Chosen.
	Wanted      int64
	Utilisation int
	Chosen      time.Time
	// Starts are how long the last pods took until they were ready; Lead is how long scaling up takes by that, as of LeadSince.
	Starts    []time.Duration
	Lead      time.Duration
	LeadSince time.Time
	// Nowcast is how the next minutes follow from this one.
	Nowcast forecast.Nowcast
}

// NotAfter brings instants that are after another one back to that.
func NotAfter(now time.Time, instants ...*time.Time) {
	for _, at := range instants {
		if at.After(now) {
			*at = now
		}
	}
}

// until takes nothing for later than an instant: a clock that was ahead would stop everything that waits until it has been there again.
func (s *State) until(now time.Time) {
	NotAfter(now, &s.Resized, &s.Raised, &s.Behind, &s.Lowered, &s.Collapsed, &s.Returned, &s.StuckSince, &s.WellSince, &s.Chosen, &s.LeadSince)
	if s.Nowcast.Last > minuteOf(now) {
		s.Nowcast = forecast.Nowcast{Lead: s.Nowcast.Lead}
	}
}

// Tuner tunes one target.
type Tuner struct {
	Usage *usage.Target
	State State

	model  *outlook
	fitted int64 // hour
	// young says that there is no season yet at the last six hours.
	young bool
	// followed is the step up to which the level follows demand.
	followed int64
	shares   map[string]float64
	// quantile is the share of steps in which the upper bound is to hold.
	quantile float64
	// spiky says that demand is known to spike at some time of the season.
	spiky   bool
	reasons []optimize.Reason
}

// New gives a tuner that has learnt nothing.
func New() *Tuner { return &Tuner{Usage: &usage.Target{}} }

// Observe learns from samples.
func (t *Tuner) Observe(samples ...usage.Sample) {
	for _, s := range samples {
		t.Usage.Add(s)
	}
}

// Learnt gives the instants of the first and of the newest sample; zero: there was none.
func (t *Tuner) Learnt() (first, newest time.Time) { return t.Usage.First(), t.Usage.Newest() }

// Forget forgets all samples. What follows from them is found anew.
func (t *Tuner) Forget() {
	t.Usage, t.model, t.fitted, t.followed, t.shares = &usage.Target{}, nil, 0, 0, nil
	t.State.Nowcast, t.State.Chosen = forecast.Nowcast{}, time.Time{}
}

// MakeRoom forgets the containers that the target does not have, where there is no room for another one.
func (t *Tuner) MakeRoom(has func(container string) bool) { t.Usage.MakeRoom(has) }

const stepsPerHour = int64(time.Hour / usage.Step)

func stepOf(at time.Time) int64 { return at.Unix() / int64(usage.Step/time.Second) }

// Decide gives what should be set at an instant.
func (t *Tuner) Decide(spec Spec, o Observed) Recommendation {
	t.reasons = nil
	t.State.until(o.Now)
	if o.Changed {
		t.State.Resized = o.Now
	}
	if o.Behind {
		t.State.Behind = o.Now
	}
	t.start(spec, o)
	t.refit(spec, o.Now)
	t.nowcast(spec)
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
	r.Setting.Max = max(t.maximum(spec, o, min(request, r.Setting.Requests[spec.Scaled].CPU)), r.Setting.Min)
	if may.Tune && t.State.Utilisation != 0 {
		r.Setting.Utilisation = t.State.Utilisation
	}
	r.Reasons, r.Next = t.reasons, t.next(spec, o, r.Setting)
	return r
}

// next is when the next step of the request is due. A fall that waits for pods is due at no instant that is known of.
func (t *Tuner) next(spec Spec, o Observed, now Setting) time.Time {
	s := &t.State
	if s.Wanted == 0 || s.Resized.IsZero() || spec.Vertical && spec.Fixed {
		return time.Time{}
	}
	current := now.Requests[spec.Scaled].CPU
	next, more := spec.Guard.Step(current, s.Wanted, false)
	switch {
	case !more || next < current && o.Behind:
		return time.Time{}
	case next < current && s.Behind.After(s.Resized):
		return s.Behind.Add(spec.Cooldown)
	}
	return s.Resized.Add(spec.Cooldown)
}

func clone(s Setting) Setting {
	s.Requests = maps.Clone(s.Requests)
	return s
}

// CPUReason is what the reason for the CPU of a container is of, where another one, or itself, is scaled by replicas.
func CPUReason(scaled, name string) string {
	if name == scaled {
		return "request"
	}
	return name + " cpu"
}

func (t *Tuner) say(of, format string, args ...any) {
	t.reasons = append(t.reasons, optimize.Reason{Of: of, Text: fmt.Sprintf(format, args...)})
}

// fitEvery is how many steps there are between two fits: six hours.
const fitEvery = 6 * stepsPerHour

// refit fits the models at the first decision of every six hours, to all steps before those, and follows the level between. Until there is
// a season in that, it fits at every step. What it fits to depends on the history and the instant alone, so a tuner that was restarted has
// the models that it had.
func (t *Tuner) refit(spec Spec, now time.Time) {
	series := t.Usage.Demand(spec.Scaled)
	if series == nil || series.Last() == 0 {
		t.model = nil
		return
	}
	step := stepOf(now)
	if t.model != nil && !t.model.fits(spec) {
		t.model = nil
	}
	if t.model != nil && step == t.followed {
		return
	}
	if span := step / fitEvery; t.model == nil || span != t.fitted {
		t.fit(spec, series, span*fitEvery)
		t.fitted, t.young = span, !seasonal(t.model)
	}
	if t.young {
		t.fit(spec, series, step)
	}
	t.model.Follow(peaks{series, t.model.wall, step}, t.model.step(step))
	t.followed = step
}

func (t *Tuner) fit(spec Spec, series *usage.Series, until int64) {
	w, config := wall{spec.Zone}, forecast.Default()
	config.Daily = spec.Daily
	fitted := forecast.Fit(peaks{series, w, until}, w.step(until), config)
	t.spiky = fitted.Spiky()
	t.quantile = fitted.Best(t.price(spec, until))
	t.model = &outlook{fitted.Outlook(t.quantile, int(fitEvery+stepsPerHour)), w, spec.Daily}
	t.shares = map[string]float64{}
	for _, name := range t.Usage.Containers() {
		t.shares[name] = t.share(spec, name, until)
	}
}

func seasonal(m *outlook) bool {
	day, _ := m.Seasonal()
	return day
}

func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// nowcast learns from the newest demand. An outage teaches nothing.
func (t *Tuner) nowcast(spec Spec) {
	if t.model == nil || !seasonal(t.model) || !t.State.Collapsed.IsZero() {
		return
	}
	newest := t.Usage.Newest()
	pattern := t.model.Peak(stepOf(newest)) // from zero there is no deviation, and nothing is learnt
	lead := int(math.Ceil(t.State.Lead.Minutes()))
	t.State.Nowcast.Observe(minuteOf(newest), math.Log(max(t.Usage.Demand(spec.Scaled).Latest(), 1)/pattern), lead)
}

// advance takes the next phase.
func (t *Tuner) advance(spec Spec, o Observed) {
	s := &t.State
	seen := phase.Seen{Manual: spec.Manual, Span: t.Usage.Span(), Seasonal: t.model != nil && seasonal(t.model)}
	if newest := t.Usage.Newest(); !newest.IsZero() {
		if o.Since.After(newest) {
			newest = o.Since
		}
		seen.Silent = max(o.Now.Sub(newest), 0)
	}
	switch {
	case !o.Stuck:
		s.StuckSince = time.Time{}
	case s.StuckSince.IsZero():
		s.StuckSince = o.Now
	case o.Since.After(s.StuckSince):
		s.StuckSince = o.Since // in between nobody looked
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
		seen.Level = o.Setting.Min <= replicasFor(spec, t.upper(spec, o), o.Setting.Requests[spec.Scaled].CPU)
	}
	next, why := phase.Next(s.Phase, seen)
	if why != "" {
		t.say("phase", "%s: %s", next, why)
	}
	s.Phase = next
}
