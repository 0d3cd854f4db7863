package workload

import (
	"maps"
	"slices"
	"time"
)

// Advice is what was found for one target from what its pods used: what a policy is to ask of the target, and of what governs it. It is
// immutable once it is given to anybody.
type Advice struct {
	// By is the policy that it was found for.
	By Policy
	// UID is that of the object that it was found for: another one of its name is none of its business. Empty: nobody knows.
	UID string
	// Amounts are the requests of the target itself, as of AmountsSince; with InPlace, those of its pods, which are changed in place; with
	// OnCreate, those of pods that are yet to come.
	Amounts      map[Amount]int64
	AmountsSince time.Time
	InPlace      bool
	OnCreate     bool
	// Dry says that it was found while nothing was to be carried out: it says where tuning would end, and not which step comes next.
	Dry bool
	// Min, Max and Targets (target utilisations) are those of what governs the target, as of BoundsSince. Nil: nothing is asked.
	Min, Max    *int64
	Targets     map[Amount]int64
	BoundsSince time.Time
	// Lines say how the numbers came about, a line a number.
	Lines []string
}

// Same says whether two pieces of advice ask for the same, whatever they say about it.
func (a *Advice) Same(b *Advice) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.By == b.By && a.UID == b.UID && a.InPlace == b.InPlace && a.OnCreate == b.OnCreate && a.Dry == b.Dry && a.SameAmounts(b) && a.SameBounds(b) && a.AmountsSince.Equal(b.AmountsSince) && a.BoundsSince.Equal(b.BoundsSince)
}

// SameAmounts says whether two pieces of advice ask for the same requests.
func (a *Advice) SameAmounts(b *Advice) bool { return maps.Equal(a.Amounts, b.Amounts) }

// SameBounds says whether two pieces of advice ask the same of what governs the target.
func (a *Advice) SameBounds(b *Advice) bool {
	return equalNumbers(a.Min, b.Min) && equalNumbers(a.Max, b.Max) && maps.Equal(a.Targets, b.Targets)
}

func equalNumbers(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SortedAmounts lists the amounts of a map in order.
func SortedAmounts[V any](m map[Amount]V) []Amount {
	return slices.SortedFunc(maps.Keys(m), Amount.Compare)
}
