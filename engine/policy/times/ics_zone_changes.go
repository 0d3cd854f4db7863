package times

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/teambition/rrule-go"

	"flyball.dev/flyball/engine/timeline/recur"
)

// change is a change of a clock: its instant in Unix seconds, and the offsets before and after it in seconds east of UTC.
type change struct {
	at           int64
	before, next int32
}

// maxChanges bounds the changes of a VTIMEZONE. Two a year from 1600 on are fewer.
const maxChanges = 1024

// endlessFrom and endlessTo are the years between which a rule without an end changes the clock.
const endlessFrom, endlessTo = 2000, 2100

// changesOf returns the clock changes of a VTIMEZONE, in order. Each STANDARD and DAYLIGHT counts, whatever the others are.
func changesOf(zone *component, budget *recur.Budget) (all []change, err error) {
	for _, rule := range zone.children {
		var c change
		if c.before, err = seconds(rule, "TZOFFSETFROM"); err != nil {
			return nil, err
		}
		if c.next, err = seconds(rule, "TZOFFSETTO"); err != nil {
			return nil, err
		}
		starts, err := startsOf(rule, c.before, budget)
		if err != nil {
			return nil, err
		}
		for _, at := range starts {
			c.at = at - int64(c.before)
			all = append(all, c)
		}
		if len(all) > maxChanges {
			return nil, fmt.Errorf("it has more than %d clock changes", maxChanges)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it has neither a STANDARD nor a DAYLIGHT that begins")
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	return slices.CompactFunc(all, func(a, b change) bool { return a.at == b.at }), nil
}

// startsOf returns the readings of the clock at the starts of a STANDARD or DAYLIGHT. A DTSTART outside of the RRULE is no start, since
// Outlook writes the year 1601.
func startsOf(rule *component, before int32, budget *recur.Budget) (all []int64, err error) {
	first, err := time.Parse(clockForm, rule.text("DTSTART"))
	if err != nil {
		return nil, fmt.Errorf("DTSTART is %.32q", rule.text("DTSTART"))
	}
	if rule.text("RRULE") == "" {
		all = []int64{first.Unix()}
	}
	for _, p := range rule.props {
		switch p.name {
		case "RRULE":
			again, err := yearlyStarts(p.value, first, before, budget)
			if err != nil {
				return nil, err
			}
			all = append(all, again...)
		case "RDATE":
			for value := range strings.SplitSeq(p.value, ",") {
				at, err := time.Parse(clockForm, value)
				if err != nil {
					return nil, fmt.Errorf("RDATE is %.32q", value)
				}
				all = append(all, at.Unix())
			}
		}
	}
	return all, nil
}

// yearlyStarts returns the readings of the clock at which a rule begins.
func yearlyStarts(text string, first time.Time, before int32, budget *recur.Budget) (all []int64, err error) {
	opt, err := rrule.StrToROption(text)
	if err == nil {
		_, err = rrule.NewRRule(*opt) // rrule checks the bounds of the numbers
	}
	if err != nil || opt.Freq != rrule.YEARLY || len(opt.Byyearday)+len(opt.Byweekno)+len(opt.Byeaster) > 0 {
		return nil, fmt.Errorf("its rule %.64q does not give months, days of the month or weekdays of every year", text)
	}
	day, clock := recur.FloorDiv(first.Unix(), recur.DaySeconds), recur.FloorMod(first.Unix(), recur.DaySeconds)
	days, err := ruleOf(opt, day).Parse(budget)
	if err != nil {
		return nil, fmt.Errorf("its rule %.64q: %w", text, err)
	}
	count, last := opt.Count, opt.Until.Unix()+int64(before) // UNTIL is in UTC, and the clock shows the time before the change
	if count == 0 && opt.Until.IsZero() {
		year := func(n int) int64 { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC).Unix() }
		day, last = max(day, year(endlessFrom)/recur.DaySeconds), year(endlessTo)
	}
	for ; opt.Count == 0 || count > 0; count-- {
		next, ok := budget.From(days, day)
		at := next*recur.DaySeconds + clock
		if !ok || opt.Count == 0 && at > last {
			break
		}
		if all = append(all, at); len(all) > maxChanges {
			return nil, fmt.Errorf("its rule %.64q comes more than %d times", text, maxChanges)
		}
		day = next + 1
	}
	return all, nil
}

// seconds parses an offset such as +0100 into seconds east of UTC.
func seconds(rule *component, name string) (int32, error) {
	text := rule.text(name)
	at, err := time.Parse("-0700", text)
	if len(text) == len("+010203") {
		at, err = time.Parse("-070000", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%s is %.16q: write one such as +0100", name, text)
	}
	_, offset := at.Zone()
	return int32(offset), nil
}

// made has the locations that exist already, by their changes. They are shared, because package timeline keeps a table of
// each location.
var made sync.Map

// listedZone returns a location with the given clock changes. It is made from a zone file (RFC 8536).
func listedZone(id string, changes []change) (*time.Location, error) {
	key := fmt.Sprint(changes)
	if known, ok := made.Load(key); ok {
		return known.(*time.Location), nil
	}
	types := []int32{changes[0].before}
	var times, which []byte
	for _, c := range changes {
		n := slices.Index(types, c.next)
		if n < 0 {
			n, types = len(types), append(types, c.next)
		}
		if n > 255 {
			return nil, fmt.Errorf("the time zone %.64q has more than 256 offsets", id)
		}
		times, which = binary.BigEndian.AppendUint64(times, uint64(c.at)), append(which, byte(n))
	}
	header := func(changes, types int) []byte {
		out := []byte("TZif2" + strings.Repeat("\x00", 15))
		for _, count := range []int{0, 0, 0, changes, types, 1} {
			out = binary.BigEndian.AppendUint32(out, uint32(count))
		}
		return out
	}
	data := append(header(0, 1), make([]byte, 7)...) // the first part is for programs of 32 bits, and is skipped
	data = append(append(append(data, header(len(changes), len(types))...), times...), which...)
	for _, offset := range types {
		data = append(binary.BigEndian.AppendUint32(data, uint32(offset)), 0, 0)
	}
	loc, err := time.LoadLocationFromTZData(id, append(data, "\x00\n\n"...))
	if err != nil {
		return nil, fmt.Errorf("the time zone %.64q cannot be made: %w", id, err)
	}
	shared, _ := made.LoadOrStore(key, loc)
	return shared.(*time.Location), nil
}
