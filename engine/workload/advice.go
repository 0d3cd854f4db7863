package workload

import (
	"maps"
	"slices"
	"time"
)

// Advice is the tuning result for a target, from the usage of its pods: the values that a policy is to claim for the
// target and for its autoscaler. It is immutable.
type Advice struct {
	// By is the policy for which the advice was computed.
	By Policy
	// UID is the UID of the object whose usage was measured. The advice must not be used for a later object of the same
	// name. Empty: unknown.
	UID string
	// Amounts are the requests for the target's pod template, as of AmountsSince. With InPlace they are for running
	// pods, changed in place; with OnCreate they are for new pods only.
	Amounts      map[Amount]int64
	AmountsSince time.Time
	InPlace      bool
	OnCreate     bool
	// Back is true if these requests replace requests whose roll-out did not become ready. Then only a freeze can delay
	// them.
	Back bool
	// Dry is true for advice computed while the policy only recommends: the advice is the final state of tuning and not
	// the next step.
	Dry bool
	// Min, Max and Targets (target utilisations) are for the autoscaler, as of BoundsSince. Nil: no claim.
	Min, Max    *int64
	Targets     map[Amount]int64
	BoundsSince time.Time
	// Lines explain the numbers, one line for each.
	Lines []string
}

// Same reports whether two pieces of advice have equal values. Explanations may differ.
func (a *Advice) Same(b *Advice) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.By == b.By && a.UID == b.UID && a.InPlace == b.InPlace && a.OnCreate == b.OnCreate && a.Dry == b.Dry && a.Back == b.Back &&
		a.SameAmounts(b) && a.SameBounds(b) && a.AmountsSince.Equal(b.AmountsSince) && a.BoundsSince.Equal(b.BoundsSince)
}

// SameAmounts reports whether two pieces of advice have equal requests.
func (a *Advice) SameAmounts(b *Advice) bool { return maps.Equal(a.Amounts, b.Amounts) }

// SameBounds reports whether two pieces of advice have equal values for the autoscaler.
func (a *Advice) SameBounds(b *Advice) bool {
	return equalNumbers(a.Min, b.Min) && equalNumbers(a.Max, b.Max) && maps.Equal(a.Targets, b.Targets)
}

func equalNumbers(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// SortedAmounts returns the amounts of a map in order.
func SortedAmounts[V any](m map[Amount]V) []Amount {
	return slices.SortedFunc(maps.Keys(m), Amount.Compare)
}
