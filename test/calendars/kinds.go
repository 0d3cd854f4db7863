package main

import (
	"slices"
	"strings"
	"time"
)

// kinds returns the properties of a file by which differences are explained.
func (s *sample) kinds() (all []string) {
	add := func(kind string, holds bool) {
		if holds {
			all = append(all, kind)
		}
	}
	parts := map[string]string{}
	for part := range strings.SplitSeq(s.rule, ";") {
		name, value, _ := strings.Cut(part, "=")
		parts[name] = value
	}
	numbered, plain := false, false
	for day := range strings.SplitSeq(parts["BYDAY"], ",") {
		numbered, plain = numbered || len(day) > 2, plain || len(day) == 2
	}
	add("RDATE alone", s.rule == "" && len(s.again) > 0)
	add(parts["FREQ"], s.rule != "")
	for _, name := range []string{"INTERVAL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS"} {
		add(name, parts[name] != "")
	}
	add("BYDAY with and without numbers", numbered && plain)
	add("BYMONTHDAY below 0", strings.Contains(parts["BYMONTHDAY"], "-"))
	add("hours over a clock change", s.length.elapsed > 0 && s.isOverChange())
	return all
}

// isOverChange reports whether the clock of the zone changes between the start and the end of an occurrence, or shortly before or after.
func (s *sample) isOverChange() bool {
	starts, err := s.starts()
	if err != nil {
		return false
	}
	starts = append(append(starts, s.start), s.again...)
	for _, at := range s.moved {
		starts = append(starts, at)
	}
	zone := s.location()
	offset := func(at time.Time) time.Duration { return readingOf(at, zone).Sub(at) }
	return slices.ContainsFunc(starts, func(start time.Time) bool {
		end := instantOf(start.AddDate(0, 0, s.length.days), zone).Add(s.length.elapsed)
		return offset(instantOf(start, zone).Add(-2*time.Hour)) != offset(end.Add(2*time.Hour))
	})
}
