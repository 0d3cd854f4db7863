// Package adapter turns an Adapter, which is plain data, into the four things the engine does with a kind: Project makes
// the small Object that is kept of each watched object, Observe says what its owner wants, Render turns what the policies
// agreed on into at most one patch together with the ledger, and Classify says what an edit changes. It promises that
// whatever Render wrote is given back exactly, absent fields and absent parents included, unless somebody else changed it
// meanwhile; that an object with an unreadable ledger is never written; and that a value of an unexpected type makes a
// facet unavailable and is never guessed at. It is pure: no client, no clock.
//
// # How one field is decided
//
// Every field that a plan claims or that the ledger lists is decided on its own. The state table (state.go) says what the field
// holds in relation to its entry. claimedSituation and releasedSituation add who claims it and what is wanted, and the decision
// table (situation.go) has one row for every situation. Each outcome of the table is one function (decide.go). What depends on
// several fields follows: which containers are counted as made (disclaimContainersIn) and which of them go (patch.go).
//
// # Who has written a field
//
// A field that holds what Flyball has set is Flyball's, unless managed fields or the entry's Adopted mark say that somebody else has
// written it since (authors.go): then that is the owner's last word. They also say whether a container that Flyball made
// holds nothing of others. Of a restored object they say nothing.
//
// # List elements
//
// The element of an entry is found by its name, or by its place and value (elements.go). An entry that may be about several
// elements is unclear: it stays until a person has told them apart, and no count of the object is changed meanwhile. A size is a
// matter of all counts or of none.
//
// # A size that is set once
//
// A size for an object whose replicas somebody else governs is set when the claim begins and then left alone. Its entry
// has Once, the value asked for (Set is that inside the governor's bounds), and stands for no original: on release it is
// dropped without a write. It remembers the claims that it was set for before other policies came in between.
//
// # A count behind /scale
//
// The /scale subresource carries no annotations, so the ledger and the count are two writes, whichever way the count
// goes. The ledger comes first, and the entry's Pending mark says that the other one may be missing:
//
//	claim          ledger{was, set, pending}         then  /scale := set     (Patch, Next)
//	another value  ledger{was, set, prior, pending}  then  /scale := set     prior: what was set before
//	release        ledger{was, set, pending}         then  /scale := was
//
// A crash, or a change of mind, may come before, between and after the two. At every point the ledger holds the original
// for as long as the object may hold anything else, and no count that Flyball may have left is taken for somebody else's.
// A count that was absent cannot be given back through /scale: a patch of the object removes it together with the entry. A
// size that is set once keeps the original of a value that lasted until its own write is through.
//
// # A count that must not change
//
// A component of scale whose `when` does not hold of the owner's object is fixed: no size is a claim on it. An entry it
// has is released. Where a size would change nothing else, the object is unable to do what is asked.
//
// Decisions (docs/decisions): 0008, 0018, 0019, 0021, 0029, 0030, 0041.
package adapter
