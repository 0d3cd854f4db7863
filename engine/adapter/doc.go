// Package adapter turns an Adapter, which is plain data, into the four things the engine does with a kind: Project makes
// the small Object that is kept of each watched object, Observe says what its owner wants, Render turns what the policies
// agreed on into at most one patch together with the ledger, and Classify says what an edit changes. It promises that
// whatever Render wrote is given back exactly, absent fields and absent parents included, unless somebody else changed it
// meanwhile; that an object with an unreadable ledger is never written; and that a value of an unexpected type makes a
// facet unavailable and is never guessed at. It is pure: no client, no clock.
//
// # How one field is decided
//
// Every field that a plan claims or that the ledger lists is decided on its own (decide.go). Let v be the value wanted,
// c the value in the object and e the ledger entry.
//
//	claim  entry  object      outcome
//	yes    none   c == v      nothing: the owner has it so already, and no entry is written
//	yes    none   c != v      write v; entry{was: c, set: v}
//	yes    e      c == e.set  v == e.set: nothing; v == e.was: give back; else write v and keep e.was
//	yes    e      c != e.set  somebody else changed it. New transition (a later Since, or another wish): their value is the
//	                          new original. Same transition: Enforce writes again, otherwise their value is respected
//	no     e      any         e.By is orphaned: drop the entry; e.By is kept: leave both as they are
//	no     e      c == e.set  give e.was back, drop the entry
//	no     e      c != e.set  drop the entry: their value stands
//
// # A value that is set once
//
// A size for an object whose replicas somebody else governs is set when the claim begins and then left alone. Its entry
// has Once, the value asked for (Set is that inside the governor's bounds), and stands for no original: in the table above
// it counts as none, and on release it is dropped without a write.
//
//	claim    entry                                                      outcome
//	once     none, one that lasts, another policy's, another value's,   write v; entry{once, set: v, interrupted: those before}
//	         or of an earlier claim
//	once     of this policy and value, of this claim or a later one     nothing, whatever the object has
//	once     the same, in its list of interrupted ones                  nothing; the entry is this claim's again
//	resumed  with once                                                  nothing; the entry is this claim's
//	resumed  any other, or none                                         as if nothing were claimed
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
// A crash, or a change of mind, may come before, between and after the two. The claim of the moment and the count say how
// to go on from an entry that is pending, and none of the counts that Flyball may have left is taken for somebody else's:
//
//	c == set    claimed: the mark goes              not claimed: /scale := was
//	c == was    claimed: /scale := set              not claimed: the entry goes
//	c == prior  as if set had never been meant: entry{was, set: prior}
//	any other   claimed: it is the new original     not claimed: the entry goes, and it stands
//
// At every point the ledger holds the original for as long as the object may hold anything else. A count that was absent
// cannot be given back through /scale; it is removed by a patch of the object, with the entry. A size that is set once
// keeps the original of a value that lasted until its own write is through.
//
// # A count that must not change
//
// A component of scale whose `when` does not hold of the owner's object is fixed: no size is a claim on it, so that an
// entry it has is released, and where a size would change nothing else the object is unable to do what is asked.
package adapter
