// Package inspect asks the live API server whether an adapter can work: whether its kind is served and how (Serve),
// whether each of its paths exists with the right type in the published OpenAPI schema (MatchSchema), and whether
// Flyball holds the needed rights (Authorize).
//
// A fault of an adapter is returned as data, with the field of the adapter and the remedy. An error means that the
// server could not be asked. A request touches only its own API group, so a broken aggregated API elsewhere does not
// matter. An answer is kept only while the hash in the server's index stays the same.
//
// Decisions (docs/decisions): 0043.
package inspect
