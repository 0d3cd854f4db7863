package tune

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// chooseEvery is the time between two choices of the setting. resizeEvery is the longest time until the choice of
	// the request is due again. It is long, because a different request changes all pods.
	chooseEvery, resizeEvery = 24 * time.Hour, 7 * 24 * time.Hour
	// worthInTime and worthAtOnce are shares of the cost. A different request must save worthInTime if the choice of the
	// request is due, and worthAtOnce if it is not.
	worthInTime, worthAtOnce = 0.05, 0.2
	// unknownTarget is the assumed target utilisation of an autoscaler whose target is unknown, in percent.
	unknownTarget = 70
	// lag is the age of an autoscaler's metrics.
	lag = 30 * time.Second
)

// ownerAim returns the owner's setting, or the first seen setting if the owner's is unknown.
func (spec Spec) ownerAim(now Setting) Aim {
	own := spec.Owner
	if own.Request == 0 {
		own = OwnerSetting{Request: now.Requests[spec.Scaled].CPU, Target: now.Utilisation, Min: now.Min}
	}
	if own.Target == 0 && !spec.Fixed {
		own.Target = unknownTarget
	}
	return Aim{Request: own.Request, Target: own.Target, Floor: float64(own.Min) * float64(own.Request)}
}

// choose chooses the request and the other settings together, once a day. The choice of the request is due the first time,
// then when the history is twice as long, and later once a week. If the choice of the request is not due, the request
// changes only for a large saving.
func (t *Tuner) choose(spec Spec, o Observed) {
	s := &t.State
	if !s.Phase.Allowed().Seasons || o.Busy || !s.Chosen.IsZero() && o.Now.Sub(s.Chosen) < chooseEvery {
		return
	}
	owner, series := spec.ownerAim(o.Setting), t.Usage.Demand(spec.Scaled)
	if s.Chosen.IsZero() {
		s.Aim = owner
	}
	to := HourOf(o.Now, spec.Zone)
	from := to.Add(-replayed)
	if first := HourOf(t.Usage.First().Add(time.Hour-1), spec.Zone); first.After(from) {
		from = first
	}
	h, in := t.hours(spec, o.Now), t.input(spec, o, owner)
	in.Load = loadOf(series, from, to)
	for at := from; at.Before(to); at = at.Add(time.Hour) {
		in.Peaks = append(in.Peaks, h.usual(at))
	}
	in.Resizing = worthAtOnce
	if s.Moved.IsZero() || o.Now.Sub(s.Moved) >= min(s.Moved.Sub(t.Usage.First()), resizeEvery) {
		in.Resizing, s.Moved = worthInTime, o.Now
	}
	c := Choose(in)
	if c.Aim.Request != in.Now.Request {
		s.Moved = o.Now
	}
	s.Chosen, s.Aim, s.Loss = o.Now, c.Aim, h.loss(from)
	t.chose, t.known.known = true, map[int]float64{} // drop the cached peaks of the replayed week, which take room
	t.tell(spec, c)
}

// input returns the input of a choice, without the replayed demand.
func (t *Tuner) input(spec Spec, o Observed, owner Aim) Input {
	current := o.Setting.Requests[spec.Scaled]
	now := t.State.Aim
	now.Request = t.wanted(spec)
	t.findShares(spec, o.Now)
	l := spec.limits(spec.Scaled)
	memory, more := current.Memory, 0.0
	if used := t.Usage.Memory(spec.Scaled, spec.Profile.MemoryQuantile); used > 0 && !spec.Vertical {
		memory, _ = Memory(used, spec.Profile, l.Min.Memory, l.Max.Memory)
		more = t.Usage.MemoryByCPU(spec.Scaled) * spec.Profile.MemoryMargin
	}
	if memory == l.Max.Memory || memory == l.Min.Memory {
		more = 0
	}
	in := Input{
		Profile: spec.Profile, Bounds: spec.Bounds, System: t.system(spec), Owner: owner, Now: now, Tolerance: spec.Tolerance,
		PerPod: float64(memory) / (1 << 30) * spec.Profile.Memory, PerCPU: more / (1 << 30) * spec.Profile.Memory, Known: current.CPU,
	}
	for _, name := range slices.Sorted(maps.Keys(o.Setting.Requests)) {
		if name != spec.Scaled {
			in.Beside += t.shares[name]
		}
	}
	return in
}

// system returns the known behaviour of the autoscaler and the pods.
func (t *Tuner) system(spec Spec) System {
	sys := Default()
	sys.Lag, sys.Headroom = lag, spec.Profile.Headroom
	if took := t.startUp(); took > 0 {
		sys.Start = took
	}
	return sys
}

// tell stores the reasons of the choice.
func (t *Tuner) tell(spec Spec, c Choice) {
	text := c.Text(spec.Bounds)
	request := fmt.Sprintf("%dm: %s", c.Aim.Request, text)
	if c.Aim.Request == spec.Bounds.MaxRequest && spec.Bounds.MaxBy != "" {
		request += fmt.Sprintf("; no more than %dm by %s", spec.Bounds.MaxRequest, spec.Bounds.MaxBy)
	}
	t.say("request", "%s", request)
	if c.Aim.Target > 0 {
		t.say("utilisation", "%d %%: %s (profile %s)", c.Aim.Target, text, spec.Profile.Name)
	}
}

// findShares computes, for each container, its usage for each milli-CPU of the scaled container, from the last days.
func (t *Tuner) findShares(spec Spec, now time.Time) {
	t.shares = map[string]float64{}
	for _, name := range t.Usage.Containers() {
		t.shares[name] = t.share(spec, name, minuteOf(now))
	}
	t.shared = now
}

// shareEvery is the number of minutes between two samples of a share. It does not divide 60, so the samples fall on all
// minutes of the hour.
const shareEvery = 7

// share returns the usage of another container for each milli-CPU of the scaled container. It is a quantile over the week
// before a minute.
func (t *Tuner) share(spec Spec, name string, until int64) float64 {
	own, other := t.Usage.Demand(spec.Scaled), t.Usage.Demand(name)
	if own == nil || other == nil {
		return 0
	}
	var h Histogram
	for minute := max(until-int64(replayed/time.Minute), 0); minute < until; minute += shareEvery {
		if a, b := own.At(minute), other.At(minute); a.Known && b.Known && a.Mean > 0 {
			h.Add(1e4*b.Mean/a.Mean, 1, time.Unix(1, 0), time.Hour)
		}
	}
	return h.Quantile(spec.Profile.Share) / 1e4
}
