// Package credential has the certificate of the admission server: issued and rotated by the server itself, or read from
// the files of another issuer. A new certificate is trusted for the overlap before it is served, and the old one stays
// trusted until it expires, so a replica or API server with a delay below the overlap is never refused. The rotation is
// a function of the stored state and the time; the package does not access the API server.
//
// Decisions (docs/decisions): 0015.
package credential
