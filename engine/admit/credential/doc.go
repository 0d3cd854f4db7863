// Package credential is how API servers know the admission server, and how it knows them: certificates with their authorities, and
// the secret part of its path. It promises that whatever is replaced was announced for the overlap before it is used, and counts
// for the overlap afterwards, so that a server or an API server that lags behind within the overlap is never refused. Both
// protocols are functions of what is stored, the time, and since when it is announced; nothing here reads or writes the API server.
package credential
