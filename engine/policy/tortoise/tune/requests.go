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
	first := stepOf(o.Now)
	for i := range season {
		step := first + i
		in.Upper = append(in.Upper, t.model.Upper(step))
		in.Expected = append(in.Expected, t.model.Peak(step))
	}
	c := optimize.Choose(in)
	s.Chosen, s.Utilisation = o.Now, c.Utilisation
	if s.Wanted == 0 || c.Cost < (1-spec.Guard.Worth)*c.Now {
		s.Wanted = c.Request
	} else if s.Wanted != c.Request {
		c.Reasons[0].Text += fmt.Sprintf("; that saves less than %.0f %%, and %dm stays the aim", 100*spec.Guard.Worth, s.Wanted)
	}
	t.reasons = append(t.reasons, c.Reasons...)
}

// request gives the request of the scaled container that the minimum is to be for, and puts it into the setting if now is the time.
// Downwards, the replicas come first: the request falls when so many are ready that what is left is enough.
func (t *Tuner) request(spec Spec, o Observed, to *Setting, may phase.May) int64 {
	current := o.Setting.Requests[spec.Scaled]
	if spec.Vertical && spec.Fixed {
		return to.Requests[spec.Scaled].CPU
	}
	if !may.Tune || t.State.Wanted == 0 || o.Now.Sub(t.State.Resized) < spec.Cooldown {
		return current.CPU
	}
	next, ok := spec.Guard.Step(current.CPU, t.State.Wanted, false)
	if !ok {
		return current.CPU
	}
	if next < current.CPU {
		if pace := t.pace(spec, o); !pace.fall {
			t.say("request", "%dm, on the way to %dm%s", current.CPU, t.State.Wanted, pace.waits(current.CPU, next))
			return current.CPU
		}
		demand := max(t.upper(spec, o), t.Usage.Demand(spec.Scaled).Latest())
		if enough := optimize.Replicas(demand, next, spec.Profile, spec.Bounds); o.Ready < enough {
			if enough >= spec.Bounds.MaxFor(next) {
				return current.CPU
			}
			t.say("request", "%dm comes once %d replicas are ready, %d are", next, enough, o.Ready)
			return next
		}
	}
	current.CPU = next
	to.Requests[spec.Scaled] = current
	for name, r := range to.Requests {
		if name != spec.Scaled && !spec.Vertical {
			r.CPU, _ = t.beside(spec, name, next)
			to.Requests[name] = r
		}
	}
	t.State.Resized = o.Now
	t.say("request", "%dm, on the way to %dm", next, t.State.Wanted)
	return next
}

// beside is the CPU request of another container: what it uses beside a pod whose scaled container is used up. It says why it is not that.
func (t *Tuner) beside(spec Spec, name string, request int64) (wanted int64, why string) {
	l := spec.limits(name)
	used := int64(math.Ceil(t.shares[name] * float64(request)))
	return min(max(used, l.Min.CPU), l.Max.CPU), optimize.Bounded(used, l.Min.CPU, l.Max.CPU, func(n int64) string { return fmt.Sprintf("%dm", n) })
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

// vertical sizes memory, and the CPU of the containers that are not scaled. What is short grows at once, and again after a part of the
// cooldown; what is too much shrinks by steps, with cooldowns.
func (t *Tuner) vertical(spec Spec, o Observed, to *Setting) {
	if spec.Vertical {
		t.recommended(spec, o, to)
		return
	}
	pace := t.pace(spec, o)
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
			short := used > tight*float64(r.Memory) || r.Memory < l.Floor.Memory
			r.Memory = pace.step(spec, r.Memory, wanted, short)
			why.Of = name + " " + why.Of
			if short && wanted > r.Memory && !pace.rise {
				why.Text += again(spec)
			}
			why.Text += pace.waits(r.Memory, wanted)
			t.reasons = append(t.reasons, why)
		}
		if share := t.shares[name]; name != spec.Scaled && share > 0 {
			wanted, bound := t.beside(spec, name, o.Setting.Requests[spec.Scaled].CPU)
			r.CPU = pace.step(spec, r.CPU, wanted, wanted > r.CPU)
			text := fmt.Sprintf("%dm: %.3f of the %dm of %s", wanted, share, o.Setting.Requests[spec.Scaled].CPU, spec.Scaled) + bound
			if wanted > r.CPU && !pace.rise {
				text += again(spec)
			}
			t.say(name+" cpu", "%s", text+pace.waits(r.CPU, wanted))
		}
		t.change(to, name, before, r, o.Now)
	}
}

// tight is the share of a memory request from which it must grow at once.
const tight = 0.92

// haste is by how much less than a cooldown what is short waits after the last time that something was: what a target needs may grow by the
// minute, and it must not be rolled out by the minute.
const haste = 4

// pace says whether requests that are too much may fall at an instant, and those that are short rise. behind says that falls wait for pods.
type pace struct{ fall, rise, behind bool }

// pace gives the pace of now. What falls has a cooldown from when the last pod had the step before: what a step does is to be seen before
// the next one, and pods are not to get several at once.
func (t *Tuner) pace(spec Spec, o Observed) pace {
	since := func(at time.Time) time.Duration { return o.Now.Sub(at) }
	return pace{
		fall: min(since(t.State.Resized), since(t.State.Behind)) >= spec.Cooldown,
		rise: since(t.State.Raised) >= spec.Cooldown/haste, behind: o.Behind,
	}
}

// waits says that a fall waits for pods; empty: it does not, or it is none.
func (p pace) waits(current, wanted int64) string {
	if !p.behind || wanted >= current {
		return ""
	}
	return "; it does not fall while a pod requests more than is set"
}

// step gives the next request on the way to the one that is wanted. needed says that the current one is short.
func (p pace) step(spec Spec, current, wanted int64, needed bool) int64 {
	if wanted < current && (needed || !p.fall) || wanted > current && (!needed || !p.rise) {
		return current
	}
	next, _ := spec.Guard.Step(current, wanted, needed)
	return next
}

// again says that what is short waits.
func again(spec Spec) string {
	return fmt.Sprintf("; it is short, and rises again %s after it last did", spec.Cooldown/haste)
}

// change puts what a container requests into the setting, and notes when that was.
func (t *Tuner) change(to *Setting, name string, before, after Request, now time.Time) {
	if after == before {
		return
	}
	to.Requests[name], t.State.Resized = after, now
	if after.CPU > before.CPU || after.Memory > before.Memory {
		t.State.Raised = now
	}
}
