package recur

import (
	"cmp"
	"slices"
)

// Listed are single days, by number, ascending.
type Listed []int64

// NewListed returns the days of a list in any order.
func NewListed(days ...int64) Listed {
	sorted := slices.Clone(days)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func (l Listed) mask(m month) (mask uint32) {
	i, _ := slices.BinarySearchFunc(l, m.first, cmp.Compare[int64])
	for ; i < len(l) && l[i] < m.first+int64(m.length); i++ {
		mask |= 1 << (l[i] - m.first + 1)
	}
	return mask
}

// Without returns the days of a set without the listed days.
func Without(set Set, days Listed) Set {
	if len(days) == 0 {
		return set
	}
	return daysWithout{set, days}
}

// MaxShift is the largest number of days for Later. It is one day less than the shortest month.
const MaxShift = 27

// Later moves the days of a set by a number of days, at most MaxShift.
func Later(set Set, by int) Set {
	if by == 0 {
		return set
	}
	return laterDays{set, by}
}

type laterDays struct {
	set Set
	by  int
}

func (d laterDays) mask(m month) uint32 {
	before := m.previous()
	moved := uint64(d.set.mask(m)) << d.by
	// The day length+1 of the month before is day 1 of this month.
	moved |= uint64(d.set.mask(before)) << d.by >> before.length
	return uint32(moved) & m.all()
}
