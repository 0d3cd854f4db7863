package adapter

import (
	"slices"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

var (
	allClaims = []claimKind{claimNone, claimKept, claimOrphaned, claimLasting, claimOnce}
	allStates = []fieldState{fieldUntouched, fieldSet, fieldSetOnce, fieldUnfinished, fieldChanged, fieldAdopted, fieldUnclear,
		fieldUnwritable, fieldGone}
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

// TestStateTableHasOneRowForEveryEvidence walks each combination of the inputs of the state table.
func TestStateTableHasOneRowForEveryEvidence(t *testing.T) {
	used := make([]int, len(stateTable))
	check := func(e evidence) {
		var rows []int
		for i := range stateTable {
			if stateTable[i].covers(e) {
				rows = append(rows, i)
				used[i]++
			}
		}
		if len(rows) != 1 {
			t.Errorf("%+v: rows %v, want one", e, rows)
		} else if got := stateFor(e); got != stateTable[rows[0]].state {
			t.Errorf("%+v: state %d, its row says %d", e, got, stateTable[rows[0]].state)
		}
	}
	for _, place := range []fieldPlace{placeKnown, placeGone, placeUnclear, placeUnwritable} {
		for _, in := range []content{contentPrior, contentSet, contentOther} {
			for _, writer := range []lastWriter{writerFlyball, writerOther, writerAdopted} {
				for _, once := range allAnswers {
					for _, pending := range allAnswers {
						check(evidence{place, in, writer, once, pending})
					}
				}
			}
		}
	}
	for i, n := range used {
		if n == 0 {
			t.Errorf("row %d stands for no evidence: %+v", i, stateTable[i])
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
				return s.state == fieldSet && s.claim != claimOrphaned && (s.claim != claimNone || s.wanted != wantedCurrent)
			},
			func(_ situation, o outcome) bool { return slices.Contains(forgets, o) }},
		{"without a claim nothing but an original is written",
			func(s situation) bool { return s.claim&(claimNone|claimKept|claimOrphaned) != 0 },
			func(s situation, o outcome) bool {
				return slices.Contains(writes, o) && (o != restore || s.claim != claimNone || s.state != fieldSet)
			}},
		{"what a policy keeps stays, with its entry, as long as it is there",
			func(s situation) bool { return s.claim == claimKept },
			func(s situation, o outcome) bool { return (o != keepEntry) != (s.state == fieldGone) }},
		{"what a policy orphans stays, without its entry",
			func(s situation) bool { return s.claim == claimOrphaned },
			func(_ situation, o outcome) bool { return o != dropEntry }},
		{"somebody else's value stands until the next transition, unless that is enforced against",
			func(s situation) bool {
				return s.claim == claimLasting && s.state == fieldChanged && s.renewed == no && s.enforced == no
			},
			func(_ situation, o outcome) bool { return o != respect }},
		{"somebody else's value is overridden where the claim is renewed, and corrected where it is enforced",
			func(s situation) bool {
				return s.claim == claimLasting && s.state == fieldChanged && s.wanted != wantedCurrent && (s.renewed == yes || s.enforced == yes)
			},
			func(s situation, o outcome) bool {
				return (o == takeOver) != (s.renewed == yes) || (o == correct) != (s.renewed == no)
			}},
		{"a value that is there already is not written for a claim that lasts",
			func(s situation) bool { return s.claim == claimLasting && s.wanted == wantedCurrent },
			func(_ situation, o outcome) bool { return slices.Contains(writes, o) && o != correct }},
		{"another value is written for a claim that lasts, unless somebody else's stands",
			func(s situation) bool {
				return s.claim == claimLasting && s.wanted != wantedCurrent && s.state&(fieldUntouched|fieldSet|fieldSetOnce|fieldUnfinished) != 0
			},
			func(_ situation, o outcome) bool { return !slices.Contains(writes, o) }},
		{"a size that is set once is set unless it was",
			func(s situation) bool {
				return s.claim == claimOnce && s.state&(fieldGone|fieldUnclear|fieldUnwritable) == 0
			},
			func(s situation, o outcome) bool {
				done := s.state == fieldSetOnce && s.honoured == yes
				return (o == rememberOnce) != done || (o == setOnce) == done
			}},
		{"what is not there, cannot be told or cannot be written is not written",
			func(s situation) bool { return s.state&(fieldGone|fieldUnclear|fieldUnwritable) != 0 },
			func(_ situation, o outcome) bool { return slices.Contains(writes, o) }},
		{"an original whose element cannot be told is only forgotten on request",
			func(s situation) bool { return s.state == fieldUnclear && s.claim != claimOrphaned },
			func(_ situation, o outcome) bool { return o != keepEntry }},
		{"somebody else's last word stands until the next transition, and for good where nobody claims the field",
			func(s situation) bool {
				return s.state == fieldAdopted && (s.claim == claimNone || s.claim == claimLasting && s.renewed == no)
			},
			func(s situation, o outcome) bool {
				return (o == dropEntry) != (s.claim == claimNone) || (o == respect) != (s.claim == claimLasting)
			}},
		{"without an entry none is kept, passed on or restored",
			func(s situation) bool { return s.state == fieldUntouched && s.claim&(claimLasting|claimOnce) != 0 },
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
	places := map[string]location{"slot": {kind: inSlot}, "element": {kind: inElement}, "unwritten": {kind: inUnwritten},
		"foreign": {kind: inUnwritten},
		"nowhere": {kind: nowhere}, "unclear": {kind: unclear}}
	for place, at := range places {
		for _, pending := range []bool{false, true} {
			for _, prior := range []string{"", "4"} {
				for _, once := range []string{"", "6"} {
					for _, set := range []string{"", "2"} {
						for _, holds := range []string{"", "2", `"2"`, "3", "4"} {
							for _, depth := range []uint8{2, blocked} {
								for _, word := range []string{"", "adopted", "other"} {
									l := ledgerField{location: at, field: workload.Field{Raw: holds, Depth: depth}, author: workload.Author{Other: word == "other"},
										entry: workload.Entry{Pointer: "/spec/replicas", Was: "3", Set: set, Prior: prior, Pending: pending, Once: once,
											Adopted: word == "adopted"}}
									if place == "foreign" {
										l.entry.Pointer = "/status/replicas"
									}
									if got, want := l.stateOf(), stateByHand(place, &l); got != want {
										t.Errorf("%s, %+v of %+v, %q: state %d, want %d", place, l.field, l.entry, word, got, want)
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
func stateByHand(place string, l *ledgerField) fieldState {
	holds, e := l.field.Raw, &l.entry
	behind := e.Pending && e.Prior != "" && holds == e.Prior
	asSet := holds == e.Set || holds == `"2"` && e.Set == "2"
	switch {
	case place == "nowhere":
		return fieldGone
	case place == "unclear", place == "unwritten" && holds == "" && e.Set != "" && e.Was != "" && e.Once == "":
		return fieldUnclear
	case place == "foreign", l.field.Depth == blocked:
		return fieldUnwritable
	case e.Once != "" && !behind:
		return fieldSetOnce
	case behind:
		return fieldSet
	case asSet && (e.Adopted || l.author.Other):
		return fieldAdopted
	case asSet:
		return fieldSet
	case e.Adopted:
		return fieldChanged
	case e.Pending:
		return fieldUnfinished
	}
	return fieldChanged
}

// TestEveryCombinationOnAnObject combines every ledger entry, every value in the object and every kind of claim. It
// checks the count under the claim, and after the end of the claim.
func TestEveryCombinationOnAnObject(t *testing.T) {
	counts := []string{"", "0", "1", "2", "3", "4"}
	plans := []struct {
		name string
		plan workload.Plan
	}{
		{"none", workload.Plan{}}, {"sleep", sleep()}, {"at most 2", size(workload.SizeAtMost, 2)},
		{"exactly 4", size(workload.SizeExactly, 4)}, {"once 5", once(5, monday)},
		{"kept", workload.Plan{Keep: map[workload.Policy]bool{nights: true}}},
		{"orphaned", workload.Plan{Orphan: map[workload.Policy]bool{nights: true}}},
	}
	for _, kind := range []string{deploymentYAML, scaledYAML} {
		a := compiled(t, kind, Keys{})
		for _, was := range []string{"", "0", "3"} {
			for _, set := range []string{"0", "2"} {
				for _, prior := range []string{"none", "settled", "4"} {
					if kind == deploymentYAML && prior != "settled" || was == set {
						continue
					}
					e := entry("/spec/replicas", was, set)
					e.By, e.Since = nights.String(), monday
					if e.Pending = prior != "settled"; prior == "4" {
						e.Prior = prior
					}
					for _, holds := range counts {
						for _, p := range plans {
							for _, since := range []time.Time{monday, monday.Add(time.Hour)} {
								for _, enforce := range []bool{false, true} {
									c := combination{a: a, entry: e, holds: holds, name: p.name, plan: p.plan}
									if p.plan.Size != nil {
										claim := *p.plan.Size
										claim.Since, claim.Enforce = since, enforce
										c.plan.Size = &claim
									}
									c.check(t)
								}
							}
						}
					}
				}
			}
		}
	}
}

// combination is a case: a count with a ledger entry, and a plan.
type combination struct {
	a     *Adapter
	entry workload.Entry
	holds string
	name  string
	plan  workload.Plan
}

func (c *combination) check(t *testing.T) {
	t.Helper()
	spec := `{}`
	if c.holds != "" {
		spec = `{"replicas":` + c.holds + `}`
	}
	flyballs := c.holds == c.entry.Set || c.entry.Pending && c.entry.Prior != "" && c.holds == c.entry.Prior
	owners := c.holds
	if flyballs {
		owners = c.entry.Was
	}
	s := newServer(withLedger(t, spec, c.entry))
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s of %+v holding %q, plan %+v: %s", c.a.GroupKind().Kind, c.name, c.entry, c.holds, c.plan.Size, sprintf(format, args...))
	}
	r := s.settle(t, c.a, c.plan)
	now, left := s.value("/spec/replicas"), len(s.ledger(t, c.a))
	switch {
	case c.plan.Keep != nil:
		if r.Patch != nil {
			fail("it writes %s", r.Patch.Body)
		}
		return
	case c.plan.Orphan != nil:
		if now != c.holds || left > 0 {
			fail("the count is %q, %d entries are left", now, left)
		}
		return
	case c.plan.Size == nil:
		if now != owners || left > 0 {
			fail("the count is %q, %d entries are left", now, left)
		}
		return
	case c.plan.Size.Once:
		if now != "5" || left != 1 {
			fail("the count is %q, %d entries are left", now, left)
		}
		owners = "5"
	case r.State == workload.StateOverridden || r.Corrected:
		if flyballs || c.entry.Pending || c.plan.Size.Since.After(monday) || r.Corrected != c.plan.Size.Enforce {
			fail("overridden: %s", r.Message)
		}
		if !r.Corrected && now != c.holds || r.Corrected && now != c.entry.Set {
			fail("the count is %q", now)
		}
		if r.Corrected {
			owners = c.entry.Was
		}
	default:
		n, _ := c.a.components[0].read(owners)
		if want := c.plan.Size.Value.Of(workload.Component{Replicas: n}); now != integer(want) && (now != owners || want != n) {
			fail("the count is %q, want %d", now, want)
		}
	}
	s.settle(t, c.a, workload.Plan{})
	if now := s.value("/spec/replicas"); now != owners || len(s.ledger(t, c.a)) > 0 {
		fail("given back it is %q, want %q", now, owners)
	}
}
