// Package path is the path grammar of adapters: it says where in a Kubernetes object a value lives, reads it from the
// raw JSON without decoding the object, and names it as an RFC 6901 pointer for writing. The grammar is the kubectl
// JSONPath subset
//
//	.a.b   .a\.b   ['k']   ["k"]   [0]   [*]   [?(@.k=="v")]   [?(@.a.b!=3)]
//
// with an optional leading $ and optional surrounding braces. Every other form (recursion, slices, unions, scripts,
// negative indexes) is refused with the column and the right form.
//
// Guarantees of every read:
//
//   - One walk of the text serves any number of paths (Set.Extract); subtrees that no path enters are skipped, not
//     decoded.
//   - Broken JSON is never mistaken for an absent value: a text that is empty, truncated or malformed where the walk
//     looks is answered with a *SyntaxError and no match at all. Subtrees that no path enters are checked for balance
//     only. Nothing panics.
//   - Where an object repeats a key, the first member counts, in every function of the package. (API servers never
//     send such objects, so the choice only has to be the same everywhere.)
//   - Keys and strings are compared after their escapes are resolved, numbers by exact decimal value.
//
// The package has no state of its own and reads no clock; Path, Pointer, Value and *Set are safe for concurrent use.
//
// Decisions (docs/decisions): 0001.
package path
