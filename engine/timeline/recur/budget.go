package recur

import "math/bits"

// Budget bounds the work on the rules of a file. It counts steps and not time, so the result is the same on every machine. A
// search ends without a result if the budget is over. A nil Budget has no bound.
type Budget struct{ left int }

// NewBudget returns a budget of some steps. A step is the look at one month, about 0.2 microseconds of processor time.
func NewBudget(steps int) *Budget { return &Budget{left: steps} }

// Spend takes steps from the budget. It reports whether there were enough.
func (b *Budget) Spend(steps int) bool {
	if b == nil {
		return true
	}
	b.left -= steps
	return b.left >= 0
}

// IsOver reports whether more steps were asked for than there were.
func (b *Budget) IsOver() bool { return b != nil && b.left < 0 }

// stepped is a Set that needs more than one step for a month.
type stepped interface{ steps() int }

func stepsOf(s Set) int {
	if long, ok := s.(stepped); ok {
		return long.steps()
	}
	return 1
}

// From returns the first day of the set that is not before the given day.
func (b *Budget) From(s Set, day int64) (int64, bool) {
	m, dom := monthOf(day)
	counted := ^uint32(0) << dom
	for steps := stepsOf(s); b.Spend(steps) && m.first <= day+gregorianDays; m = m.next() {
		if mask := s.mask(m) & counted; mask != 0 {
			return m.first + int64(bits.TrailingZeros32(mask)) - 1, true
		}
		counted = ^uint32(0)
	}
	return 0, false
}

// UpTo returns the last day of the set that is not after the given day.
func (b *Budget) UpTo(s Set, day int64) (int64, bool) {
	m, dom := monthOf(day)
	counted := uint32(1)<<(dom+1) - 1
	for steps := stepsOf(s); b.Spend(steps) && m.first > day-gregorianDays-31; m = m.previous() {
		if mask := s.mask(m) & counted; mask != 0 {
			return m.first + int64(bits.Len32(mask)) - 2, true
		}
		counted = ^uint32(0)
	}
	return 0, false
}

// horizon is the year before which Count looks for days.
const horizon = 2200

// Count returns the last of the first count days of a set from a day on. It returns false if that day is not before the year 2200,
// because such a day is too far away to matter.
func (b *Budget) Count(s Set, from int64, count int) (last int64, ok bool) {
	m, dom := monthOf(from)
	counted := ^uint32(0) << dom
	for steps := stepsOf(s); m.year < horizon && b.Spend(steps); m = m.next() {
		mask := s.mask(m) & counted
		if n := bits.OnesCount32(mask); n < count {
			count, counted = count-n, ^uint32(0)
			continue
		}
		for ; count > 1; count-- {
			mask &= mask - 1
		}
		return m.first + int64(bits.TrailingZeros32(mask)) - 1, true
	}
	return 0, false
}
