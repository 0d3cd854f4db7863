package adapter

import "flyball.dev/flyball/engine/workload"

// situation has everything that determines the outcome for a field. Its parts are bits, so that one row of the
// decision table can stand for several situations.
type situation struct {
	claim  claimKind
	state  fieldState
	wanted wanted
	// renewed is yes if the claim is a new transition, or wants another value. enforced is yes if the claim corrects other
	// writers. honoured is yes if a size that is set once has been set for this claim already.
	renewed, enforced, honoured answer
}

// claimKind is the kind of the claim on the field.
type claimKind uint8

const (
	claimNone claimKind = 1 << iota // no policy
	// no policy, and the set value stays for now: the policy of the entry asks for it, or another value cannot be set
	claimKept
	claimOrphaned // no policy, and the policy of the entry leaves its value to the owner
	claimLasting  // a policy, for as long as its claim lasts
	claimOnce     // a policy, which sets the field once and then leaves it to others
)

// wanted compares the wanted value with the known values. Without a claim, the original is wanted.
type wanted uint8

const (
	wantedCurrent  wanted = 1 << iota // the present value
	wantedOriginal                    // the original of the entry, and not the present value
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

// outcome is the outcome for a field and its ledger entry.
type outcome uint8

const (
	dropEntry    outcome = iota // leaves the field, without an entry
	keepEntry                   // leaves the field and its entry
	passOn                      // leaves the field; the entry goes to the policy that claims it now
	takeOver                    // writes the value; the present one is the original
	replace                     // writes the value; the original stays
	restore                     // writes the original, and drops the entry
	respect                     // leaves another writer's value, and keeps the entry
	correct                     // writes the claimed value over another writer's
	finish                      // repeats a change with a missing write to /scale
	setOnce                     // sets the field for a claim that leaves it to others
	rememberOnce                // leaves the field, which was set once; the entry goes to the claim
)

// row is a line of the decision table. A part that is zero stands for every value.
type row struct {
	claim                       claimKind
	state                       fieldState
	wanted                      wanted
	renewed, enforced, honoured answer
	outcome                     outcome
}

// decisionTable has exactly one row for every situation.
var decisionTable = []row{
	// Without a claim the original is restored, unless a different writer has changed the field since.
	{claim: claimOrphaned, outcome: dropEntry},
	{claim: claimKept, state: fieldGone, outcome: dropEntry},
	{claim: claimKept, state: ^fieldGone, outcome: keepEntry},
	{claim: claimNone, state: fieldSet, wanted: wantedChange, outcome: restore},
	{claim: claimNone, state: fieldSet, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimNone, state: fieldUnclear, outcome: keepEntry},
	{claim: claimNone, state: ^(fieldSet | fieldUnclear), outcome: dropEntry},

	// A lasting claim. If the owner has the value already, nothing is written. Otherwise the value is written, and the
	// owner's value becomes the original.
	{claim: claimLasting, state: fieldUntouched | fieldSetOnce, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: fieldUntouched | fieldSetOnce, wanted: wantedChange, outcome: takeOver},
	// Flyball has set the field.
	{claim: claimLasting, state: fieldSet, wanted: wantedCurrent, outcome: passOn},
	{claim: claimLasting, state: fieldSet, wanted: wantedOriginal, outcome: restore},
	{claim: claimLasting, state: fieldSet, wanted: wantedOther, outcome: replace},
	// The process ended between the two writes of a count behind /scale, and the second one is missing or has restored
	// the count.
	{claim: claimLasting, state: fieldUnfinished, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: fieldUnfinished, wanted: wantedChange, outcome: finish},
	// Another writer has changed the field: its value counts until the next transition, which takes it as the original.
	{claim: claimLasting, state: fieldChanged | fieldAdopted, renewed: yes, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: fieldChanged | fieldAdopted, renewed: yes, wanted: wantedChange, outcome: takeOver},
	{claim: claimLasting, state: fieldChanged, renewed: no, enforced: no, outcome: respect},
	{claim: claimLasting, state: fieldChanged, renewed: no, enforced: yes, outcome: correct},
	{claim: claimLasting, state: fieldAdopted, renewed: no, outcome: respect}, // it is Flyball's value: there is nothing to correct

	// A size that is set once is set once for every claim, whatever the value of the field is.
	{claim: claimOnce, state: fieldSetOnce, honoured: yes, outcome: rememberOnce},
	{claim: claimOnce, state: fieldSetOnce, honoured: no, outcome: setOnce},
	{claim: claimOnce, state: fieldUntouched | fieldSet | fieldUnfinished | fieldChanged | fieldAdopted, outcome: setOnce},

	// A missing, unclear or unwritable field has no claim.
	{claim: claimLasting | claimOnce, state: fieldUnclear, outcome: keepEntry},
	{claim: claimLasting | claimOnce, state: fieldGone | fieldUnwritable, outcome: dropEntry},
}

func (r *row) covers(s situation) bool {
	return includes(r.claim, s.claim) && includes(r.state, s.state) && includes(r.wanted, s.wanted) &&
		includes(r.renewed, s.renewed) && includes(r.enforced, s.enforced) && includes(r.honoured, s.honoured)
}

// includes reports whether a part of a row stands for a value.
func includes[T ~uint8 | ~uint16](part, value T) bool { return part == 0 || part&value != 0 }

func outcomeOf(s situation) outcome {
	for i := range decisionTable {
		if decisionTable[i].covers(s) {
			return decisionTable[i].outcome
		}
	}
	panic("the decision table has no row for a situation") // a test walks all of them
}

// releasedSituation returns the situation of a field with an entry and without a claim. kept is true if the entry is to
// stay. It does not stay if its policy leaves the value to the owner.
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

// claimedSituation returns the situation of a claimed field; l is nil without an entry.
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

// renews reports whether a claim is new: it began after the entry was made, or wants a different value than the entry has
// set.
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

// isHonoured reports whether a size that is set once was set for this claim before. If the entry's write to /scale was
// lost, the size of the entry's own policy is not set yet, but the sizes of the earlier policies in the entry were.
func (w *want) isHonoured(l *ledgerField) bool {
	claim := w.onceClaim()
	return w.resumed || l.entry.WasSet(claim) && (!l.isLost() || l.entry.By != claim.By)
}
