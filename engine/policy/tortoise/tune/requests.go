package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/phase"
)

// request gives the request of the scaled container that the minimum is to be for, and puts it into the setting if now is the time.
// Downwards, the replicas come first: the request falls when as many are ready as are enough, and until then, for a cooldown at most, the minimum
// is that many.
func (t *Tuner) request(spec Spec, o Observed, to *Setting, may phase.May, p pace) (request int64, enough int) {
	current, wanted, awaited := to.Requests[spec.Scaled], t.wanted(spec), t.State.Awaited
	t.State.Awaited = 0
	if spec.Vertical && spec.Fixed || !may.Tune || !t.chosen() || !p.due {
		return current.CPU, 0
	}
	next, ok := spec.Guard.Step(current.CPU, wanted, false)
	if !ok {
		return current.CPU, 0
	}
	if next < current.CPU {
		if !p.fall {
			t.say("request", "%dm, on the way to %dm%s", current.CPU, wanted, p.waits(current.CPU, next))
			return current.CPU, 0
		}
		enough = optimize.Replicas(t.Usage.Demand(spec.Scaled).Latest(), next, spec.Profile, spec.Bounds)
		if enough = max(enough, t.planned(spec, o, next), min(awaited, spec.Bounds.MaxFor(next))); o.Ready < enough && (awaited == 0 || o.Now.Sub(t.State.Awaiting) < spec.Cooldown) {
			if enough >= spec.Bounds.MaxFor(next) {
				return current.CPU, 0
			}
			if awaited == 0 {
				t.State.Awaiting = o.Now
			}
			t.State.Awaited = enough // demand that goes up and down does not take the minimum along
			t.say("request", "%dm comes once %d replicas are ready, %d are", next, enough, o.Ready)
			return next, enough
		}
	}
	t.resize(spec, to, next)
	t.State.Resized = o.Now
	if next != wanted {
		t.say("request", "%dm, on the way to %dm", next, wanted)
	}
	return next, 0
}

// resize puts the request of the scaled container into a setting, and what goes with it: larger pods serve more, and need more memory.
func (t *Tuner) resize(spec Spec, to *Setting, next int64) {
	r := to.Requests[spec.Scaled]
	if next > r.CPU && !spec.Vertical {
		used := t.Usage.Memory(spec.Scaled, spec.Profile.MemoryQuantile) * float64(next) / float64(max(r.CPU, 1))
		l := spec.limits(spec.Scaled)
		needed, _ := optimize.Memory(used, spec.Profile, l.Min.Memory, l.Max.Memory)
		r.Memory = max(r.Memory, needed)
	}
	r.CPU = next
	to.Requests[spec.Scaled] = r
	for name, r := range to.Requests {
		if name != spec.Scaled && !spec.Vertical {
			r.CPU, _ = t.beside(spec, name, next)
			to.Requests[name] = r
		}
	}
}

// beside is the CPU request of another container: what it uses beside a pod whose scaled container is used up. It says why it is not that.
func (t *Tuner) beside(spec Spec, name string, request int64) (wanted int64, why string) {
	l := spec.limits(name)
	used := int64(math.Ceil(t.shares[name] * float64(request)))
	return min(max(used, l.Min.CPU), l.Max.CPU), optimize.Bounded(used, l.Min.CPU, l.Max.CPU, func(n int64) string { return fmt.Sprintf("%dm", n) })
}

// vertical sizes memory, and the CPU of the containers that are not scaled. What is short grows at once, and again after a part of the
// cooldown; what is too much shrinks by steps, with cooldowns.
func (t *Tuner) vertical(spec Spec, o Observed, to *Setting) {
	if spec.Vertical {
		t.recommended(spec, o, to)
		return
	}
	if o.Now.Sub(t.shared) >= time.Hour || t.shares == nil {
		t.findShares(spec, o.Now)
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

// wideMargin is how much more memory there is until a day is known.
const wideMargin = 1.5

// tight is the share of a memory request from which it must grow at once.
const tight = 0.92

// haste is by how much less than a cooldown what is short waits after the last time that something was: what a target needs may grow by the
// minute, and it must not be rolled out by the minute.
const haste = 4

// pace says whether requests that are too much may fall at an instant, and those that are short rise. due says that the cooldown is over, and behind
// that falls wait for pods.
type pace struct{ fall, rise, due, behind bool }

// pace gives the pace of now. What falls has a cooldown from when the last pod had the step before: what a step does is to be seen before
// the next one, and pods are not to get several at once.
func (t *Tuner) pace(spec Spec, o Observed) pace {
	since := func(at time.Time) time.Duration { return o.Now.Sub(at) }
	return pace{
		fall: min(since(t.State.Resized), since(t.State.Behind)) >= spec.Cooldown,
		rise: since(t.State.Raised) >= spec.Cooldown/haste, due: since(t.State.Resized) >= spec.Cooldown, behind: o.Behind,
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
