package world

import (
	"maps"
	"slices"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// judgeBy takes over what changes are judged by in a policy. One that could be read once goes on to count in that form, though
// a kind that it depends on is not served just now.
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

// commitSet brings what changes are judged by up to date.
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
