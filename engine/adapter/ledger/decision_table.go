package ledger

import (
	"slices"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// situation has everything that determines the outcome for a field. Its parts are bits, so that one row of the
// decision table can stand for several situations.
type situation struct {
	claim  claimKind
	state  FieldState
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
	state                       FieldState
	wanted                      wanted
	renewed, enforced, honoured answer
	outcome                     outcome
}

// decisionTable has exactly one row for every situation.
var decisionTable = []row{
	// Without a claim the original is restored, unless a different writer has changed the field since.
	{claim: claimOrphaned, outcome: dropEntry},
	{claim: claimKept, state: FieldGone, outcome: dropEntry},
	{claim: claimKept, state: ^FieldGone, outcome: keepEntry},
	{claim: claimNone, state: FieldSet, wanted: wantedChange, outcome: restore},
	{claim: claimNone, state: FieldSet, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimNone, state: FieldUnclear, outcome: keepEntry},
	{claim: claimNone, state: ^(FieldSet | FieldUnclear), outcome: dropEntry},

	// A lasting claim. If the owner has the value already, nothing is written. Otherwise the value is written, and the
	// owner's value becomes the original.
	{claim: claimLasting, state: FieldUntouched | FieldSetOnce, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: FieldUntouched | FieldSetOnce, wanted: wantedChange, outcome: takeOver},
	// Flyball has set the field.
	{claim: claimLasting, state: FieldSet, wanted: wantedCurrent, outcome: passOn},
	{claim: claimLasting, state: FieldSet, wanted: wantedOriginal, outcome: restore},
	{claim: claimLasting, state: FieldSet, wanted: wantedOther, outcome: replace},
	// The process ended between the two writes of a count behind /scale, and the second one is missing or has restored
	// the count.
	{claim: claimLasting, state: FieldUnfinished, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: FieldUnfinished, wanted: wantedChange, outcome: finish},
	// Another writer has changed the field: its value counts until the next transition, which takes it as the original.
	{claim: claimLasting, state: FieldChanged | FieldAdopted, renewed: yes, wanted: wantedCurrent, outcome: dropEntry},
	{claim: claimLasting, state: FieldChanged | FieldAdopted, renewed: yes, wanted: wantedChange, outcome: takeOver},
	{claim: claimLasting, state: FieldChanged, renewed: no, enforced: no, outcome: respect},
	{claim: claimLasting, state: FieldChanged, renewed: no, enforced: yes, outcome: correct},
	{claim: claimLasting, state: FieldAdopted, renewed: no, outcome: respect}, // it is Flyball's value: there is nothing to correct

	// A size that is set once is set once for every claim, whatever the value of the field is.
	{claim: claimOnce, state: FieldSetOnce, honoured: yes, outcome: rememberOnce},
	{claim: claimOnce, state: FieldSetOnce, honoured: no, outcome: setOnce},
	{claim: claimOnce, state: FieldUntouched | FieldSet | FieldUnfinished | FieldChanged | FieldAdopted, outcome: setOnce},

	// A missing, unclear or unwritable field has no claim.
	{claim: claimLasting | claimOnce, state: FieldUnclear, outcome: keepEntry},
	{claim: claimLasting | claimOnce, state: FieldGone | FieldUnwritable, outcome: dropEntry},
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
func releasedSituation(l *TrackedField, plan workload.Plan, kept bool) situation {
	s := situation{claim: claimNone, state: l.State, renewed: no, enforced: no, honoured: no}
	switch holders := l.Entry.Claimants(); {
	case plan.Orphan[holders[0]] && !slices.ContainsFunc(holders[1:], func(id workload.Policy) bool { return plan.Keep[id] }):
		s.claim = claimOrphaned
	case kept || slices.ContainsFunc(holders, func(id workload.Policy) bool { return plan.Keep[id] }):
		s.claim = claimKept
	}
	s.wanted = compareWanted(l.Entry.Was, l.field.Raw, l)
	return s
}

// claimedSituation returns the situation of a claimed field; l is nil without an entry.
func claimedSituation(w *Want, l *TrackedField) situation {
	s := situation{claim: claimLasting, state: FieldUntouched, renewed: no, enforced: answerOf(w.Enforce), honoured: no}
	if w.Once != "" {
		s.claim = claimOnce
	}
	s.wanted = compareWanted(w.Value, w.Field.Raw, l)
	if l != nil {
		s.state, s.renewed, s.honoured = l.State, answerOf(w.Renews(l)), answerOf(w.isHonoured(l))
	}
	return s
}

// Renews reports whether a claim is new: it began after the entry was made, or wants a different value than the entry has
// set.
func (w *Want) Renews(l *TrackedField) bool {
	return w.Since.After(l.Entry.Since) || !path.Same(w.ValueForWas, l.Entry.Set)
}

func compareWanted(value, current string, l *TrackedField) wanted {
	switch {
	case path.Same(value, current):
		return wantedCurrent
	case l != nil && path.Same(value, l.Entry.Was):
		return wantedOriginal
	}
	return wantedOther
}

// isHonoured reports whether a size that is set once was set for this claim before. If the entry's write to /scale was
// lost, the size of the entry's own policy is not set yet, but the sizes of the earlier policies in the entry were.
func (w *Want) isHonoured(l *TrackedField) bool {
	claim := w.onceClaim()
	return w.Resumed || l.Entry.WasSet(claim) && (!l.isLost() || l.Entry.By != claim.By)
}
