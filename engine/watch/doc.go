// Package watch keeps the watched objects of the cluster as projections: for every kind one reflector whose decoder turns
// the raw JSON of an object straight into a workload.Object, so that an object which is watched costs what the projection
// keeps and nothing of the rest is ever built. It promises: one list and one watch per projection however many consumers
// share it, streamed where the server can; callbacks in order, each change once, none where the resourceVersion did not
// change, a deletion for everything that vanished while the connection was down; recovery by itself when the API server or
// the kind itself goes and comes back, at the latest ten seconds later; no polling and no resync; and that one object that
// cannot be projected never stops the others. It decides nothing and writes nothing.
package watch
