package recur

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// takePlaces removes the places in the month from the day fields of a cron expression, because the parser does not know
// them: L, L-2, LW and 15W in the day of the month, 5L and 5#2 in the weekday. A field that has only places is set to
// any valid value, and onlyDom or onlyDow reports that this value does not count. If no field has a place, it returns
// nil.
func takePlaces(domField, dowField *string) (places *monthPlaces, onlyDom, onlyDow bool, err error) {
	p := &monthPlaces{}
	dates, dom, err := splitPlaces(*domField, p.takeDate)
	if err != nil {
		return nil, false, false, err
	}
	weekdays, dow, err := splitPlaces(*dowField, p.takeWeekday)
	if err != nil || dates+weekdays == 0 {
		return nil, false, false, err
	}
	onlyDom, onlyDow = dom == "", dow == ""
	*domField, *dowField = dom, dow
	if onlyDom {
		*domField = "1"
	}
	if onlyDow {
		*dowField = "1"
	}
	return p, onlyDom, onlyDow, nil
}

// splitPlaces passes each part of a field to take. It returns the number of parts that were taken, and the other parts
// as a field.
func splitPlaces(field string, take func(part string) (bool, error)) (taken int, rest string, err error) {
	var left []string
	for _, part := range strings.Split(field, ",") {
		isPlace, err := take(strings.ToUpper(part))
		switch {
		case err != nil:
			return 0, "", err
		case isPlace:
			taken++
		default:
			left = append(left, part)
		}
	}
	return taken, strings.Join(left, ","), nil
}

// takeDate takes L (the last day of the month), L-2 (two days before the last day), LW (the last day from Monday to
// Friday) and 15W (the day from Monday to Friday that is nearest to the 15th).
func (p *monthPlaces) takeDate(part string) (bool, error) {
	switch {
	case part == "L":
		p.last |= 1 << 1
		return true, nil
	case part == "LW", part == "WL":
		p.nearLast = true
		return true, nil
	case strings.HasPrefix(part, "L-"):
		n, err := strconv.Atoi(part[2:])
		if err != nil || n < 1 || n > 30 {
			return false, fmt.Errorf("day of the month %s: write L-1 to L-30, the days before the last day of the month", part)
		}
		p.last |= 1 << (n + 1)
		return true, nil
	case strings.HasSuffix(part, "W"):
		n, err := strconv.Atoi(part[:len(part)-1])
		if err != nil || n < 1 || n > 31 {
			return false, fmt.Errorf("day of the month %s: write 1W to 31W for the nearest day from Monday to Friday, or LW for the last one", part)
		}
		p.near |= 1 << n
		return true, nil
	}
	return false, nil
}

// takeWeekday takes 5L (the last Friday of the month) and 5#2 (the second Friday).
func (p *monthPlaces) takeWeekday(part string) (bool, error) {
	if part == "L" {
		return false, fmt.Errorf("weekday L: put the weekday before it, such as 5L for the last Friday of the month")
	}
	if day, isLast := strings.CutSuffix(part, "L"); isLast {
		dow, ok := cronWeekday(day)
		if !ok {
			return false, fmt.Errorf("weekday %s: write 0L to 7L or SUNL to SATL for the last of the month", part)
		}
		p.nthLast[0] |= 1 << dow
		return true, nil
	}
	day, place, isNth := strings.Cut(part, "#")
	if !isNth {
		return false, nil
	}
	dow, ok := cronWeekday(day)
	n, err := strconv.Atoi(place)
	if !ok || err != nil || n < 1 || n > len(p.nth) {
		return false, fmt.Errorf("weekday %s: write a weekday, # and a number from 1 to 5, such as 5#2 for the second Friday of the month", part)
	}
	p.nth[n-1] |= 1 << dow
	return true, nil
}

// cronWeekday reads 0 to 7 or a name in capital letters.
func cronWeekday(text string) (int, bool) {
	dow := slices.Index([]string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}, text)
	if n, err := strconv.Atoi(text); err == nil && len(text) == 1 {
		dow = n
	}
	return dow % 7, dow >= 0 && dow <= 7
}
