package ledger

import (
	"slices"
	"testing"

	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/workload"
)

var (
	allClaims = []claimKind{claimNone, claimKept, claimOrphaned, claimLasting, claimOnce}
	allStates = []FieldState{FieldUntouched, FieldSet, FieldSetOnce, FieldUnfinished, FieldChanged, FieldAdopted, FieldUnclear,
		FieldUnwritable, FieldGone}
	allWanted  = []wanted{wantedCurrent, wantedOriginal, wantedOther}
	allAnswers = []answer{yes, no}
)

// everySituation calls do with each combination of the inputs of the decision table.
func everySituation(do func(situation)) {
	for _, c := range allClaims {
		for _, s := range allStates {
			for _, w := range allWanted {
				for _, renewed := range allAnswers {
					for _, enforced := range allAnswers {
						for _, honoured := range allAnswers {
							do(situation{c, s, w, renewed, enforced, honoured})
						}
					}
				}
			}
		}
	}
}

func TestDecisionTableHasOneRowForEverySituation(t *testing.T) {
	used := make([]int, len(decisionTable))
	everySituation(func(s situation) {
		var rows []int
		for i := range decisionTable {
			if decisionTable[i].covers(s) {
				rows = append(rows, i)
				used[i]++
			}
		}
		if len(rows) != 1 {
			t.Errorf("%+v: rows %v, want one", s, rows)
		} else if got := outcomeOf(s); got != decisionTable[rows[0]].outcome {
			t.Errorf("%+v: outcome %d, its row says %d", s, got, decisionTable[rows[0]].outcome)
		}
	})
	for i, n := range used {
		if n == 0 {
			t.Errorf("row %d stands for no situation: %+v", i, decisionTable[i])
		}
	}
}

// TestDecisionTableKeepsItsPromises checks rules about the outcome in every situation.
func TestDecisionTableKeepsItsPromises(t *testing.T) {
	writes := []outcome{takeOver, replace, restore, correct, finish, setOnce}
	forgets := []outcome{dropEntry, takeOver, rememberOnce}
	promises := []struct {
		promise string
		of      func(situation) bool
		broken  func(situation, outcome) bool
	}{
		{"an original behind Flyball's value is only forgotten when it is there again, or on request",
			func(s situation) bool {
				return s.state == FieldSet && s.claim != claimOrphaned && (s.claim != claimNone || s.wanted != wantedCurrent)
			},
			func(_ situation, o outcome) bool { return slices.Contains(forgets, o) }},
		{"without a claim nothing but an original is written",
			func(s situation) bool { return s.claim&(claimNone|claimKept|claimOrphaned) != 0 },
			func(s situation, o outcome) bool {
				return slices.Contains(writes, o) && (o != restore || s.claim != claimNone || s.state != FieldSet)
			}},
		{"what a policy keeps stays, with its entry, as long as it is there",
			func(s situation) bool { return s.claim == claimKept },
			func(s situation, o outcome) bool { return (o != keepEntry) != (s.state == FieldGone) }},
		{"what a policy orphans stays, without its entry",
			func(s situation) bool { return s.claim == claimOrphaned },
			func(_ situation, o outcome) bool { return o != dropEntry }},
		{"somebody else's value stands until the next transition, unless that is enforced against",
			func(s situation) bool {
				return s.claim == claimLasting && s.state == FieldChanged && s.renewed == no && s.enforced == no
			},
			func(_ situation, o outcome) bool { return o != respect }},
		{"somebody else's value is overridden where the claim is renewed, and corrected where it is enforced",
			func(s situation) bool {
				return s.claim == claimLasting && s.state == FieldChanged && s.wanted != wantedCurrent && (s.renewed == yes || s.enforced == yes)
			},
			func(s situation, o outcome) bool {
				return (o == takeOver) != (s.renewed == yes) || (o == correct) != (s.renewed == no)
			}},
		{"a value that is there already is not written for a claim that lasts",
			func(s situation) bool { return s.claim == claimLasting && s.wanted == wantedCurrent },
			func(_ situation, o outcome) bool { return slices.Contains(writes, o) && o != correct }},
		{"another value is written for a claim that lasts, unless somebody else's stands",
			func(s situation) bool {
				return s.claim == claimLasting && s.wanted != wantedCurrent && s.state&(FieldUntouched|FieldSet|FieldSetOnce|FieldUnfinished) != 0
			},
			func(_ situation, o outcome) bool { return !slices.Contains(writes, o) }},
		{"a size that is set once is set unless it was",
			func(s situation) bool {
				return s.claim == claimOnce && s.state&(FieldGone|FieldUnclear|FieldUnwritable) == 0
			},
			func(s situation, o outcome) bool {
				done := s.state == FieldSetOnce && s.honoured == yes
				return (o == rememberOnce) != done || (o == setOnce) == done
			}},
		{"what is not there, cannot be told or cannot be written is not written",
			func(s situation) bool { return s.state&(FieldGone|FieldUnclear|FieldUnwritable) != 0 },
			func(_ situation, o outcome) bool { return slices.Contains(writes, o) }},
		{"an original whose element cannot be told is only forgotten on request",
			func(s situation) bool { return s.state == FieldUnclear && s.claim != claimOrphaned },
			func(_ situation, o outcome) bool { return o != keepEntry }},
		{"somebody else's last word stands until the next transition, and for good where nobody claims the field",
			func(s situation) bool {
				return s.state == FieldAdopted && (s.claim == claimNone || s.claim == claimLasting && s.renewed == no)
			},
			func(s situation, o outcome) bool {
				return (o == dropEntry) != (s.claim == claimNone) || (o == respect) != (s.claim == claimLasting)
			}},
		{"without an entry none is kept, passed on or restored",
			func(s situation) bool { return s.state == FieldUntouched && s.claim&(claimLasting|claimOnce) != 0 },
			func(_ situation, o outcome) bool {
				return slices.Contains([]outcome{keepEntry, passOn, replace, restore, respect, correct, finish, rememberOnce}, o)
			}},
	}
	for _, p := range promises {
		held := 0
		everySituation(func(s situation) {
			if !p.of(s) {
				return
			}
			held++
			if o := outcomeOf(s); p.broken(s, o) {
				t.Errorf("%s: broken by outcome %d of %+v", p.promise, o, s)
			}
		})
		if held == 0 {
			t.Errorf("%s: speaks of no situation", p.promise)
		}
	}
}

// TestFieldStates checks every combination of a place, an entry, a value and the known author.
func TestFieldStates(t *testing.T) {
	places := map[string]projection.Location{"slot": {Kind: projection.InSlot}, "element": {Kind: projection.InElement},
		"unwritten": {Kind: projection.InUnwritten},
		"foreign":   {Kind: projection.InUnwritten},
		"nowhere":   {Kind: projection.Nowhere}, "unclear": {Kind: projection.Unclear}}
	for place, at := range places {
		for _, pending := range []bool{false, true} {
			for _, prior := range []string{"", "4"} {
				for _, once := range []string{"", "6"} {
					for _, set := range []string{"", "2"} {
						for _, holds := range []string{"", "2", `"2"`, "3", "4"} {
							for _, depth := range []uint8{2, projection.Blocked} {
								for _, word := range []string{"", "adopted", "other"} {
									l := TrackedField{Location: at, field: workload.Field{Raw: holds, Depth: depth}, author: workload.Author{Other: word == "other"},
										Entry: workload.Entry{Pointer: "/spec/replicas", Was: "3", Set: set, Prior: prior, Pending: pending, Once: once,
											Adopted: word == "adopted"}}
									if place == "foreign" {
										l.Entry.Pointer = "/status/replicas"
									}
									if got, want := l.stateOf(), stateByHand(place, &l); got != want {
										t.Errorf("%s, %+v of %+v, %q: state %d, want %d", place, l.field, l.Entry, word, got, want)
									}
								}
							}
						}
					}
				}
			}
		}
	}
}

// stateByHand returns the expected result of stateOf for an entry whose original is 3, and whose field was set to 2 or
// removed.
func stateByHand(place string, l *TrackedField) FieldState {
	holds, e := l.field.Raw, &l.Entry
	behind := e.Pending && e.Prior != "" && holds == e.Prior
	asSet := holds == e.Set || holds == `"2"` && e.Set == "2"
	switch {
	case place == "nowhere":
		return FieldGone
	case place == "unclear", place == "unwritten" && holds == "" && e.Set != "" && e.Was != "" && e.Once == "":
		return FieldUnclear
	case place == "foreign", l.field.Depth == projection.Blocked:
		return FieldUnwritable
	case e.Once != "" && !behind:
		return FieldSetOnce
	case behind:
		return FieldSet
	case asSet && (e.Adopted || l.author.Other):
		return FieldAdopted
	case asSet:
		return FieldSet
	case e.Adopted:
		return FieldChanged
	case e.Pending:
		return FieldUnfinished
	}
	return FieldChanged
}
