package timeline

// high returns the highest reading that the zone's clock has shown up to and including the instant. It is the wall
// clock itself, except that it stands still while a fall-back repeats readings. So high never runs backwards, and a
// transition at reading w has happened exactly if high >= w.
func (z *zone) high(at int64) int64 {
	offset, start, _ := z.period(at)
	reading := at + offset
	for start > at-2*maxOffset { // a reading from longer ago cannot exceed the present reading
		last := start - 1
		offset, start, _ = z.period(last)
		reading = max(reading, last+offset)
	}
	return reading
}

// instant returns the first instant when the zone's clock shows the reading or a later one. It is the inverse of
// high. exact is false if the clock never shows the reading because a gap skips it.
func (z *zone) instant(reading int64) (at int64, exact bool) {
	from := reading - maxOffset // no zone shows the reading so early
	for {
		offset, _, end := z.period(from)
		at = max(reading-offset, from)
		if at < end {
			return at, at == reading-offset
		}
		from = end
	}
}
