// Package tune combines the learnt usage of a target, its phase, the replay of its demand, and the choice of numbers. It
// decides only from its arguments, which include the instants. So the same history gives the same numbers. State has
// everything that must survive a restart.
//
// Demand is replayed with the rules of an autoscaler (replay.go). The outcome is the cost of a setting, and the time for which demand
// would have been above the headroom of the ready pods. Pods are counts and not objects. So ten days take a few milliseconds, and
// hundreds of settings can be compared: Choose returns the request, the target utilisation and the minimum with the lowest cost, in
// which violations have a price. CPU is in milli-CPU, utilisation in whole percent.
//
//	o := tune.Play(load, tune.Default(), tune.PodSetting{Request: 500, Target: 65, Min: 3, Max: 20}, nil)
//	fmt.Println(o.Pods()*500, o.Minutes())
package tune

import (
	"fmt"
	"maps"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Requests has the requests of a container, in milli-CPU and bytes.
type Requests struct{ CPU, Memory int64 }

// Setting has all tuned numbers.
type Setting struct {
	// Requests has the requests of each container by name.
	Requests map[string]Requests
	// Min and Max are the bounds of the autoscaler. Utilisation is its target in percent.
	Min, Max, Utilisation int
}

// Unbounded is the largest possible request: a million cores, or a pebibyte.
const Unbounded = 1 << 50

// Limits bound the requests of a container. Max is Unbounded if there is no maximum. Floor is the part of Min that the
// spec gives explicitly: a request below Floor counts as too small.
type Limits struct{ Min, Max, Floor Requests }

// Spec is the wanted tuning.
type Spec struct {
	Profile Profile
	Bounds  Bounds
	Guard   Guard
	// Owner is the owner's setting. If it has no request, the first seen setting is used.
	Owner OwnerSetting
	// Scaled is the container whose CPU is Horizontal. The CPU of all other containers, and all memory, is Vertical.
	Scaled string
	// Limits has the limits of each container by name.
	Limits map[string]Limits
	// Cooldown is the shortest time between two changes of requests.
	Cooldown time.Duration
	// Tolerance is the tolerance of the autoscaler, by default 0.1.
	Tolerance float64
	// Manual is true if the spec asks for Emergency. Dry is true if recommendations are not carried out.
	Manual, Dry bool
	// Vertical is true if requests that are not scaled by replicas follow a VerticalPodAutoscaler. Fixed is true if
	// nothing is scaled by replicas.
	Vertical, Fixed bool
	// Zone is the time zone in which demand repeats by the day and the week; nil: UTC. Daily is true if demand repeats only
	// by the day.
	Zone  *time.Location
	Daily bool
}

// OwnerSetting is the owner's setting of a target. Request is the request of the scaled container in milli-CPU. Target is the
// target utilisation in percent; 0: none. Min is the minimum.
type OwnerSetting struct {
	Request     int64
	Target, Min int
}

// Vertical is the recommendation of a VerticalPodAutoscaler for a container. Target is the recommended request. Requests
// from Lower to Upper are acceptable. Zero means unknown.
type Vertical struct {
	// By is the name of the VerticalPodAutoscaler.
	By                   string
	Target, Lower, Upper Requests
	// Unsure is true if the VerticalPodAutoscaler has too little history.
	Unsure bool
}

// Defaults returns the spec of a profile.
func Defaults(p Profile, scaled string) Spec {
	return Spec{
		Profile: p, Guard: DefaultGuard(), Scaled: scaled, Cooldown: time.Hour, Tolerance: 0.1,
		Bounds: Bounds{Min: 3, Max: 100, PreferredMax: 30, MinRequest: 50, MaxRequest: Unbounded, MinUtilisation: 50,
			MaxUtilisation: 90},
	}
}

// DefaultLimits bound every container without limits of its own. They have no maximum, because only the owner knows the
// largest useful request.
var DefaultLimits = Limits{Min: Requests{CPU: 10, Memory: 50 << 20}, Max: Requests{CPU: Unbounded, Memory: Unbounded}}

func (s Spec) limits(name string) Limits {
	if l, ok := s.Limits[name]; ok {
		return l
	}
	return DefaultLimits
}

// Observed is the state of a target at an instant.
type Observed struct {
	Now     time.Time
	Setting Setting
	// Since is the time since which samples are possible; zero: always. Missing samples from before this time mean nothing.
	Since time.Time
	// Replicas is the wanted number of replicas. Ready is the number of ready replicas.
	Replicas, Ready int
	// Requested is the mean request of the scaled container in ready pods, in milli-CPU; 0: unknown, or not to be
	// considered.
	Requested int64
	// Behind is true if some pod, ready or not, still requests more than Setting.
	Behind bool
	// Started has the start times of the pods that became ready since the last decision.
	Started []time.Duration
	// Stuck is true if the autoscaler cannot read its metrics.
	Stuck bool
	// Busy is true if a slow choice must wait for a later decision.
	Busy bool
	// Changed is true if the owner has changed a request since the last decision. Own has the owner's requests by container.
	Changed bool
	Own     map[string]Requests
	// Attached is true if the target has an autoscaler. Targets are the original target utilisations of the autoscaler.
	Attached bool
	Targets  []Target
	// Vertical has the recommendations of VerticalPodAutoscalers by container.
	Vertical map[string]Vertical
}

// Target is a target utilisation of an autoscaler. It is for a container, or for whole pods if Container is empty.
type Target struct {
	Container string
	Memory    bool
	Percent   int
}

// Recommendation has the numbers to set now.
type Recommendation struct {
	Phase   Phase
	Setting Setting
	// Request is the request of the scaled container for which the minimum is computed, in milli-CPU.
	Request int64
	// Unbound is true while the autoscaler is not tuned: its bounds and its utilisation are the owner's.
	Unbound bool
	// Targets are all target utilisations if the autoscaler has more targets than that of the scaled container. Nil: Setting
	// has the only target.
	Targets []Target
	// Next is the known time of the next change of a request; zero: none.
	Next time.Time
	// Reasons has at least one reason for each number.
	Reasons []Reason
	// Chose is true if the numbers were chosen anew, which takes a while.
	Chose bool
	// Demand is the demand of the last sample. Upper is the larger one of Demand and the usual peak of this hour. Both are
	// in milli-CPU. Loss is the error of the usual peaks.
	Demand, Upper, Loss float64
}

// Progress is the state besides the usage that survives a restart.
type Progress struct {
	Phase Phase
	// Resized is the time of the last change of requests. Raised is the time of the last rise of a request that was too
	// small. Behind is the last time when some pod requested more than the setting.
	Resized, Raised, Behind time.Time
	// StuckSince is the time since which the autoscaler cannot read its metrics. WellSince is the time since which samples
	// and metrics have been present.
	StuckSince, WellSince time.Time
	// Chosen is the time of the last choice, and Aim is its result. Moved is the last time when the choice of the request
	// was due or changed the request. Loss is the error of the usual peaks.
	Aim           Aim
	Chosen, Moved time.Time
	Loss          float64
	// Awaited is the number of replicas that must be ready before the request falls; 0: the request does not wait. Awaiting
	// is the time when the wait began.
	Awaited  int
	Awaiting time.Time
	// Starts are the start times of the pods that became ready last.
	Starts []time.Duration
}

// NotAfter sets each instant that is later than now to now.
func NotAfter(now time.Time, instants ...*time.Time) {
	for _, at := range instants {
		if at.After(now) {
			*at = now
		}
	}
}

// until sets instants that are later than now to now. Such instants come from a clock that was ahead. Without the change,
// everything would wait until these times.
func (s *Progress) until(now time.Time) {
	NotAfter(now, &s.Resized, &s.Raised, &s.Behind, &s.StuckSince, &s.WellSince, &s.Chosen, &s.Moved, &s.Awaiting)
}

// Tuner tunes one target.
type Tuner struct {
	Usage *Usage
	State Progress

	// shares has the usage of other containers for each milli-CPU of the scaled container. shared is the time at which it
	// was computed.
	shares map[string]float64
	shared time.Time
	// known has the peaks of the hours before read. read is the begin of the hour in which they were computed.
	known hours
	read  time.Time
	// chose is true if the numbers were chosen anew in this decision.
	chose   bool
	reasons []Reason
}

// New returns an empty tuner.
func New() *Tuner { return &Tuner{Usage: &Usage{}} }

// Observe learns from samples.
func (t *Tuner) Observe(samples ...workload.Sample) {
	for _, s := range samples {
		t.Usage.Add(s)
	}
}

// HistoryRange returns the instants of the first and of the newest sample, or zero times.
func (t *Tuner) HistoryRange() (first, newest time.Time) { return t.Usage.First(), t.Usage.Newest() }

// Forget drops all samples and their results.
func (t *Tuner) Forget() {
	t.Usage, t.shares, t.read = &Usage{}, nil, time.Time{}
	t.State.Chosen, t.State.Moved = time.Time{}, time.Time{}
}

// MakeRoom drops the containers that the target does not have, if there is no room for another one.
func (t *Tuner) MakeRoom(has func(container string) bool) { t.Usage.MakeRoom(has) }

// Decide returns the numbers to set at an instant.
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
		r.Reasons = []Reason{{Of: "phase", Text: string(t.State.Phase) + ": nothing is changed yet"}}
		return r
	}
	pace := t.pace(spec, o) // taken before all changes, so that each of them has the same permissions
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

// wanted returns the request of the aim, limited by the present bounds.
func (t *Tuner) wanted(spec Spec) int64 {
	return max(min(t.State.Aim.Request, spec.Bounds.MaxRequest), spec.Bounds.MinRequest)
}

// chosen reports whether there was a choice already.
func (t *Tuner) chosen() bool { return !t.State.Chosen.IsZero() }

// next returns the time of the next step of the request; zero: none, or unknown because a fall waits for pods.
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

// CPUReason returns the subject of the reason for the CPU of a container. scaled is the container that is scaled by
// replicas.
func CPUReason(scaled, name string) string {
	if name == scaled {
		return "request"
	}
	return name + " cpu"
}

func (t *Tuner) say(of, format string, args ...any) {
	t.reasons = append(t.reasons, Reason{Of: of, Text: fmt.Sprintf(format, args...)})
}

// advance moves to the next phase.
func (t *Tuner) advance(spec Spec, o Observed) {
	s := &t.State
	seen := PhaseInput{Manual: spec.Manual, Span: t.Usage.Span(), Seasonal: t.Usage.Span() > 24*time.Hour}
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
		s.StuckSince = o.Since // the target was not measured in between
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
	next, why := NextPhase(s.Phase, seen)
	if why != "" {
		t.say("phase", "%s: %s", next, why)
	}
	s.Phase = next
}
