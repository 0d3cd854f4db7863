// Package adapter turns an Adapter, which is plain data, into the four operations of the engine on a kind. Project
// makes the small Object that stays in memory for each watched object. Observe returns the owner's wishes. Render turns
// a merged plan into at most one patch, together with the ledger. Classify returns the actions of an edit. The package
// guarantees that every value written by Render is restored exactly, absent fields and absent parents included, unless
// a different writer changed it meanwhile; that an object with an unreadable ledger is never written; and that a value
// of an unexpected type makes a facet unavailable and is never guessed. It is pure: no client, no clock.
//
// Other packages use this one. The packages below have one job each, and import only packages above
// them in this list:
//
//	projection  the small Object of a raw object: fields, list elements, authors of fields
//	compiled    the compiled AdapterSpec: its parts, predicates and numbers, and the actions of an edit
//	ledger      Flyball's changes and the owner's values of an object, and the decision about each field
//
// Decisions (docs/decisions): 0008, 0018, 0021, 0029, 0030, 0041.
package adapter
