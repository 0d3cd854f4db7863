package tune

import (
	"fmt"
	"time"
)

// planned returns the chosen minimum of this hour, for pods with a request. Before the first choice, it is the present
// minimum.
func (t *Tuner) planned(spec Spec, o Observed, request int64) int {
	if !t.chosen() {
		return max(min(o.Setting.Min, spec.Bounds.MaxFor(request)), spec.Bounds.Min)
	}
	return t.State.Aim.Minimum(t.soon(spec, o.Now), request, spec.Bounds)
}

// soon returns the usual peak of this hour. Shortly before the next hour, when pods for it have to start, it returns the
// larger one of both hours.
func (t *Tuner) soon(spec Spec, now time.Time) float64 {
	h := t.hours(spec, now)
	return max(h.usual(now), h.usual(now.Add(t.system(spec).Early())))
}

// minimum returns the minimum of the autoscaler. It is the chosen minimum of this hour, and at least enough, the number of
// pods needed before the request may fall. During a roll-out to a larger request, it is computed for the present requests
// of the pods. In an emergency the minimum covers the possible demand, never falls, and is at least the present number of
// pods. On the way back from an emergency it does not fall either. After that it falls in one step, because the autoscaler
// can read the demand again.
func (t *Tuner) minimum(spec Spec, o Observed, request int64, enough int, may May) int {
	until := ""
	if has := max(o.Requested, spec.Bounds.MinRequest); o.Requested > 0 && has < request {
		until = fmt.Sprintf(" while pods request %dm and not yet %dm", has, request)
		request = has
	}
	needed := max(t.planned(spec, o, request), enough)
	t.sayMinimum(spec, o, needed, request, until)
	most := spec.Bounds.MaxFor(request)
	current := min(o.Setting.Min, most)
	switch {
	case t.State.Phase == Emergency:
		could := t.hours(spec, o.Now).most(o.Now)
		needed = max(needed, Replicas(max(could, t.Usage.Demand(spec.Scaled).Latest()), request, spec.Profile, spec.Bounds))
		kept := max(needed, current, min(o.Replicas, most))
		t.say("min", "%d: it never falls in an emergency, and demand has been %.0fm at this time of a day", kept, could)
		return kept
	case needed < current && !may.Lower:
		t.say("min", "%d: it does not fall until all has been well for half an hour", current)
		return current
	}
	return needed
}

// sayMinimum stores the reason for the minimum.
func (t *Tuner) sayMinimum(spec Spec, o Observed, needed int, request int64, until string) {
	aim, peak := t.State.Aim, t.soon(spec, o.Now)
	switch {
	case !t.chosen():
		t.say("min", "%d: it stays until a day is known", needed)
	case aim.Share*peak > aim.Floor:
		t.say("min", "%d: %g times the %.0fm that are usual in this hour, with pods of %dm%s", needed, aim.Share, peak, request, until)
	default:
		t.say("min", "%d: at all times, with pods of %dm%s", needed, request, until)
	}
}

// maximum returns the maximum of the autoscaler. While the request is below the owner's request, the maximum is higher, so
// that the owner's total request stays within reach. This also holds while a pod still has the old request.
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
