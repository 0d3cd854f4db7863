// Package serve answers admission reviews over TLS, on every replica. Its certificates are stored in a Secret, or read
// from the files of another issuer. The webhook configurations (package register) trust the certificates of all
// replicas at every moment. The memory and time of reviews are limited (package review). A stopping replica loses no
// request. The tests are in package admission, with the handlers.
//
// Decisions (docs/decisions): 0015.
package serve
