package recur

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	robfig "github.com/robfig/cron/v3"
)

// Cron is a standard five-field expression as a set of wall-clock readings. Its searches work on the bits of the
// fields, so the distance to the next firing does not matter.
type Cron struct {
	minutes uint64 // bits 0 to 59
	hours   uint32 // bits 0 to 23
	days    Set
}

const (
	cronStar   = 1 << 63 // set by the parser in a field that is "*"
	everyHour  = 1<<24 - 1
	hourMinute = 60
	dayMinutes = 24 * hourMinute
)

// ParseCron parses a standard cron expression of five fields, or a descriptor such as @daily. Zones inside the
// expression, @every and dates that never come (30 February) are refused. The fields have the meaning that they have in
// a Kubernetes CronJob, and its parser is used. If both day fields are restricted, a day needs to match only one of
// them. In addition, Sunday may be 7, and days may be given by their place in the month (takePlaces). A refused
// expression is an error.
func ParseCron(expr string) (*Cron, error) {
	switch {
	case strings.TrimSpace(expr) == "":
		return nil, errors.New("must be a cron expression of five fields, such as \"0 8 * * 1-5\"")
	case strings.Contains(expr, "TZ="):
		return nil, errors.New("must not name a time zone: use timeZone")
	case strings.HasPrefix(expr, "@every"):
		return nil, errors.New("@every counts from the start of a program and has no wall-clock times: use a cron expression of five fields")
	case strings.Contains(expr, "*-"), strings.Contains(expr, "?-"):
		return nil, errors.New("a range must begin with a number or a name") // the parser would drop the range's end
	}
	var places *monthPlaces
	var onlyDom, onlyDow bool
	if fields := strings.Fields(expr); len(fields) == 5 {
		var err error
		if places, onlyDom, onlyDow, err = takePlaces(&fields[2], &fields[4]); err != nil {
			return nil, err
		}
		fields[4] = sundayAsZero(fields[4])
		expr = strings.Join(fields, " ")
	}
	schedule, err := robfig.ParseStandard(expr)
	if err != nil {
		return nil, err
	}
	spec, ok := schedule.(*robfig.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("must be a cron expression of five fields, not %T", schedule)
	}
	days := &cronDays{
		dom:    uint32(spec.Dom &^ cronStar),
		months: uint16(spec.Month &^ cronStar),
		dow:    uint8(spec.Dow &^ cronStar),
		either: spec.Dom&cronStar == 0 && spec.Dow&cronStar == 0,
		places: places,
	}
	if onlyDom {
		days.dom = 0
	}
	if onlyDow {
		days.dow = 0
	}
	c := &Cron{minutes: spec.Minute &^ cronStar, hours: uint32(spec.Hour &^ cronStar), days: days}
	if c.minutes == 0 || c.hours == 0 || days.isEmpty() {
		return nil, errors.New("a field names no value")
	}
	if _, ok := From(days, 0); !ok {
		return nil, errors.New("names a date that never comes")
	}
	return c, nil
}

// sundayAsZero rewrites the day 7 of a day-of-week field as 0, because the parser knows Sunday only as 0. A range that
// ends with 7 becomes a list. An invalid field stays as it is, so the parser refuses it.
func sundayAsZero(field string) string {
	parts := strings.Split(field, ",")
	for i, part := range parts {
		days, stepText, _ := strings.Cut(part, "/")
		from, to, isRange := strings.Cut(days, "-")
		if !isRange {
			to = from
		}
		first := slices.Index([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, strings.ToLower(from))
		if n, err := strconv.Atoi(from); err == nil {
			first = n
		}
		step, err := strconv.Atoi(cmp.Or(stepText, "1"))
		if to != "7" || first < 0 || first > 7 || err != nil || step < 1 {
			continue
		}
		var listed []string
		for day := first; day <= 7; day += step {
			listed = append(listed, strconv.Itoa(day%7))
		}
		parts[i] = strings.Join(listed, ",")
	}
	return strings.Join(parts, ",")
}

// From returns the first firing at or after the reading, and false if there is none.
func (c *Cron) From(reading int64) (int64, bool) {
	minute := FloorDiv(reading+MinuteSeconds-1, MinuteSeconds)
	today := FloorDiv(minute, dayMinutes)
	day, ok := From(c.days, today)
	if ok && day == today {
		if m, ok := c.minuteFrom(int(minute - today*dayMinutes)); ok {
			return (today*dayMinutes + int64(m)) * MinuteSeconds, true
		}
		day, ok = From(c.days, today+1)
	}
	if !ok {
		return 0, false
	}
	return (day*dayMinutes + int64(c.firstMinute())) * MinuteSeconds, true
}

// UpTo returns the last firing at or before the reading, and false if there is none.
func (c *Cron) UpTo(reading int64) (int64, bool) {
	minute := FloorDiv(reading, MinuteSeconds)
	today := FloorDiv(minute, dayMinutes)
	day, ok := UpTo(c.days, today)
	if ok && day == today {
		if m, ok := c.minuteUpTo(int(minute - today*dayMinutes)); ok {
			return (today*dayMinutes + int64(m)) * MinuteSeconds, true
		}
		day, ok = UpTo(c.days, today-1)
	}
	if !ok {
		return 0, false
	}
	return (day*dayMinutes + int64(c.lastMinute())) * MinuteSeconds, true
}

// Fires reports whether the reading is a firing.
func (c *Cron) Fires(reading int64) bool {
	w, ok := c.From(reading)
	return ok && w == reading
}

// minuteFrom returns the first firing minute of the day that is not before the given minute. Minutes are counted from
// midnight.
func (c *Cron) minuteFrom(minute int) (int, bool) {
	hour := minute / hourMinute
	if c.hours>>hour&1 == 1 {
		if rest := c.minutes >> (minute % hourMinute) << (minute % hourMinute); rest != 0 {
			return hour*hourMinute + bits.TrailingZeros64(rest), true
		}
	}
	later := c.hours >> (hour + 1) << (hour + 1)
	if later == 0 {
		return 0, false
	}
	return bits.TrailingZeros32(later)*hourMinute + bits.TrailingZeros64(c.minutes), true
}

// minuteUpTo returns the last firing minute of the day that is not after the given minute.
func (c *Cron) minuteUpTo(minute int) (int, bool) {
	hour := minute / hourMinute
	if c.hours>>hour&1 == 1 {
		if rest := c.minutes & (1<<(minute%hourMinute+1) - 1); rest != 0 {
			return hour*hourMinute + bits.Len64(rest) - 1, true
		}
	}
	earlier := c.hours & (1<<hour - 1)
	if earlier == 0 {
		return 0, false
	}
	return (bits.Len32(earlier)-1)*hourMinute + bits.Len64(c.minutes) - 1, true
}

func (c *Cron) firstMinute() int {
	return bits.TrailingZeros32(c.hours)*hourMinute + bits.TrailingZeros64(c.minutes)
}

func (c *Cron) lastMinute() int {
	return (bits.Len32(c.hours)-1)*hourMinute + bits.Len64(c.minutes) - 1
}

// ClockWithin reports whether every time of day of c is also a time of day of other.
func (c *Cron) ClockWithin(other *Cron) bool {
	return c.hours&^other.hours == 0 && c.minutes&^other.minutes == 0
}

// WidestWithinDay returns the longest distance between two neighbouring firings of one day, in minutes.
func (c *Cron) WidestWithinDay() int64 {
	widest, last := 0, c.firstMinute()
	for {
		m, ok := c.minuteFrom(last + 1)
		if !ok {
			return int64(widest)
		}
		widest, last = max(widest, m-last), m
	}
}

// WidestOvernight returns, in seconds, the longest time from the last firing of a day to the first firing of the next
// day with a firing.
func (c *Cron) WidestOvernight() int64 {
	return widestGap(c.days)*DaySeconds - int64(c.lastMinute()-c.firstMinute())*MinuteSeconds
}

// HasEveryHour reports whether the expression names every hour of the day.
func (c *Cron) HasEveryHour() bool { return c.hours == everyHour }

// NeverOnDaysOf returns c without the days on which other fires. It returns false if no day is left.
func (c *Cron) NeverOnDaysOf(other *Cron) (*Cron, bool) {
	rest := &Cron{minutes: c.minutes, hours: c.hours, days: daysWithout{set: c.days, other: other.days}}
	_, ok := From(rest.days, 0)
	return rest, ok
}
