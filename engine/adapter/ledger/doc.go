// Package ledger separates Flyball's changes of an object from its owner's values, and decides the outcome for each field
// that a plan claims or that the ledger lists. A View is one object with its ledger.
//
// # How one field is decided
//
// Every field that a plan claims or that the ledger lists is decided on its own. TrackedField.stateOf
// compares the value of the field with its entry. claimedSituation and releasedSituation add the claim and the wanted value,
// and the decision table (decision_table.go) has one row for every situation. Each outcome of the table is one function
// (decide.go). The last step covers several fields: it decides which containers still count as made by Flyball
// (disclaimContainersIn), and which containers are removed (package render).
//
// # The author of a field
//
// A field with the value that Flyball has set is Flyball's, unless managed fields or the entry's Adopted mark prove a
// later write by a different manager (package projection). Then the value is the owner's. Managed fields also prove whether a
// container that Flyball made has content of other writers. For a restored object they prove nothing.
//
// # List elements
//
// The element of an entry is found by its name, or by its place and value (package projection). An entry that may belong to
// several elements is unclear: it stays until a person has resolved it, and no count of the object is changed
// meanwhile. A size changes all counts or none.
//
// # A size that is set once
//
// A size for an object with an autoscaler is set when the claim begins and then left alone. Its entry has Once, the
// claimed value (Set is the value inside the autoscaler's bounds), and no original: on release it is dropped without a
// write. The entry also records earlier claims whose size was set before other policies came in between.
//
// # A count behind /scale
//
// The /scale subresource carries no annotations, so the ledger and the count are two writes, whichever way the count
// goes. The ledger comes first, and the entry's Pending mark means the other write may be missing:
//
//	claim          ledger{was, set, pending}         then  /scale := set     (Patch, Next)
//	another value  ledger{was, set, prior, pending}  then  /scale := set     prior: the value set before
//	release        ledger{was, set, pending}         then  /scale := was
//
// A crash, or a changed claim, may come before, between or after the two writes. At every point the ledger holds the
// original if the object may hold any other value. A count that Flyball may have left is never taken for another
// writer's. A count that was absent cannot be restored through /scale: a patch of the object removes it together with
// the entry. A size that is set once keeps the original of a lasting value until its own write is complete.
//
// # A count that must not change
//
// A component of scale is fixed if its `when` does not hold for the owner's object: a size does not claim its count. An
// existing entry is released. If all counts are fixed, and a size would change one of them, the object is unable to take
// the size.
package ledger
