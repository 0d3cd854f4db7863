package mercari

import (
	"math"
	"slices"
	"time"
)

// Utilisation returns the recommended target utilisation in percent. It returns false if the target has
// MaximumMaxReplicas replicas, or no request. U = ceil(100 * stored / request) is the stored usage in percent of the
// request:
//
//	current > U            clamp(current)
//	U - current >= 100     clamp(current): a target of 0 % or less is invalid
//	otherwise              clamp(100 - (U - current))
//
// clamp limits a value to MinUtilisation and MaxUtilisation.
func (c Config) Utilisation(request, stored int64, current, replicas int32) (percent int32, ok bool) {
	if replicas == c.MaximumMaxReplicas || request <= 0 {
		return 0, false
	}
	used := math.Ceil(float64(stored) / float64(request) * wholePercent)
	proposed := float64(current)
	if proposed <= used && used-proposed < wholePercent {
		proposed = wholePercent - (used - float64(current))
	}
	return int32(min(max(proposed, float64(c.MinUtilisation)), float64(c.MaxUtilisation))), true
}

// ApplyUtilisation returns the next target utilisation. This is the recommended one, but at most MaxIncrease above the
// current one. The target stays the same until UtilisationInterval after the last change. changed is zero if there was no
// change before.
func (c Config) ApplyUtilisation(current, recommended int32, changed, now time.Time) int32 {
	if !changed.IsZero() && changed.Add(c.UtilisationInterval).After(now) {
		return current
	}
	return min(recommended, current+c.MaxIncrease)
}

// Slot is the recommendation for one slot of the week or of the day.
type Slot struct {
	Value   int32
	Updated time.Time
}

const (
	// untouched is the time without an update after which a slot decays. decay is the share of its value that remains.
	untouched = 23 * time.Hour
	decay     = 0.95
)

// Minimum updates the slot of the recommended minimum. N is the present number of replicas:
//
//	v   = ceil(N * MinFactor), or MinimumMinReplicas if that is larger
//	old = the value of the slot, or trunc(0.95 * value) if the slot was not updated for 23 h
//	new = max(v, old)
func (c Config) Minimum(s Slot, replicas int32, now time.Time) Slot {
	return c.update(s, float64(replicas)*c.MinFactor, c.MinimumMinReplicas, now)
}

// Maximum updates the slot of the recommended maximum in the same way, with MaxFactor. If v is below MinimumMinReplicas,
// it becomes trunc(MinimumMinReplicas * MaxFactor / MinFactor), which is 12 by default.
func (c Config) Maximum(s Slot, replicas int32, now time.Time) Slot {
	return c.update(s, float64(replicas)*c.MaxFactor, int32(float64(c.MinimumMinReplicas)*c.MaxFactor/c.MinFactor), now)
}

func (c Config) update(s Slot, factored float64, floor int32, now time.Time) Slot {
	v := int32(math.Ceil(factored))
	if v < c.MinimumMinReplicas {
		v = floor
	}
	old := s.Value
	if now.Sub(s.Updated) >= untouched {
		old = int32(math.Trunc(float64(old) * decay))
	}
	return Slot{Value: max(v, old), Updated: now}
}

// Slots are the hourly slots of a week, from Sunday, or the hourly slots of a day.
type Slots []Slot

const hoursOfDay, hoursOfWeek = 24, 7 * 24

// newSlots returns empty slots.
func newSlots(weekly bool) Slots {
	if weekly {
		return make(Slots, hoursOfWeek)
	}
	return make(Slots, hoursOfDay)
}

// At returns the slot of a local time.
func (s Slots) At(local time.Time) *Slot {
	if len(s) == hoursOfWeek {
		return &s[int(local.Weekday())*hoursOfDay+local.Hour()]
	}
	return &s[local.Hour()]
}

// Filled reports whether every slot has a value. Bounds, utilisation and the requests of Horizontal resources are not
// applied before.
func (s Slots) Filled() bool {
	return !slices.ContainsFunc(s, func(v Slot) bool { return v.Value == 0 })
}

// Bounds are the bounds to set on an autoscaler.
type Bounds struct {
	Min, Max int32
	// Done is true once the way back from an emergency has ended.
	Done bool
}

// Mode is the effect of the phase on the bounds.
type Mode int

// The modes.
const (
	Working Mode = iota
	Emergency
	BackToNormal
)

// Bounds returns the bounds from the recommendations of the slot and the present minimum, which is current. The
// recommended maximum is limited to MaximumMaxReplicas. The recommended minimum is limited to MaximumMinReplicas. The
// minimum to set is
//
//	Emergency        the maximum
//	BackToNormal     trunc(Reduction * current), until the recommended minimum is higher
//	otherwise        the recommended minimum
func (c Config) Bounds(mode Mode, recommendedMin, recommendedMax, current int32) Bounds {
	b := Bounds{Max: min(recommendedMax, c.MaximumMaxReplicas)}
	recommended := min(recommendedMin, c.MaximumMinReplicas)
	switch mode {
	case Emergency:
		b.Min = b.Max
	case BackToNormal:
		b.Min = int32(math.Trunc(float64(current) * c.Reduction))
		if recommended > b.Min {
			b.Min, b.Done = recommended, true
		}
	default:
		b.Min = recommended
	}
	return b
}

// Lost reports whether metrics have been lost long enough for an emergency.
func (c Config) Lost(since, now time.Time) bool {
	return !since.IsZero() && now.Sub(since) >= c.EmergencyAfter
}

// MayRestart reports whether changed requests may be rolled out now. A change that only lowers requests is allowed at
// most once every RestartInterval.
func (c Config) MayRestart(onlyDown bool, last, now time.Time) bool {
	return !onlyDown || last.IsZero() || now.Sub(last) >= c.RestartInterval
}
