// Package admit is the admission server: it answers the API server's webhooks over TLS, on every replica. It promises
// that Flyball's own kinds are refused at apply with the field named when a validator says so; that whoever creates or
// edits an Adapter or a policy holds themselves the rights that it makes Flyball use; that finalizers can always be removed; that
// its certificates and its path (package credential), kept in a Secret, are at every moment known to the webhook configurations
// (package registration), whichever replica answers; that it answers only who knows that path, and takes a bounded amount of
// memory and time whatever it is sent (package gate); and that a replica that is told to stop loses no request.
// Handlers for other kinds, such as freezes, are added to the same server by path.
package admit
