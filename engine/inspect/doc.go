// Package inspect asks the live API server whether an adapter can work: whether its kind is served and how (Serve),
// whether each of its paths exists with the right type in the published OpenAPI schema (MatchSchema), and whether
// Flyball holds the needed rights (Authorize).
//
// Each fault is data with the adapter's field and the remedy; an error means the server could not be asked. A
// request touches only its own API group, so a broken aggregated API elsewhere does not matter. Answers are kept only
// as long as the server vouches for them. A Watcher reports possible changes of answers after a
// CustomResourceDefinition or an APIService was created, changed or deleted.
//
// Decisions (docs/decisions): 0043.
package inspect
