package adapter

import "flyball.dev/flyball/engine/path"

// fieldState is the state of a field relative to Flyball's writes.
type fieldState uint16

const (
	fieldUntouched fieldState = 1 << iota // there is no entry, and the value is the owner's
	// Flyball's value, or its earlier value if the write to /scale was lost; an original is to be restored
	fieldSet
	fieldSetOnce    // it was set once and left to others; nothing is to be restored
	fieldUnfinished // a different value, while a write to /scale may be incomplete
	fieldChanged    // another writer has changed Flyball's value
	fieldAdopted    // Flyball's value, written again by another writer since
	fieldUnclear    // its list element may be any of several, or its new place is unknown
	// no adapter could have written it (the ledger was edited), or a value on the way is no longer a container
	fieldUnwritable
	fieldGone // its list element is gone
)

// evidence has everything that determines the state of a field with an entry. Its parts are bits, so that one row of
// the state table can stand for several combinations.
type evidence struct {
	place   fieldPlace
	content content
	writer  lastWriter
	// once is yes if the entry only records that the field was set once. pending is yes if a write to /scale may be
	// incomplete.
	once, pending answer
}

// fieldPlace reports whether the field of an entry is found and can be written.
type fieldPlace uint8

const (
	placeKnown      fieldPlace = 1 << iota // it is found and can be written
	placeGone                              // its list element is gone
	placeUnclear                           // its list element may be any of several, or its new place is unknown
	placeUnwritable                        // it cannot be written
)

// content compares the value of a field with the values of its entry.
type content uint8

const (
	contentPrior content = 1 << iota // Flyball's earlier value: the write to /scale was lost
	contentSet                       // Flyball's value
	contentOther                     // neither
)

// lastWriter is the last writer of a field.
type lastWriter uint8

const (
	writerFlyball lastWriter = 1 << iota // Flyball, as far as is known
	writerOther                          // another manager, by managed fields
	writerAdopted                        // another manager, by the entry
)

// stateRow is a line of the state table. A part that is zero stands for every value.
type stateRow struct {
	evidence
	state fieldState
}

// stateTable has exactly one row for every combination of evidence.
var stateTable = []stateRow{
	{evidence{place: placeGone}, fieldGone},
	{evidence{place: placeUnclear}, fieldUnclear},
	{evidence{place: placeUnwritable}, fieldUnwritable},

	{evidence{place: placeKnown, content: contentPrior}, fieldSet},
	{evidence{place: placeKnown, content: contentSet | contentOther, once: yes}, fieldSetOnce},
	{evidence{place: placeKnown, content: contentSet, once: no, writer: writerFlyball}, fieldSet},
	{evidence{place: placeKnown, content: contentSet, once: no, writer: writerOther | writerAdopted}, fieldAdopted},
	{evidence{place: placeKnown, content: contentOther, once: no, writer: writerAdopted}, fieldChanged},
	{evidence{place: placeKnown, content: contentOther, once: no, writer: writerFlyball | writerOther, pending: yes}, fieldUnfinished},
	{evidence{place: placeKnown, content: contentOther, once: no, writer: writerFlyball | writerOther, pending: no}, fieldChanged},
}

func (r *stateRow) covers(e evidence) bool {
	return includes(r.place, e.place) && includes(r.content, e.content) && includes(r.writer, e.writer) && includes(r.once, e.once) &&
		includes(r.pending, e.pending)
}

func stateFor(e evidence) fieldState {
	for i := range stateTable {
		if stateTable[i].covers(e) {
			return stateTable[i].state
		}
	}
	panic("the state table has no row for some evidence") // a test walks all of it
}

// stateOf returns the state of an entry's field.
func (l *ledgerField) stateOf() fieldState {
	e := evidence{place: l.place(), content: contentOther, writer: writerFlyball, once: answerOf(l.entry.Once != ""),
		pending: answerOf(l.entry.Pending)}
	switch {
	case l.isBehind():
		e.content = contentPrior
	case sameValue(l.field.Raw, l.entry.Set, l.amount):
		e.content = contentSet
	}
	switch {
	case l.entry.Adopted:
		e.writer = writerAdopted
	case l.author.Other:
		e.writer = writerOther
	}
	return stateFor(e)
}

// place reports whether the field is found and can be written.
func (l *ledgerField) place() fieldPlace {
	switch {
	case l.location.kind == nowhere:
		return placeGone
	case l.location.kind == unclear, l.isMissing():
		return placeUnclear
	case l.field.Depth == blocked, l.isForeign():
		return placeUnwritable
	}
	return placeKnown
}

// isMissing reports whether the field is gone, for a field that the adapter does not write (any more). Then the place
// for its original is unknown: its owner may have removed the field, but a new version of the kind may also have moved
// it. Metadata does not move.
func (l *ledgerField) isMissing() bool {
	e := &l.entry
	return l.location.kind == inUnwritten && !l.isForeign() && l.field.Text() == "" && e.Set != "" && e.Original() != "" && e.Once == "" &&
		!path.Pointer("/metadata").IsPrefixOf(path.Pointer(e.Pointer))
}

// isForeign reports whether no adapter could have written an entry's field.
func (l *ledgerField) isForeign() bool {
	if l.location.kind != inUnwritten {
		return false
	}
	var steps []path.Step
	for _, t := range path.Pointer(l.entry.Pointer).Tokens() {
		steps = append(steps, path.Step{Kind: path.Field, Name: t})
	}
	return len(steps) < 2 || forbidden(steps) != ""
}

// isBehind reports whether the field still has Flyball's earlier value, because the write to /scale was lost.
func (l *ledgerField) isBehind() bool {
	return l.entry.Pending && l.entry.Prior != "" && same(l.field.Raw, l.entry.Prior)
}

// isLost reports whether the write to /scale of a size that is set once was lost: the field has the value from before
// this write.
func (l *ledgerField) isLost() bool {
	return l.isBehind() || l.entry.Pending && same(l.field.Raw, l.entry.Was) && !same(l.entry.Was, l.entry.Set)
}
