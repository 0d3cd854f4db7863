// Package factory makes the verbs of kubectl flyball. Its Factory owns the streams, the connection, the time zone and the world, and
// its Verb is the shape of every verb: a verb's package has Options with Complete, Validate and Run.
package factory
