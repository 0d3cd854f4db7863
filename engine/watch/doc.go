// Package watch keeps the watched objects of the cluster as projections. Every kind has one reflector, whose decoder turns the
// raw JSON of an object straight into a workload.Object: the rest of the object is never built. Consumers of one projection share
// one list and one watch, streamed where the server can. Callbacks come in order and each change comes once; there is none where
// the resourceVersion did not change, and there is a deletion for everything that vanished while the connection was down. A watch
// recovers by itself, at the latest ten seconds after the API server or the kind is back. There is no polling and no resync. One
// object that cannot be projected never stops the others. The package decides nothing and writes nothing.
package watch
