package main

import (
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline/recur"
)

// instantOf returns the first instant at which the clock of a zone shows a reading. A skipped reading has the offset from before the
// gap (RFC 5545, section 3.3.5).
func instantOf(reading time.Time, zone *time.Location) time.Time {
	offset := func(at time.Time) time.Duration {
		_, seconds := at.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before := offset(reading.AddDate(0, 0, -1))
	for _, o := range []time.Duration{before, offset(reading.AddDate(0, 0, 1))} {
		if at := reading.Add(-o); offset(at) == o {
			return at
		}
	}
	return reading.Add(-before)
}

// readingOf returns the reading of the clock of a zone, as a time in UTC.
func readingOf(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
}

// span is a time, in Unix seconds.
type span struct{ From, To int64 }

// joined returns spans in order, without their parts outside the compared time. Spans that touch or overlap become one.
func joined(spans []span) (all []span) {
	slices.SortFunc(spans, func(a, b span) int { return int(a.From - b.From) })
	for _, s := range spans {
		s.From, s.To = max(s.From, from.Unix()), min(s.To, to.Unix())
		switch last := len(all) - 1; {
		case s.From >= s.To:
		case last >= 0 && s.From <= all[last].To:
			all[last].To = max(all[last].To, s.To)
		default:
			all = append(all, s)
		}
	}
	return all
}

// spans returns the times of occurrences with the given readings of starts, without the moved and cancelled ones. whole days are in
// the zone of the calendar, which is UTC.
func (s *sample) spans(starts []time.Time) []span {
	var all []span
	zone := s.location()
	add := func(start time.Time) {
		begin := instantOf(start, zone)
		end := instantOf(start.AddDate(0, 0, s.length.days), zone).Add(s.length.elapsed)
		all = append(all, span{begin.Unix(), end.Unix()})
	}
	for _, start := range starts {
		if _, isMoved := s.moved[start]; !isMoved && !slices.Contains(s.dropped, start) {
			add(start)
		}
	}
	for _, start := range s.moved {
		add(start)
	}
	return joined(all)
}

// starts returns the readings at which the rule of the sample begins, by the product. They only serve to choose exceptions. A rule
// without a day has none.
func (s *sample) starts() (all []time.Time, err error) {
	plain := *s
	plain.left, plain.again, plain.moved, plain.dropped = nil, nil, nil, nil
	read, err := times.ParseICS(plain.file(), time.UTC)
	if err != nil || len(read.Events) == 0 || read.Events[0].Days == nil {
		return nil, err
	}
	e := read.Events[0]
	clock := s.start.Sub(s.start.Truncate(24 * time.Hour))
	for day := recur.FloorDiv(e.Start, recur.DaySeconds); ; day++ {
		next, ok := recur.From(e.Days, day)
		at := time.Unix(next*recur.DaySeconds, 0).UTC().Add(clock)
		if !ok || e.Last != 0 && next > e.Last || at.After(to) {
			return all, nil
		}
		all, day = append(all, at), next
	}
}
