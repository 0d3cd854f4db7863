package ledger

import (
	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// FieldState is the state of a field relative to Flyball's writes.
type FieldState uint16

// States of fields.
const (
	// FieldUntouched is a field without an entry: the value is the owner's.
	FieldUntouched FieldState = 1 << iota
	// FieldSet is a field with Flyball's value, or with Flyball's earlier value if the write to /scale was lost. An original
	// is to be restored.
	FieldSet
	// FieldSetOnce is a field set once and left to others. Nothing is to be restored.
	FieldSetOnce
	// FieldUnfinished is a field with a different value, while a write to /scale may be incomplete.
	FieldUnfinished
	// FieldChanged is a field changed by another writer.
	FieldChanged
	// FieldAdopted is a field with Flyball's value, written again by another writer since.
	FieldAdopted
	// FieldUnclear is a field whose list element may be any of several, or has an unknown new place.
	FieldUnclear
	// FieldUnwritable is a field never written by an adapter (the ledger was edited), or a value on the way is no longer a
	// container.
	FieldUnwritable
	// FieldGone is a field of a removed list element.
	FieldGone
)

// stateOf returns the state of an entry's field.
func (l *TrackedField) stateOf() FieldState {
	isSet := workload.SameValue(l.field.Raw, l.Entry.Set, l.amount)
	switch {
	case l.Location.Kind == projection.Nowhere:
		return FieldGone
	case l.Location.Kind == projection.Unclear, l.isMissing():
		return FieldUnclear
	case l.field.Depth == projection.Blocked, l.isForeign():
		return FieldUnwritable
	case l.isBehind():
		return FieldSet
	case l.Entry.Once != "":
		return FieldSetOnce
	case isSet && (l.Entry.Adopted || l.author.Other):
		return FieldAdopted
	case isSet:
		return FieldSet
	case l.Entry.Pending && !l.Entry.Adopted:
		return FieldUnfinished
	}
	return FieldChanged
}

// isMissing reports whether the field is gone, for a field that the adapter does not write (any more). Then the place
// for its original is unknown: its owner may have removed the field, but a new version of the kind may also have moved
// it. Metadata does not move.
func (l *TrackedField) isMissing() bool {
	e := &l.Entry
	return l.Location.Kind == projection.InUnwritten && !l.isForeign() && l.field.Text() == "" && e.Set != "" && e.Original() != "" &&
		e.Once == "" &&
		!path.Pointer("/metadata").IsPrefixOf(path.Pointer(e.Pointer))
}

// isForeign reports whether no adapter could have written an entry's field.
func (l *TrackedField) isForeign() bool {
	if l.Location.Kind != projection.InUnwritten {
		return false
	}
	var steps []path.Step
	for _, t := range path.Pointer(l.Entry.Pointer).Tokens() {
		steps = append(steps, path.Step{Kind: path.Field, Name: t})
	}
	return len(steps) < 2 || compiled.Forbidden(steps) != ""
}

// isBehind reports whether the field still has Flyball's earlier value, because the write to /scale was lost.
func (l *TrackedField) isBehind() bool {
	return l.Entry.Pending && l.Entry.Prior != "" && path.Same(l.field.Raw, l.Entry.Prior)
}

// isLost reports whether the write to /scale of a size that is set once was lost: the field has the value from before
// this write.
func (l *TrackedField) isLost() bool {
	return l.isBehind() || l.Entry.Pending && path.Same(l.field.Raw, l.Entry.Was) && !path.Same(l.Entry.Was, l.Entry.Set)
}
