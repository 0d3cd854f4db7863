// Package runup bridges the time between now and another instant that somebody asks about. The objects that a verb has read are those of
// now: by a later instant the policies have written to them, and at an earlier one they were not as they are.
package runup

import "time"

// Longest is how long before an instant a simulation begins at most. After five weeks each weekly and monthly edge has come once, and no
// batch is open any more: an earlier beginning would only take longer.
const Longest = 35 * 24 * time.Hour

// Start returns the instant at which a simulation begins that is to reach an instant: now, or the instant itself where that is not later.
// A zero now stands for the instant itself.
func Start(now, at time.Time) time.Time {
	now = now.Truncate(time.Second)
	switch {
	case now.IsZero() || !at.After(now):
		return at
	case at.Sub(now) > Longest:
		return at.Add(-Longest)
	}
	return now
}

// Note returns a sentence about an instant before now; it is empty for all others.
func Note(now, at time.Time) string {
	if now.IsZero() || !at.Before(now.Truncate(time.Second)) {
		return ""
	}
	return "hypothetical, and no record of what happened: this is the past, with the policies and objects of now"
}
