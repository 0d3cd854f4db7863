// Package server serves admission reviews over TLS, on every replica. Its certificates (package credential) are stored
// in a Secret, and the webhook configurations (package registration) know their authorities at every moment, whichever
// replica answers. Memory and time of reviews are bounded (package limits). A stopping replica loses no request. The
// tests are in package admit, with the handlers of package admit.
//
// Decisions (docs/decisions): 0015.
package server
