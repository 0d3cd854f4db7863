// Package admit is the admission server: it answers the API server's webhooks over TLS, on every replica. It promises
// that Flyball's own kinds are refused at apply with the field named when a validator says so; that whoever creates or
// edits an Adapter holds themselves the rights the adapter makes Flyball use; that finalizers can always be removed; that
// its certificates, made and rotated by itself and kept in a Secret, are at every moment trusted by the webhook
// configurations, whichever replica answers and however far a configuration or a replica lags behind within the overlap, and
// that those from a directory are served as they are; that it answers only who knows the secret part of its path, and takes a
// bounded amount of memory and time whatever it is sent; that who may only write status cannot change the ledger; and that a
// replica that is told to stop loses no request. Handlers for other kinds,
// such as freezes, are added to the same server by path.
package admit
