// Package watch keeps the watched objects of the cluster as projections. Every kind has one reflector, whose decoder
// turns the raw JSON of an object directly into a workload.Object: the rest of the object is never built. Consumers of
// one projection share one list and one watch, streamed if the server can.
//
// Callbacks come in order and each change comes once. An unchanged resourceVersion causes no callback, and every object
// that vanished while the connection was down causes a deletion. A watch recovers within ten seconds after the API
// server or the kind is back. There is no polling and no resync. An object that cannot be projected never stops the
// others. The package decides nothing and writes nothing.
//
// Decisions (docs/decisions): 0003.
package watch
