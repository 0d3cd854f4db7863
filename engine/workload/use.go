package workload

import "time"

// Use is the knowledge of a target's use, from the answers to a policy's demand. It is immutable.
type Use struct {
	// UID is the UID of the object. The knowledge must not be used for a later object of the same name.
	UID string
	// Last is the last known instant of use; zero: none is known.
	Last time.Time
	// Seen is the newest instant of an answer about the target. From Quiet to Seen the answers are complete, and there was no use
	// after Quiet. A zero Quiet: the newest answer is incomplete.
	Quiet, Seen time.Time
	// Doubt is the reason why the newest answer says nothing about the target; empty: none.
	Doubt string
}
