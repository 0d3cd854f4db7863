// Package server serves admission reviews over TLS, on every replica. Its certificates and its path (package
// credential) are stored in a Secret, and the webhook configurations (package registration) know them at every moment,
// whichever replica answers. It answers only requests with that path, with bounded memory and time (package gate). A
// replica that is asked to stop loses no request. Its tests are in package admit, which runs it with that package's
// handlers.
package server
