// Package server serves admission reviews over TLS, on every replica. Its certificates and its path (package
// credential) are stored in a Secret, and the webhook configurations (package registration) know them at every moment,
// whichever replica answers. It answers only requests with the secret path, with bounded memory and time (package
// gate). A stopping replica loses no request. The tests are in package admit, with the handlers of package admit.
//
// Decisions (docs/decisions): 0016.
package server
