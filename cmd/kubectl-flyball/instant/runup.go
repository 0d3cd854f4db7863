// Package runup bridges the time between now and another instant. A verb reads the current objects. By a later
// instant the policies will have changed them, and at an earlier instant they were different.
package runup

import "time"

// Longest is the maximum length of a run-up. In five weeks each weekly and monthly transition comes once, and no batch
// stays open. A longer run-up would take more time and change nothing.
const Longest = 35 * 24 * time.Hour

// Start returns the instant at which a simulation up to at begins. It is now if at is later than now. Otherwise, or if
// now is the zero time, it is at itself.
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

// Note returns a sentence about an instant before now. For any other instant it returns "".
func Note(now, at time.Time) string {
	if now.IsZero() || !at.Before(now.Truncate(time.Second)) {
		return ""
	}
	return "hypothetical, and no record of what happened: this is the past, with the policies and objects of now"
}
