package tune

import (
	"math"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/replay"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

const (
	// replayed is how much of the learnt demand is replayed, at most.
	replayed = 7 * 24 * time.Hour
	// held is for how long a demand is taken to go on where nothing is known.
	held = 10
	// Days before that count for an hour. Each counts fade times as much as the one after it, and the one a week before sameDay more.
	daysBefore    = 7
	fade, sameDay = 0.7, 0.5
)

// minuteOf gives the number of the minute of an instant.
func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// HourOf gives the instant at which the hour of an instant began, on the wall clock of a zone; nil is UTC.
func HourOf(at time.Time, zone *time.Location) time.Time {
	unix, offset := at.Unix(), 0
	if zone != nil {
		_, offset = at.In(zone).Zone()
	}
	const hour = int64(time.Hour / time.Second)
	return time.Unix(unix-(unix+int64(offset))%hour, 0)
}

// loadOf reads the demand of a series from one instant to another. What is unknown for a few minutes is what was before.
func loadOf(s *usage.Series, from, to time.Time) replay.Load {
	l := replay.Load{First: minuteOf(from), Demand: make([]float32, max(minuteOf(to)-minuteOf(from), 0))}
	last, age := float32(-1), held
	for i := range l.Demand {
		if p := s.At(l.First + int64(i)); p.Known {
			last, age = float32(p.Mean), 0
		} else if age++; age > held {
			last = -1
		}
		l.Demand[i] = last
	}
	return l
}

// hours are the peaks of all hours that are known: the largest minute of each.
type hours struct {
	first time.Time
	peaks []float64
	zone  *time.Location
	daily bool
}

// hoursOf reads the hours of a series that ended before the one of an instant.
func hoursOf(s *usage.Series, spec Spec, now time.Time) hours {
	end := HourOf(now, spec.Zone)
	n := usage.Points / 60
	h := hours{first: end.Add(-time.Duration(n) * time.Hour), peaks: make([]float64, n), zone: spec.Zone, daily: spec.Daily}
	if h.zone == nil {
		h.zone = time.UTC
	}
	l := loadOf(s, h.first, end)
	for i := range h.peaks {
		h.peaks[i] = -1
		for _, demand := range l.Demand[i*60 : (i+1)*60] {
			h.peaks[i] = max(h.peaks[i], float64(demand))
		}
	}
	return h
}

// days calls a function with the peaks that the hour of an instant had on the days before, by the wall clock.
func (h hours) days(at time.Time, yield func(day int, peak float64)) {
	for day := 1; day <= daysBefore; day++ {
		i := int(math.Floor(at.In(h.zone).AddDate(0, 0, -day).Sub(h.first).Hours()))
		if i >= 0 && i < len(h.peaks) && h.peaks[i] >= 0 {
			yield(day, h.peaks[i])
		}
	}
}

// usual returns the peak that is usual in the hour of an instant by the days before, in milli-CPU; 0: not known. The last days count most.
func (h hours) usual(at time.Time) float64 {
	sum, total := 0.0, 0.0
	h.days(at, func(day int, peak float64) {
		weight := math.Pow(fade, float64(day))
		if day == daysBefore && !h.daily {
			weight += sameDay
		}
		sum, total = sum+weight*peak, total+weight
	})
	if total == 0 {
		return 0
	}
	return sum / total
}

// most returns the largest peak of the days before in the hour of an instant and in the next one.
func (h hours) most(at time.Time) float64 {
	most := 0.0
	for _, at := range []time.Time{at, at.Add(time.Hour)} {
		h.days(at, func(_ int, peak float64) { most = max(most, peak) })
	}
	return most
}

// loss is by how much the usual peaks have missed the ones that came, as the mean pinball loss of their logarithms for a quantile of 0.9.
func (h hours) loss(from time.Time) float64 {
	sum, n := 0.0, 0.0
	for i, peak := range h.peaks {
		at := h.first.Add(time.Duration(i) * time.Hour)
		usual := h.usual(at)
		if at.Before(from) || peak < 0 || usual <= 0 {
			continue
		}
		off := math.Log1p(peak) - math.Log1p(usual)
		sum, n = sum+max(0.9*off, -0.1*off), n+1
	}
	return sum / max(n, 1)
}

// Hours gives the minima of the next 24 hours for a request, one an hour from the current one of the spec's zone on; none where nothing is known.
func (t *Tuner) Hours(spec Spec, now time.Time, request int64) []int {
	if t.State.Chosen.IsZero() || t.Usage.Demand(spec.Scaled) == nil {
		return nil
	}
	all, h, first := make([]int, 24), t.hours(spec, now), HourOf(now, spec.Zone)
	for i := range all {
		all[i] = t.State.Aim.Minimum(h.usual(first.Add(time.Duration(i)*time.Hour)), request, spec.Bounds)
	}
	return all
}

// hours are read once an hour.
func (t *Tuner) hours(spec Spec, now time.Time) hours {
	if at := HourOf(now, spec.Zone); !t.read.Equal(at) || t.known.zone.String() != zoneName(spec.Zone) || t.known.daily != spec.Daily {
		t.known, t.read = hoursOf(t.Usage.Demand(spec.Scaled), spec, now), at
	}
	return t.known
}

func zoneName(zone *time.Location) string {
	if zone == nil {
		return time.UTC.String()
	}
	return zone.String()
}
