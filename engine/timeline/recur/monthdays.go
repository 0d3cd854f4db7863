package recur

import "math/bits"

// cronDays are days by month, day of the month and weekday: the day fields of a cron expression.
type cronDays struct {
	dom    uint32 // bits 1 to 31
	months uint16 // bits 1 to 12
	dow    uint8  // bits 0 (Sunday) to 6
	either bool   // both day fields are restricted: a day in either of them counts
	// places are days by their place in the month, in addition to dom and dow; most expressions have none.
	places *monthPlaces
}

const (
	allWeekdays = 1<<7 - 1
	allDates    = 1<<32 - 2
	allMonths   = 1<<13 - 2
)

func (c *cronDays) mask(m month) uint32 {
	if c.months>>m.number&1 == 0 {
		return 0
	}
	dates, weekdays := c.dom, m.weekdays(c.dow)
	if c.places != nil {
		dates |= c.places.dates(m)
		weekdays |= c.places.weekdays(m)
	}
	if c.either {
		return (dates | weekdays) & m.all()
	}
	return dates & weekdays & m.all()
}

// isEmpty reports whether a field names no value.
func (c *cronDays) isEmpty() bool {
	p := c.places
	if p == nil {
		p = &monthPlaces{}
	}
	noDate := c.dom == 0 && p.last == 0 && p.near == 0 && !p.nearLast
	return noDate || c.months == 0 || (c.dow == 0 && p.nth == [5]uint8{} && p.nthLast == [5]uint8{})
}

// weekdays returns the days of the month that fall on the weekdays of a mask (bit 0: Sunday).
func (m month) weekdays(dow uint8) uint32 {
	first := m.weekday()
	week := (uint64(dow)>>first | uint64(dow)<<(7-first)) & allWeekdays
	// The week of the first day, repeated over 35 days and moved to bit 1.
	return uint32((week * (1 | 1<<7 | 1<<14 | 1<<21 | 1<<28)) << 1)
}

// monthPlaces are days by their place in the month.
type monthPlaces struct {
	last     uint32   // bits 1 to 31: days counted from the end, of which 1 is the last
	near     uint32   // bits 1 to 31: the day from Monday to Friday that is nearest to the day of the bit, in the same month
	nearLast bool     // the day from Monday to Friday that is nearest to the last day
	nth      [5]uint8 // weekdays as in cronDays.dow: the first of the month, the second, and so on
	nthLast  [5]uint8 // the last of the month, the last but one, and so on
}

func (p *monthPlaces) dates(m month) uint32 {
	// Bit k becomes bit length+1-k, because places are counted from the end.
	mask := uint32(uint64(bits.Reverse32(p.last)) << 1 >> (31 - m.length))
	for near := p.near & m.all(); near != 0; near &= near - 1 {
		mask |= 1 << m.workdayNear(bits.TrailingZeros32(near))
	}
	if p.nearLast {
		mask |= 1 << m.workdayNear(m.length)
	}
	return mask
}

// workdayNear returns the day from Monday to Friday that is nearest to a day of the month, in the same month.
func (m month) workdayNear(dom int) int {
	const sunday, saturday = 0, 6
	switch (m.weekday() + dom - 1) % 7 {
	case saturday:
		if dom == 1 {
			return 3
		}
		return dom - 1
	case sunday:
		if dom == m.length {
			return dom - 2
		}
		return dom + 1
	default:
		return dom
	}
}

func (p *monthPlaces) weekdays(m month) (mask uint32) {
	for i := range p.nth {
		if dow := p.nth[i]; dow != 0 {
			mask |= m.weekdays(dow) & (allWeekdays << (7*i + 1))
		}
		if dow := p.nthLast[i]; dow != 0 { // the seven days that end 7*i days before the end of the month
			mask |= m.weekdays(dow) & uint32(uint64(allWeekdays)<<(m.length-7*i+1)>>7)
		}
	}
	return mask
}
