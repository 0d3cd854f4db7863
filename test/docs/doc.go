// Package docs runs the commands in the documents. Every command block of every page runs, in order, against a local
// control plane with the manager, and must print the documented output. Commands that cannot run here are listed with
// the reason.
package docs
