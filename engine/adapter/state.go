package adapter

import "flyball.dev/flyball/engine/path"

// fieldState says what a field holds in relation to what Flyball has written there.
type fieldState uint16

const (
	fieldUntouched  fieldState = 1 << iota // there is no entry, and the value is the owner's
	fieldSet                               // Flyball's value, or the one before it if the write to /scale did not come; an original is to be given back
	fieldSetOnce                           // it was set once and left to others; nothing is to be given back
	fieldUnfinished                        // none of these, while a write to /scale is not known to be through
	fieldChanged                           // somebody else has changed what Flyball had set
	fieldAdopted                           // what Flyball had set, and somebody else has written it since
	fieldUnclear                           // its list element may be any of several, or it went where nobody can tell
	fieldUnwritable                        // no adapter could have written it (somebody edited the ledger), or a container on the way is none any more
	fieldGone                              // its list element is not there any more
)

// evidence is everything that the state of a field with an entry depends on. Its parts are bits, so that one row of the state
// table can stand for several combinations.
type evidence struct {
	place   fieldPlace
	content content
	writer  lastWriter
	// once says whether the entry only remembers that the field was set once; pending, whether a write to /scale is not known to be
	// through.
	once, pending answer
}

// fieldPlace says whether the field of an entry is found and can be written.
type fieldPlace uint8

const (
	placeKnown      fieldPlace = 1 << iota // it is, and it can
	placeGone                              // its list element is not there any more
	placeUnclear                           // its list element may be any of several, or it went where nobody can tell
	placeUnwritable                        // it cannot be written
)

// content compares what a field holds with the values of its entry.
type content uint8

const (
	contentPrior content = 1 << iota // what Flyball had set before: the write to /scale did not come
	contentSet                       // what Flyball has set
	contentOther                     // neither
)

// lastWriter says who has written a field last.
type lastWriter uint8

const (
	writerFlyball lastWriter = 1 << iota // Flyball, as far as is known
	writerOther                          // somebody else, as managed fields say
	writerAdopted                        // somebody else, as the entry remembers
)

// stateRow is one line of the state table. A part that is zero stands for every value.
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

// stateOf is the state of the field of an entry.
func (l *ledgerField) stateOf() fieldState {
	e := evidence{place: l.place(), content: contentOther, writer: writerFlyball, once: answerOf(l.entry.Once != ""), pending: answerOf(l.entry.Pending)}
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

// place says whether the field is found and can be written.
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

// isMissing says whether a field that the adapter does not write (any more) has gone, and with it the place of an original. Its owner may
// have removed it; but then, a new version of the kind may have another place for it. That does not happen to metadata.
func (l *ledgerField) isMissing() bool {
	e := &l.entry
	return l.location.kind == inUnwritten && !l.isForeign() && l.field.Text() == "" && e.Set != "" && e.Original() != "" && e.Once == "" &&
		!path.Pointer("/metadata").IsPrefixOf(path.Pointer(e.Pointer))
}

// isForeign says whether an entry speaks of a field that no adapter could have written.
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

// isBehind says whether the field still holds what Flyball had set before: the write to /scale did not come.
func (l *ledgerField) isBehind() bool {
	return l.entry.Pending && l.entry.Prior != "" && same(l.field.Raw, l.entry.Prior)
}

// isLost says of a size that is set once that its own write to /scale did not come: the field holds what was there before.
func (l *ledgerField) isLost() bool {
	return l.isBehind() || l.entry.Pending && same(l.field.Raw, l.entry.Was) && !same(l.entry.Was, l.entry.Set)
}
