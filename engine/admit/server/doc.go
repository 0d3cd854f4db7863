// Package server serves admission reviews over TLS, on every replica. It promises that its certificates and its path (package
// credential), kept in a Secret, are at every moment known to the webhook configurations (package registration), whichever
// replica answers; that it answers only who knows that path, and takes a bounded amount of memory and time whatever it is sent
// (package gate); and that a replica that is told to stop loses no request. Its tests are those of package admit, which run it
// with that package's handlers.
package server
