package tune

import (
	"fmt"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/phase"
)

// The steps back from an emergency.
const (
	backEvery = 5 * time.Minute
	backShare = 0.1
)

// A minimum falls if it falls to this share, or has not fallen for so long.
const (
	worthLowering = 0.8
	lowerEvery    = 10 * time.Minute
)

// minimum gives the minimum of the autoscaler: what the upper bound of demand needs. While pods request less than that they are to, as they
// do until a roll-out is through, it is for what they have. In an emergency it never falls, and no pod that is there goes; on the way back it
// falls by a tenth every five minutes.
func (t *Tuner) minimum(spec Spec, o Observed, upper float64, request int64, may phase.May) int {
	until := ""
	if has := max(o.Requested, spec.Bounds.MinRequest); o.Requested > 0 && has < request {
		until = fmt.Sprintf(" while pods request %dm and not yet %dm", has, request)
		request = has
	}
	needed := replicasFor(spec, upper, request)
	t.say("min", "%d: demand is not above %.0fm in %.1f %% of all cases, a replica may be used up to %.0fm%s", needed, upper, 100*t.quantile,
		spec.Profile.Headroom*float64(request), until)
	most := spec.Bounds.MaxFor(request)
	current := min(o.Setting.Min, most)
	switch {
	case !may.Lower:
		held := max(needed, current, min(o.Replicas, most))
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
	if float64(needed) > worthLowering*float64(current) && o.Now.Sub(t.State.Lowered) < lowerEvery {
		return current
	}
	t.State.Lowered = o.Now
	return needed
}

// maximum returns the maximum of the autoscaler. While the request is less than its owner's it is higher, so that as much is within reach; a pod may
// have that request already.
func (t *Tuner) maximum(spec Spec, o Observed, request int64) int {
	if has := o.Requested; has > 0 {
		request = min(request, has)
	}
	most := spec.Bounds.MaxFor(request)
	if spec.Bounds.Reach > 0 && most > spec.Bounds.Max {
		t.say("max", "%d: pods of %dm reach what the %d of its owner do, which is %dm", most, request, spec.Bounds.Max, spec.Bounds.Reach)
	}
	return most
}

// replicasFor is how many pods of a request serve a demand.
func replicasFor(spec Spec, upper float64, request int64) int {
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

// A demand that spikes, or has collapsed within the last two weeks, will do so again: violations cost so many times as much then.
const (
	wary    = 5
	waryFor = 14 * 24 * stepsPerHour
)

// price is that of violations, as of a step.
func (t *Tuner) price(spec Spec, step int64) float64 {
	returned := t.State.Returned
	if t.spiky || !returned.IsZero() && step-stepOf(returned) < waryFor {
		return wary * spec.Profile.Violation
	}
	return spec.Profile.Violation
}

// upper is what demand is not above from now until a pod that is started now serves, in milli-CPU.
func (t *Tuner) upper(spec Spec, o Observed) float64 {
	step := stepOf(o.Now)
	ahead := stepOf(o.Now.Add(t.State.Lead))
	upper := max(t.model.Upper(step), t.model.Upper(ahead))
	if factor, ok := t.State.Nowcast.Upper(minuteOf(o.Now), t.price(spec, step)); ok {
		upper = max(t.model.Peak(step), t.model.Peak(ahead)) * factor
		upper = max(upper, t.model.Spike(step), t.model.Spike(ahead))
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

// Hours gives the minima of the next 24 hours for a request, one an hour from the current one of the spec's zone on; none where nothing is known.
func (t *Tuner) Hours(spec Spec, now time.Time, request int64) []int {
	if t.model == nil {
		return nil
	}
	all := make([]int, 24)
	first := stepOf(HourOf(now, spec.Zone))
	for i := range all {
		for k := range stepsPerHour {
			n := optimize.Replicas(t.model.Upper(first+int64(i)*stepsPerHour+k), max(request, 1), spec.Profile, spec.Bounds)
			all[i] = max(all[i], n)
		}
	}
	return all
}
