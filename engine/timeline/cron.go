package timeline

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

// cron is a standard five-field expression as a set of wall-clock readings. Its searches work on the bits of the
// fields, so that the distance to the next firing does not matter.
type cron struct {
	minutes uint64 // bits 0 to 59
	hours   uint32 // bits 0 to 23
	days    daySet
}

const (
	cronStar   = 1 << 63 // set by the parser in a field that is "*"
	everyHour  = 1<<24 - 1
	hourMinute = 60
	dayMinutes = 24 * hourMinute
)

// parseCron reads a standard cron expression of five fields, or a descriptor such as @daily. Zones inside the
// expression, @every and dates that never come (30 February) are refused. Fields and the rule that a day matches either
// of two restricted day fields are those of Kubernetes CronJob, whose parser this is; in addition Sunday may be 7.
func parseCron(expr string) (*cron, error) {
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
	if fields := strings.Fields(expr); len(fields) == 5 {
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
	}
	c := &cron{minutes: spec.Minute &^ cronStar, hours: uint32(spec.Hour &^ cronStar), days: days}
	if c.minutes == 0 || c.hours == 0 || days.dom == 0 || days.months == 0 || days.dow == 0 {
		return nil, errors.New("a field names no value")
	}
	if _, ok := dayFrom(days, 0); !ok {
		return nil, errors.New("names a date that never comes")
	}
	return c, nil
}

// sundayAsZero rewrites the day 7 of a day-of-week field as 0, the only Sunday that the parser knows. A range that ends
// with 7 becomes a list. What is no valid field stays as it is, for the parser to refuse.
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

// from returns the first firing at or after the reading, and false if there is none.
func (c *cron) from(reading int64) (int64, bool) {
	minute := floorDiv(reading+minuteSeconds-1, minuteSeconds)
	today := floorDiv(minute, dayMinutes)
	day, ok := dayFrom(c.days, today)
	if ok && day == today {
		if m, ok := c.minuteFrom(int(minute - today*dayMinutes)); ok {
			return (today*dayMinutes + int64(m)) * minuteSeconds, true
		}
		day, ok = dayFrom(c.days, today+1)
	}
	if !ok {
		return 0, false
	}
	return (day*dayMinutes + int64(c.firstMinute())) * minuteSeconds, true
}

// upTo returns the last firing at or before the reading, and false if there is none.
func (c *cron) upTo(reading int64) (int64, bool) {
	minute := floorDiv(reading, minuteSeconds)
	today := floorDiv(minute, dayMinutes)
	day, ok := dayUpTo(c.days, today)
	if ok && day == today {
		if m, ok := c.minuteUpTo(int(minute - today*dayMinutes)); ok {
			return (today*dayMinutes + int64(m)) * minuteSeconds, true
		}
		day, ok = dayUpTo(c.days, today-1)
	}
	if !ok {
		return 0, false
	}
	return (day*dayMinutes + int64(c.lastMinute())) * minuteSeconds, true
}

// fires says whether the reading is a firing.
func (c *cron) fires(reading int64) bool {
	w, ok := c.from(reading)
	return ok && w == reading
}

// minuteFrom returns the first minute of the day, counted from midnight, that fires and is not before the given one.
func (c *cron) minuteFrom(minute int) (int, bool) {
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

// minuteUpTo returns the last minute of the day that fires and is not after the given one.
func (c *cron) minuteUpTo(minute int) (int, bool) {
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

func (c *cron) firstMinute() int {
	return bits.TrailingZeros32(c.hours)*hourMinute + bits.TrailingZeros64(c.minutes)
}

func (c *cron) lastMinute() int {
	return (bits.Len32(c.hours)-1)*hourMinute + bits.Len64(c.minutes) - 1
}

// clockWithin says whether every time of day of c is also one of other.
func (c *cron) clockWithin(other *cron) bool {
	return c.hours&^other.hours == 0 && c.minutes&^other.minutes == 0
}
