package tune

import (
	"math"
	"time"
)

const (
	// replayed is the longest replayed part of the demand.
	replayed = 7 * 24 * time.Hour
	// bridged is the largest number of minutes for which the last demand is used in a gap.
	bridged = 10
	// daysBefore is the number of earlier days from which the usual peak of an hour is computed. A day that is n days ago
	// has the weight fade to the power of n. The same day of the last week has the additional weight sameDay.
	daysBefore    = 7
	fade, sameDay = 0.7, 0.5
)

// minuteOf returns the number of the minute of an instant.
func minuteOf(at time.Time) int64 { return at.Unix() / 60 }

// HourOf returns the begin of the hour of an instant, in the local time of a zone. A nil zone means UTC.
func HourOf(at time.Time, zone *time.Location) time.Time {
	unix, offset := at.Unix(), 0
	if zone != nil {
		_, offset = at.In(zone).Zone()
	}
	const hour = int64(time.Hour / time.Second)
	return time.Unix(unix-(unix+int64(offset))%hour, 0)
}

// loadOf returns the demand of a series between two instants. In a gap, the last demand before the gap is used for at most
// bridged minutes.
func loadOf(s *Series, from, to time.Time) Load {
	l := Load{First: minuteOf(from), Demand: make([]float32, max(minuteOf(to)-minuteOf(from), 0))}
	last, age := float32(-1), bridged
	for i := range l.Demand {
		if p := s.At(l.First + int64(i)); p.Known {
			last, age = float32(p.Mean), 0
		} else if age++; age > bridged {
			last = -1
		}
		l.Demand[i] = last
	}
	return l
}

// hours has the peak of each known hour. The peak is the largest demand of a minute in the hour.
type hours struct {
	first time.Time
	peaks []float32
	zone  *time.Location
	daily bool
	// known has the usual peaks that were already computed, by the number of the hour from first.
	known map[int]float64
}

// hoursOf returns the hours of a series up to the begin of an instant's hour.
func hoursOf(s *Series, spec Spec, now time.Time) hours {
	end := HourOf(now, spec.Zone)
	n := Points / 60
	h := hours{first: end.Add(-time.Duration(n) * time.Hour), peaks: make([]float32, n), zone: spec.Zone, daily: spec.Daily,
		known: map[int]float64{}}
	if h.zone == nil {
		h.zone = time.UTC
	}
	l := loadOf(s, h.first, end)
	for i := range h.peaks {
		h.peaks[i] = -1
		for _, demand := range l.Demand[i*60 : (i+1)*60] {
			h.peaks[i] = max(h.peaks[i], demand)
		}
	}
	return h
}

// index returns the number of the hour of an instant, from first.
func (h hours) index(at time.Time) int { return int(math.Floor(at.Sub(h.first).Hours())) }

// days yields the peaks of the same local hour on the days before the day of an instant.
func (h hours) days(at time.Time, yield func(day int, peak float64)) {
	for day := 1; day <= daysBefore; day++ {
		i := h.index(at.In(h.zone).AddDate(0, 0, -day))
		if i >= 0 && i < len(h.peaks) && h.peaks[i] >= 0 {
			yield(day, float64(h.peaks[i]))
		}
	}
}

// usual returns the usual peak of the hour of an instant, in milli-CPU; 0: unknown. It comes from the same hour on the
// days before, and the last days have the most weight.
func (h hours) usual(at time.Time) float64 {
	i := h.index(at)
	if peak, known := h.known[i]; known {
		return peak
	}
	sum, total := 0.0, 0.0
	h.days(at, func(day int, peak float64) {
		weight := math.Pow(fade, float64(day))
		if day == daysBefore && !h.daily {
			weight += sameDay
		}
		sum, total = sum+weight*peak, total+weight
	})
	if total > 0 {
		sum /= total
	}
	h.known[i] = sum
	return sum
}

// most returns the largest peak in the hour of an instant or in the next hour, on the days before.
func (h hours) most(at time.Time) float64 {
	most := 0.0
	for _, at := range []time.Time{at, at.Add(time.Hour)} {
		h.days(at, func(_ int, peak float64) { most = max(most, peak) })
	}
	return most
}

// loss returns the error of the usual peaks compared with the actual peaks. It is the mean pinball loss of the logarithms,
// for a quantile of 0.9.
func (h hours) loss(from time.Time) float64 {
	sum, n := 0.0, 0.0
	for i, peak := range h.peaks {
		at := h.first.Add(time.Duration(i) * time.Hour)
		usual := h.usual(at)
		if at.Before(from) || peak < 0 || usual <= 0 {
			continue
		}
		off := math.Log1p(float64(peak)) - math.Log1p(usual)
		sum, n = sum+max(0.9*off, -0.1*off), n+1
	}
	return sum / max(n, 1)
}

// Hours returns the minima of the next 24 hours for a request, one for each hour from the present hour in the spec's zone.
// It returns nil before the first choice.
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

// hours returns the known hours. They are computed once an hour.
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
