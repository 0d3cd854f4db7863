package pipeline

import (
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Override is an order about a target for a time. Schedules yield to it within their Bounds.
type Override struct {
	By     workload.Policy
	Effect v1alpha1.OverrideEffect
	// Since is the creation of the order, from which the limits of schedules count. Until is its end; zero: no end is known.
	Since, Until time.Time
	// Policies lists the schedules that yield, as name, Kind/name or Kind/namespace/name; empty: all.
	Policies []string
}

// IsActive reports whether the order is not over. It is in force from its creation on, whatever the clocks of the API server and of
// Flyball say.
func (o *Override) IsActive(now time.Time) bool { return o.Until.IsZero() || now.Before(o.Until) }

// Bounds are the limits within which a schedule yields to Overrides.
type Bounds struct {
	By workload.Policy
	// MaxDuration counts from the creation of an Override; zero: no limit.
	MaxDuration time.Duration
	// Effects are the effects to which the schedule yields; empty: all.
	Effects []v1alpha1.OverrideEffect
	// Suspended is true for a schedule that keeps the present state of its targets.
	Suspended bool
}

// Yields returns the instant until which the schedule yields to an order that is in force; zero: no end is known. why is the
// reason if the schedule does not yield; empty: it yields.
func (b *Bounds) Yields(o *Override, now time.Time) (until time.Time, why string) {
	switch {
	case !o.Names(b.By):
		return until, fmt.Sprintf("spec.policies does not name %s", b.By)
	case len(b.Effects) > 0 && !slices.Contains(b.Effects, o.Effect):
		return until, fmt.Sprintf("%s yields to no effect %s", b.By, o.Effect)
	case b.Suspended && o.Effect == v1alpha1.OverrideAwake:
		return until, fmt.Sprintf("%s is suspended", b.By)
	case b.MaxDuration == 0 || o.Since.IsZero():
		return o.Until, ""
	}
	last := o.Since.Add(b.MaxDuration)
	if !now.Before(last) {
		return until, fmt.Sprintf("%s yields for at most %s", b.By, timeline.DurationText(b.MaxDuration))
	}
	if o.Until.IsZero() || last.Before(o.Until) {
		return last, ""
	}
	return o.Until, ""
}

// Names reports whether a schedule is among those that yield to the order.
func (o *Override) Names(id workload.Policy) bool {
	return len(o.Policies) == 0 || slices.ContainsFunc(o.Policies, func(name string) bool {
		return name == id.Name || name == id.Kind+"/"+id.Name || name == id.String()
	})
}

// Applies reports whether an order to stay awake has an effect on a target: a schedule of the target yields, or the order names none and
// no schedule puts the target to sleep.
func (o *Override) Applies(bounds []Bounds, now time.Time) bool {
	refused := len(o.Policies) > 0
	for i := range bounds {
		if bounds[i].Suspended {
			continue
		}
		if _, why := bounds[i].Yields(o, now); why == "" {
			return true
		}
		refused = true
	}
	return !refused
}
