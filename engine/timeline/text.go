package timeline

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

var (
	durationPart = regexp.MustCompile(`([0-9.]+)(w|d|h|ms|m|s)`)
	durationForm = regexp.MustCompile(`^(?:` + durationPart.String() + `)+$`)
)

// ParseDuration parses a positive duration of numbers with the units w, d, h, m, s and ms, such as 1d12h. A day is 24
// hours of elapsed time and a week is 7 such days, even if clocks change. Any other text is an error.
func ParseDuration(text string) (time.Duration, error) {
	total, err := ParseDurationOrZero(text)
	if err == nil && total == 0 {
		return 0, fmt.Errorf("duration %q must be longer than zero", text)
	}
	return total, err
}

// ParseDurationOrZero parses a duration like ParseDuration, but also accepts zero with a unit, such as 0s. Any other text is an error.
func ParseDurationOrZero(text string) (time.Duration, error) {
	if !durationForm.MatchString(text) {
		return 0, fmt.Errorf("duration %q must be positive numbers with the units w, d, h, m, s or ms, such as 1d12h", text)
	}
	var total time.Duration
	for _, part := range durationPart.FindAllStringSubmatch(text, -1) {
		number, unit, times := part[1], part[2], time.Duration(1)
		switch unit {
		case "w":
			unit, times = "h", 7*24
		case "d":
			unit, times = "h", 24
		}
		d, err := time.ParseDuration(number + unit)
		if err != nil {
			return 0, fmt.Errorf("duration %q: %q is not a number that fits", text, part[0])
		}
		if d > (math.MaxInt64-total)/times {
			return 0, fmt.Errorf("duration %q is too long", text)
		}
		total += d * times
	}
	return total, nil
}

// DurationText returns a duration as text without zero units at its end: 4h, 1h30m.
func DurationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
