// Package server serves admission reviews over TLS, on every replica. Its certificates are stored in a Secret, or read
// from the files of another issuer. The webhook configurations (package registration) trust the certificates of all
// replicas at every moment. The memory and time of reviews are limited (package limits). A stopping replica loses no
// request. The tests are in package admit, with the handlers of package admit.
//
// Decisions (docs/decisions): 0015.
package server
