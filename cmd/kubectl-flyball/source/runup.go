package source

import "time"

// LongestRunUp is the maximum length of a run-up. In five weeks each weekly and monthly transition comes once, and no batch
// stays open. A longer run-up would take more time and change nothing.
const LongestRunUp = 35 * 24 * time.Hour

// RunUp returns the instant at which a simulation up to at begins. A verb reads the current objects, and by a later instant
// the policies will have changed them. The simulation begins now if at is later than now. Otherwise, or
// if now is the zero time, it begins at that instant itself.
func RunUp(now, at time.Time) time.Time {
	now = now.Truncate(time.Second)
	switch {
	case now.IsZero() || !at.After(now):
		return at
	case at.Sub(now) > LongestRunUp:
		return at.Add(-LongestRunUp)
	}
	return now
}

// Hypothetical returns a sentence about an instant before now, when the objects were different. For any other instant it returns "".
func Hypothetical(now, at time.Time) string {
	if now.IsZero() || !at.Before(now.Truncate(time.Second)) {
		return ""
	}
	return "hypothetical, and no record of what happened: this is the past, with the policies and objects of now"
}
