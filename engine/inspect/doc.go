// Package inspect asks the live API server whether an adapter can work: whether its kind is served and how (Serve),
// whether each of its paths exists with the right type in the published OpenAPI schema (MatchSchema), and whether
// Flyball holds the rights it needs (Authorize). It promises that each shortcoming is answered as data that names the
// adapter's field and what to do, and that only a failed question is an error; that a question touches only the API
// group it is about, so that a broken aggregated API elsewhere cannot make it fail; and that nothing it was told is
// kept longer than the server vouches for it. A Watcher says when an answer may have changed, because a
// CustomResourceDefinition or an APIService came, changed or went.
package inspect
