// Package credential authenticates the admission server and API servers to each other, by certificates with their
// authorities and by the secret part of the server's path. Each replacement is announced for the overlap before its
// first use, and the replaced credential stays valid for the overlap afterwards, so that a replica or API server with a
// delay below the overlap is never refused. Both protocols are functions of the stored state, the time, and the time of
// the announcement; the package does not access the API server.
//
// Decisions (docs/decisions): 0015.
package credential
