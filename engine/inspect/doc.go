// Package inspect asks the live API server whether an adapter can work: whether its kind is served and how (Serve), whether
// each of its paths exists with the right type in the published OpenAPI schema (MatchSchema), and whether Flyball holds the
// rights it needs (Authorize). Each shortcoming is data that names the adapter's field and says what to do; an error means that
// the server could not be asked. A request touches only the API group that it is about, so a broken aggregated API elsewhere
// cannot make it fail. Answers are kept only for as long as the server vouches for them. A Watcher says when an answer may have
// changed, because a CustomResourceDefinition or an APIService came, changed or went.
package inspect
