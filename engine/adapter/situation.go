package adapter

import "flyball.dev/flyball/engine/workload"

// situation is everything that the outcome for one field depends on. Its parts are bits, so that one row of the decision
// table can stand for several situations.
type situation struct {
	claim  claimKind
	state  fieldState
	wanted wanted
	// renewed says whether the claim is a new transition or another wish; enforced, whether it corrects others; honoured,
	// whether a size that is set once has been set for this claim already.
	renewed, enforced, honoured answer
}

// claimKind says who asks for a value of the field.
type claimKind uint8

const (
	claimNone     claimKind = 1 << iota // nobody
	claimKept                           // nobody, and what is set stays for now: the policy of the entry says so, or another value cannot be set
	claimOrphaned                       // nobody, and the policy of the entry leaves what it has set to the owner
	claimLasting                        // a policy, for as long as its claim lasts
	claimOnce                           // a policy, which sets the field once and then leaves it to others
)

// wanted compares the value wanted with those known. Where nobody claims the field, the original is wanted.
type wanted uint8

const (
	wantedCurrent  wanted = 1 << iota // what the field holds
	wantedOriginal                    // what the entry has as the original, and not what the field holds
	wantedOther                       // neither
	wantedChange   = wantedOriginal | wantedOther
)

// answer is yes or no.
type answer uint8

const (
	yes answer = 1 << iota
	no
)

func answerOf(b bool) answer {
	if b {
		return yes
	}
	return no
}

// outcome is what becomes of a field and of its ledger entry.
type outcome uint8

const (
	dropEntry    outcome = iota // leaves the field as it is, without an entry
	keepEntry                   // leaves the field and its entry as they are
	passOn                      // leaves the field; the entry goes to the policy that claims it now
	takeOver                    // writes the value; what is there is the original
	replace                     // writes the value; the original is the one before
	restore                     // writes the original, and drops the entry
	respect                     // leaves somebody else's value, and keeps the entry
	correct                     // writes the value that was set over somebody else's
	finish                      // makes a change of which the write to /scale is missing
	setOnce                     // sets the field for a claim that leaves it to others
	rememberOnce                // leaves the field, which was set once; the entry goes to the claim
)

// row is one line of the decision table. A part that is zero stands for every value.
type row struct {
	claim                       claimKind
	state                       fieldState
	wanted                      wanted
	renewed, enforced, honoured answer
	outcome                     outcome
}

// decisionTable has exactly one row for every situation.
var decisionTable = []row{
	// Nobody claims the field: the original comes back, unless somebody else has changed the field since.
	{claim: claimOrphaned, outcome: dropEntry},
	{claim: claimKept, state: fieldGone, outcome: dropEntry},
	{claim: claimKept, state: ^fieldGone, outcome: keepEntry},
	{claim: claimNone, state: fieldSet, wanted: wantedChange, outcome: restore},
	{claim: claimNone, state: fieldSet, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimNone, state: fieldUnclear, outcome: keepEntry},
	{claim: claimNone, state: ^(fieldSet | fieldUnclear), outcome: dropEntry},

	// A claim that lasts. The owner has the value already, or it is written and the owner's is the original.
	{claim: claimLasting, state: fieldUntouched | fieldSetOnce, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: fieldUntouched | fieldSetOnce, wanted: wantedChange, outcome: takeOver},
	// Flyball has set the field.
	{claim: claimLasting, state: fieldSet, wanted: wantedCurrent, outcome: passOn},
	{claim: claimLasting, state: fieldSet, wanted: wantedOriginal, outcome: restore},
	{claim: claimLasting, state: fieldSet, wanted: wantedOther, outcome: replace},
	// The process ended between the two writes of a count behind /scale, and the second one is missing or gave the count back.
	{claim: claimLasting, state: fieldUnfinished, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: fieldUnfinished, wanted: wantedChange, outcome: finish},
	// Somebody else has changed the field: that counts until the next transition, which takes their value as the original.
	{claim: claimLasting, state: fieldChanged | fieldAdopted, renewed: yes, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: fieldChanged | fieldAdopted, renewed: yes, wanted: wantedChange, outcome: takeOver},
	{claim: claimLasting, state: fieldChanged, renewed: no, enforced: no, outcome: respect},
	{claim: claimLasting, state: fieldChanged, renewed: no, enforced: yes, outcome: correct},
	{claim: claimLasting, state: fieldAdopted, renewed: no, outcome: respect}, // it is Flyball's value: there is nothing to correct

	// A size that is set once is set for every claim once, whatever is there.
	{claim: claimOnce, state: fieldSetOnce, honoured: yes, outcome: rememberOnce},
	{claim: claimOnce, state: fieldSetOnce, honoured: no, outcome: setOnce},
	{claim: claimOnce, state: fieldUntouched | fieldSet | fieldUnfinished | fieldChanged | fieldAdopted, outcome: setOnce},

	// No claim is made on what is not there, cannot be told or cannot be written.
	{claim: claimLasting | claimOnce, state: fieldUnclear, outcome: keepEntry},
	{claim: claimLasting | claimOnce, state: fieldGone | fieldUnwritable, outcome: dropEntry},
}

func (r *row) covers(s situation) bool {
	return includes(r.claim, s.claim) && includes(r.state, s.state) && includes(r.wanted, s.wanted) &&
		includes(r.renewed, s.renewed) && includes(r.enforced, s.enforced) && includes(r.honoured, s.honoured)
}

// includes says whether a part of a row stands for a value.
func includes[T ~uint8 | ~uint16](part, value T) bool { return part == 0 || part&value != 0 }

func outcomeOf(s situation) outcome {
	for i := range decisionTable {
		if decisionTable[i].covers(s) {
			return decisionTable[i].outcome
		}
	}
	panic("the decision table has no row for a situation") // a test walks all of them
}

// releasedSituation is the situation of a field that has an entry and that nobody claims. kept says that its entry
// stays, unless its policy leaves what it has set to the owner.
func releasedSituation(l *ledgerField, plan workload.Plan, kept bool) situation {
	s := situation{claim: claimNone, state: l.state, renewed: no, enforced: no, honoured: no}
	switch by := workload.ParsePolicy(l.entry.By); {
	case plan.Orphan[by]:
		s.claim = claimOrphaned
	case plan.Keep[by], kept:
		s.claim = claimKept
	}
	s.wanted = compareWanted(l.entry.Was, l.field.Raw, l)
	return s
}

// claimedSituation is the situation of a field that is claimed; l is nil where it has no entry.
func claimedSituation(w *want, l *ledgerField) situation {
	s := situation{claim: claimLasting, state: fieldUntouched, renewed: no, enforced: answerOf(w.enforce), honoured: no}
	if w.once != "" {
		s.claim = claimOnce
	}
	s.wanted = compareWanted(w.value, w.field.Raw, l)
	if l != nil {
		s.state, s.renewed, s.honoured = l.state, answerOf(w.renews(l)), answerOf(w.isHonoured(l))
	}
	return s
}

// renews says whether a claim asks for something new: it began after the entry was made, or wants another value than the entry has set.
func (w *want) renews(l *ledgerField) bool {
	return w.since.After(l.entry.Since) || !same(w.valueForWas, l.entry.Set)
}

func compareWanted(value, current string, l *ledgerField) wanted {
	switch {
	case same(value, current):
		return wantedCurrent
	case l != nil && same(value, l.entry.Was):
		return wantedOriginal
	}
	return wantedOther
}

// isHonoured says whether a size that is set once needs no setting: it was set for this claim before. Where the write to /scale
// of the entry did not come, the entry's own policy has not had its size yet; those that the entry remembers beside it have.
func (w *want) isHonoured(l *ledgerField) bool {
	claim := w.onceClaim()
	return w.resumed || l.entry.WasSet(claim) && (!l.isLost() || l.entry.By != claim.By)
}
