package world

import (
	"maps"
	"slices"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// judgeBy updates the admission rules of a policy. If the policy has become unreadable without a change of its spec,
// its last readable rule stays, because a kind in the spec may be unserved for a moment.
func (tx *Tx) judgeBy(id workload.Policy, old, next *Policy, unreadable bool) {
	if rule := freeze.RuleOf(next.Policy.Policy); rule != nil && !next.Deleting {
		tx.rules[id] = rule
		tx.gone.Delete(id)
		return
	}
	if e := freeze.ExceptionOf(next.Policy.Policy); e != nil && !next.Deleting {
		tx.exceptions[id] = e
		tx.gone.Delete(id)
		return
	}
	if unreadable && old != nil && !next.Deleting && sameSpec(old.Object, next.Object) {
		return
	}
	tx.stopJudgingBy(id)
}

func (tx *Tx) stopJudgingBy(id workload.Policy) {
	delete(tx.rules, id)
	delete(tx.exceptions, id)
	if tx.next.set.Rule(id) != nil || tx.next.set.Exception(id) != nil {
		tx.gone.Insert(id)
	}
}

// commitSet updates the set of freezes and exceptions.
func (tx *Tx) commitSet() {
	if len(tx.gone)+len(tx.rules)+len(tx.exceptions) == 0 {
		return
	}
	tx.change.Judging = true
	set := tx.next.set
	if len(tx.gone) > 0 {
		set = set.Without(tx.gone.UnsortedList()...)
	}
	if len(tx.rules) > 0 {
		set = set.With(slices.Collect(maps.Values(tx.rules))...)
	}
	if len(tx.exceptions) > 0 {
		set = set.WithExceptions(slices.Collect(maps.Values(tx.exceptions))...)
	}
	tx.next.set = set
}
