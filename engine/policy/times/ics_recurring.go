package times

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/teambition/rrule-go"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// maxRule is the largest length of an RRULE.
const maxRule = 1024

// recurring returns an event with the recurrence of a rule; none if no occurrence remains. left are the occurrences left out. has is
// false if the DTSTART is no day of the rule.
func (f *file) recurring(c *component, rule property, e timeline.Event, left []moment) (all []timeline.Event, has bool, err error) {
	fail := func(err error) ([]timeline.Event, bool, error) {
		return nil, false, fmt.Errorf("line %d: RRULE: %w", rule.line, err)
	}
	if f.rules++; f.rules > MaxRecurring {
		return fail(fmt.Errorf("more than %d events recur: make another Calendar, and include it", MaxRecurring))
	}
	start := moment{reading: e.Start, zone: e.Zone, isDate: len(c.text("DTSTART")) == len(dateForm)}
	from := e.Start - start.day()*recur.DaySeconds
	opt, err := options(c, rule, from)
	if err != nil {
		return fail(err)
	}
	days, err := ruleOf(opt, start.day()).Parse(f.budget)
	if err != nil {
		return fail(err)
	}
	first, found := f.budget.From(days, start.day())
	if !found {
		return fail(errors.New("no day is like that"))
	}
	last, found := f.last(opt, rule, days, first, start)
	has = first == start.day()
	e.Days, e.Left = days, f.daysOf(left, start)
	on := recur.Without(days, e.Left)
	// Only the days from the first to the last occurrence may count, although the set has more days.
	if found {
		first, found = f.budget.From(on, first)
	}
	if found && last != noLast {
		last, found = f.budget.UpTo(on, last)
		e.Last = last
	}
	if !found || last < first {
		return nil, has, nil
	}
	e.Start, e.End = first*recur.DaySeconds+from, first*recur.DaySeconds+from+e.End-e.Start
	return []timeline.Event{e}, has, nil
}

// daysOf returns the days of excluded, moved and cancelled occurrences of an event with the given start.
func (f *file) daysOf(left []moment, start moment) recur.Listed {
	if !f.budget.Spend(len(left)) {
		return nil
	}
	var out []int64
	for _, m := range left {
		for _, day := range []int64{m.dayFor(start, f.own), m.day()} {
			at := start
			if at.reading += (day - start.day()) * recur.DaySeconds; m.names(at, f.own) {
				out = append(out, day)
			}
		}
	}
	return recur.NewListed(out...)
}

// options parses the rule. It refuses periods and parts that are shorter than a day.
func options(c *component, rule property, from int64) (*rrule.ROption, error) {
	rules := 0
	for _, p := range c.props {
		if p.name == "RRULE" {
			rules++
		}
	}
	switch {
	case rules > 1:
		return nil, errors.New("there are several, where one is read: make an event of each")
	case len(rule.value) > maxRule:
		return nil, fmt.Errorf("has %d bytes, where at most %d are read", len(rule.value), maxRule)
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(strings.ToUpper(rule.value), ";") {
		name, _, isPart := strings.Cut(part, "=")
		if isPart && seen[name] {
			return nil, fmt.Errorf("%.32s comes twice", name)
		}
		seen[name] = true
	}
	opt, err := rrule.StrToROption(strings.TrimRight(strings.ToUpper(rule.value), "; "))
	if err != nil {
		return nil, err
	}
	clock := [][]int{opt.Byhour, opt.Byminute, opt.Bysecond}
	for i, want := range []int64{from / 3600, from / 60 % 60, from % 60} {
		if len(clock[i]) > 1 || len(clock[i]) == 1 && int64(clock[i][0]) != want {
			return nil, errors.New("BYHOUR, BYMINUTE and BYSECOND are not read: an event begins at the time of its DTSTART, once a day at most")
		}
	}
	switch {
	case opt.Freq > rrule.DAILY:
		return nil, fmt.Errorf("FREQ=%s is not read: an event begins once a day at most", opt.Freq)
	case len(opt.Byyearday)+len(opt.Byweekno)+len(opt.Byeaster) > 0:
		return nil, errors.New("BYYEARDAY, BYWEEKNO and BYEASTER are not read: write BYMONTH, BYMONTHDAY and BYDAY")
	case opt.Count != 0 && !opt.Until.IsZero():
		return nil, errors.New("give COUNT or UNTIL, and not both")
	case opt.Count < 0, opt.Count == 0 && strings.Contains(strings.ToUpper(rule.value), "COUNT="):
		return nil, errors.New("COUNT must be positive")
	case opt.Interval == 0 && strings.Contains(strings.ToUpper(rule.value), "INTERVAL="):
		return nil, errors.New("INTERVAL must be positive")
	}
	if _, err := rrule.NewRRule(*opt); err != nil { // rrule checks the bounds of the numbers
		return nil, err
	}
	return opt, nil
}

func ruleOf(opt *rrule.ROption, start int64) recur.Recurrence {
	weekday := func(w rrule.Weekday) int { return (w.Day() + 1) % 7 }
	r := recur.Recurrence{
		Frequency: map[rrule.Frequency]recur.Frequency{rrule.YEARLY: recur.Annual, rrule.MONTHLY: recur.Monthly, rrule.WEEKLY: recur.Weekly,
			rrule.DAILY: recur.Daily}[opt.Freq],
		Interval: opt.Interval, Start: start, WeekStart: weekday(opt.Wkst),
		Months: opt.Bymonth, MonthDays: opt.Bymonthday, Positions: opt.Bysetpos,
	}
	for _, w := range opt.Byweekday {
		r.Weekdays = append(r.Weekdays, recur.Place{Weekday: weekday(w), Nth: w.N()})
	}
	return r
}

// noLast is the last day of an endless event.
const noLast = int64(math.MaxInt64)

// last returns the last day on which the event begins, of which the start and the first day are given; false: there is none.
func (f *file) last(opt *rrule.ROption, rule property, days recur.Set, first int64, start moment) (int64, bool) {
	switch {
	case opt.Count > 0:
		if last, ok := f.budget.Count(days, first, opt.Count); ok {
			return last, true
		}
		return noLast, true
	case opt.Until.IsZero():
		return noLast, true
	}
	until := moment{reading: opt.Until.Unix(), zone: start.zone}
	_, text, _ := strings.Cut(strings.ToUpper(rule.value), "UNTIL=")
	text, _, _ = strings.Cut(text, ";")
	switch {
	case len(text) == len(dateForm):
		until.reading += recur.DaySeconds - 1
	case strings.HasSuffix(text, "Z"):
		until.zone = time.UTC
	}
	day := until.dayFor(start, f.own)
	if !start.isDate {
		day = recur.FloorDiv(until.in(start.zone, f.own)-recur.FloorMod(start.reading, recur.DaySeconds), recur.DaySeconds)
	}
	last, ok := f.budget.UpTo(days, day)
	return last, ok && last >= first
}
