package tune

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// request returns the request of the scaled container for which the minimum is computed. If a change of the request is
// due, request puts it into the setting. Before the request falls, enough pods must be ready. While the target waits for
// them, for a cooldown at most, enough is the minimum. Otherwise enough is 0.
func (t *Tuner) request(spec Spec, o Observed, to *Setting, may May, p pace) (request int64, enough int) {
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
		enough = Replicas(t.Usage.Demand(spec.Scaled).Latest(), next, spec.Profile, spec.Bounds)
		if enough = max(enough, t.planned(spec, o, next), min(awaited, spec.Bounds.MaxFor(next))); o.Ready < enough &&
			(awaited == 0 || o.Now.Sub(t.State.Awaiting) < spec.Cooldown) {
			if enough >= spec.Bounds.MaxFor(next) {
				return current.CPU, 0
			}
			if awaited == 0 {
				t.State.Awaiting = o.Now
			}
			t.State.Awaited = enough // kept, so that the awaited minimum does not change with the demand
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

// resize puts the request of the scaled container into a setting, with the consequences: larger pods serve more and need
// more memory, and the other containers need CPU in proportion.
func (t *Tuner) resize(spec Spec, to *Setting, next int64) {
	r := to.Requests[spec.Scaled]
	if next > r.CPU && !spec.Vertical {
		used := t.Usage.Memory(spec.Scaled, spec.Profile.MemoryQuantile) * float64(next) / float64(max(r.CPU, 1))
		l := spec.limits(spec.Scaled)
		needed, _ := Memory(used, spec.Profile, l.Min.Memory, l.Max.Memory)
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

// beside returns the CPU request of another container. It is the usage of this container beside a fully used scaled
// container. why is the bound that limits the request; empty: none does.
func (t *Tuner) beside(spec Spec, name string, request int64) (wanted int64, why string) {
	l := spec.limits(name)
	used := int64(math.Ceil(t.shares[name] * float64(request)))
	return min(max(used, l.Min.CPU), l.Max.CPU), Bounded(used, l.Min.CPU, l.Max.CPU,
		func(n int64) string { return fmt.Sprintf("%dm", n) })
}

// vertical sizes memory, and the CPU of containers that are not scaled. A request that is too small grows at once, and
// again after a part of the cooldown. A request that is too large shrinks in steps, with cooldowns.
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
			wanted, why := Memory(used, margin, l.Min.Memory, l.Max.Memory)
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

// wideMargin is the factor for the margin of memory until a day is known.
const wideMargin = 1.5

// tight is the share of a memory request at which usage makes the request grow at once.
const tight = 0.92

// haste is the divisor of a cooldown: a request that is too small waits a part 1/haste of the cooldown after the last
// rise. The need of a target may grow every minute, but a roll-out every minute must not follow.
const haste = 4

// pace has the permissions of an instant. fall is true if requests that are too large may fall. rise is true if requests
// that are too small may rise. due is true once the cooldown is over. behind is true while a pod still requests more than
// the setting, so that nothing may fall.
type pace struct{ fall, rise, due, behind bool }

// pace returns the permissions of this instant. Requests may fall once a cooldown has passed since the last change of
// requests, and since the last time when a pod requested more than the setting. So every pod has one step, and its
// effect is visible, before the next step.
func (t *Tuner) pace(spec Spec, o Observed) pace {
	since := func(at time.Time) time.Duration { return o.Now.Sub(at) }
	return pace{
		fall: min(since(t.State.Resized), since(t.State.Behind)) >= spec.Cooldown,
		rise: since(t.State.Raised) >= spec.Cooldown/haste, due: since(t.State.Resized) >= spec.Cooldown, behind: o.Behind,
	}
}

// waits returns the reason why a fall waits for pods; empty: it does not wait.
func (p pace) waits(current, wanted int64) string {
	if !p.behind || wanted >= current {
		return ""
	}
	return "; it does not fall while a pod requests more than is set"
}

// step returns the next request on the way to the wanted one. needed is true if the present request is too small.
func (p pace) step(spec Spec, current, wanted int64, needed bool) int64 {
	if wanted < current && (needed || !p.fall) || wanted > current && (!needed || !p.rise) {
		return current
	}
	next, _ := spec.Guard.Step(current, wanted, needed)
	return next
}

// again returns the reason why a request that is too small waits.
func again(spec Spec) string {
	return fmt.Sprintf("; it is short, and rises again %s after it last did", spec.Cooldown/haste)
}

// change puts the changed requests of a container into the setting, and records the time of the change.
func (t *Tuner) change(to *Setting, name string, before, after Requests, now time.Time) {
	if after == before {
		return
	}
	to.Requests[name], t.State.Resized = after, now
	if after.CPU > before.CPU || after.Memory > before.Memory {
		t.State.Raised = now
	}
}
