// Package tune joins the parts: what was learnt of a target, the phase it is in, the replay of its demand, and the choice of numbers.
// It decides from what it is told, at instants that it is told, so the same history gives the same numbers. What must survive a restart
// is in State.
package tune

import (
	"fmt"
	"maps"
	"time"

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
	// Owner is what the owner of the target has; without a request it is what there was at first.
	Owner Owner
	// Scaled is the container whose CPU is Horizontal. The CPU of all others, and all memory, is Vertical.
	Scaled string
	// Limits by container.
	Limits map[string]Limits
	// Cooldown is the least time between two changes of requests.
	Cooldown time.Duration
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

// Owner is what the owner of a target has: the request of the scaled container in milli-CPU, the target utilisation in percent, 0 where there is none,
// and the minimum.
type Owner struct {
	Request     int64
	Target, Min int
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
		Profile: p, Guard: optimize.DefaultGuard(), Scaled: scaled, Cooldown: time.Hour, Tolerance: 0.1,
		Bounds: optimize.Bounds{Min: 3, Max: 100, PreferredMax: 30, MinRequest: 50, MaxRequest: Unbounded, MinUtilisation: 50, MaxUtilisation: 90},
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
	// Busy says that a choice can wait: there is no time for one now.
	Busy bool
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
	// Chose says that the numbers were chosen anew, which takes a while.
	Chose bool
	// Demand is the one of the last sample, Upper that or the peak that is usual in this hour, in milli-CPU. Loss is by how much that has missed the peaks that
	// came.
	Demand, Upper, Loss float64
}

// State is what survives a restart, beside the usage.
type State struct {
	Phase phase.Phase
	// Resized is when requests were last changed, Raised when one last rose because it was short, Behind when some pod last requested more
	// than was set, Lowered when the minimum was lowered on the way back from an emergency.
	Resized, Raised, Behind, Lowered time.Time
	// StuckSince and WellSince are since when the autoscaler has been blind, and since when all has been well.
	StuckSince, WellSince time.Time
	// Aim is what was chosen, as of Chosen; Moved is when its request came up for choice. Loss is by how much usual peaks missed those that came.
	Aim           optimize.Aim
	Chosen, Moved time.Time
	Loss          float64
	// Awaited are the replicas that are to be ready before the request falls, as of Awaiting; 0: it does not wait.
	Awaited  int
	Awaiting time.Time
	// Starts are how long the last pods took until they were ready.
	Starts []time.Duration
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
	NotAfter(now, &s.Resized, &s.Raised, &s.Behind, &s.Lowered, &s.StuckSince, &s.WellSince, &s.Chosen, &s.Moved, &s.Awaiting)
}

// Tuner tunes one target.
type Tuner struct {
	Usage *usage.Target
	State State

	// shares are what other containers use for each milli-CPU of the scaled one, as of shared.
	shares map[string]float64
	shared time.Time
	// known are the peaks of the hours before the one that began at read.
	known hours
	read  time.Time
	// chose says that the numbers were chosen anew in this decision.
	chose   bool
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
	t.Usage, t.shares, t.read = &usage.Target{}, nil, time.Time{}
	t.State.Chosen, t.State.Moved = time.Time{}, time.Time{}
}

// MakeRoom forgets the containers that the target does not have, where there is no room for another one.
func (t *Tuner) MakeRoom(has func(container string) bool) { t.Usage.MakeRoom(has) }

// Decide gives what should be set at an instant.
func (t *Tuner) Decide(spec Spec, o Observed) Recommendation {
	t.reasons, t.chose = nil, false
	t.State.until(o.Now)
	if o.Changed {
		t.State.Resized = o.Now
	}
	if o.Behind {
		t.State.Behind = o.Now
	}
	t.start(o)
	t.advance(spec, o)
	r := Recommendation{Phase: t.State.Phase, Setting: clone(o.Setting)}
	may := t.State.Phase.Allowed()
	series := t.Usage.Demand(spec.Scaled)
	if series == nil || series.Last() == 0 || !may.Raise {
		r.Reasons = []optimize.Reason{{Of: "phase", Text: string(t.State.Phase) + ": nothing is changed yet"}}
		return r
	}
	pace := t.pace(spec, o) // what changes now changes together
	if may.Tune {
		t.choose(spec, o)
		t.vertical(spec, o, &r.Setting)
	}
	request, enough := t.request(spec, o, &r.Setting, may, pace)
	r.Request, r.Chose = request, t.chose
	r.Demand = min(series.Latest(), Unbounded)
	r.Upper, r.Loss = max(r.Demand, t.hours(spec, o.Now).usual(o.Now)), t.State.Loss
	r.Setting.Min = t.minimum(spec, o, request, enough, may)
	r.Setting.Max = max(t.maximum(spec, o, min(request, r.Setting.Requests[spec.Scaled].CPU)), r.Setting.Min)
	if may.Tune && t.chosen() && o.Setting.Utilisation > 0 {
		r.Setting.Utilisation = t.State.Aim.Target
	}
	r.Reasons, r.Next = t.reasons, t.next(spec, o, r.Setting)
	return r
}

// wanted is the request that is aimed at, within the bounds of now.
func (t *Tuner) wanted(spec Spec) int64 {
	return max(min(t.State.Aim.Request, spec.Bounds.MaxRequest), spec.Bounds.MinRequest)
}

// chosen reports whether there is an aim.
func (t *Tuner) chosen() bool { return !t.State.Chosen.IsZero() }

// next is when the next step of the request is due. A fall that waits for pods is due at no instant that is known of.
func (t *Tuner) next(spec Spec, o Observed, now Setting) time.Time {
	s := &t.State
	if !t.chosen() || s.Resized.IsZero() || spec.Vertical && spec.Fixed {
		return time.Time{}
	}
	current := now.Requests[spec.Scaled].CPU
	next, more := spec.Guard.Step(current, t.wanted(spec), false)
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

// advance takes the next phase.
func (t *Tuner) advance(spec Spec, o Observed) {
	s := &t.State
	seen := phase.Seen{Manual: spec.Manual, Span: t.Usage.Span(), Seasonal: t.Usage.Span() > 24*time.Hour}
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
	if s.Phase == phase.BackToNormal {
		seen.Level = o.Setting.Min <= t.planned(spec, o, o.Setting.Requests[spec.Scaled].CPU)
	}
	next, why := phase.Next(s.Phase, seen)
	if why != "" {
		t.say("phase", "%s: %s", next, why)
	}
	s.Phase = next
}
