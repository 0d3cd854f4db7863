// Package timeline evaluates times: windows, cron pairs and calendars. A Timeline is a function from instants to on or
// off. It returns the state at an instant with the begin and end of the state, and the next change. Answers are
// computed from the rules themselves (cron fields, the Gregorian calendar, the zone's transitions), never by walking
// back over a limited time, so a yearly pair or a 29 February window is as exact as a daily one. A change is a change
// of the merged result: windows that touch or overlap have no transition between them. Intervals are half-open, [start, end).
// The package has no clock: the instant is always an argument.
//
// Local wall-clock rules. A transition named by a wall-clock reading happens at the first instant when the zone's clock
// shows that reading or a later one. So a transition inside a spring-forward gap happens at the end of the gap, and a transition
// inside a fall-back fold happens once, at its first occurrence. Transitions that the gap pushes to the same instant keep
// their wall-clock order: the last of them decides. The only exception is a window whose cron names every hour of the
// day: it opens in both occurrences of a repeated hour, because its author cannot mean only one of them. Events of calendar files
// follow RFC 5545 instead.
//
// Decisions (docs/decisions): 0006, 0053.
package timeline

import "time"

// Timeline is on or off at every instant. It is immutable and safe for concurrent use; the zero Timeline is never on.
// Instants are resolved to whole seconds. Time begins with 1970 and ends with 9999.
type Timeline struct {
	root node
	text string
}

// Span is the state at one instant.
type Span struct {
	// Active reports whether the timeline is on.
	Active bool
	// Since is the instant of the last change, at or before the given instant. Zero: the state has always been the
	// same.
	Since time.Time
	// Until is the instant of the next change, after the given instant. Zero: the state never changes.
	Until time.Time
	// Name is the window, calendar entry or pair transition ("upscale", "downscale") that causes the state. It is empty if
	// there is no such cause, as between windows.
	Name string
}

// At returns the state at the instant.
func (t Timeline) At(at time.Time) Span {
	u := toSeconds(at)
	n := t.node()
	on, label := n.state(u)
	_, until := n.transition(u, forward)
	_, since := n.transition(u, backward)
	return Span{Active: on, Since: toTime(since), Until: toTime(until), Name: label}
}

// Next returns the first change of state strictly after the instant, and false if nothing ever changes again.
func (t Timeline) Next(after time.Time) (time.Time, bool) {
	_, transition := t.node().transition(toSeconds(after), forward)
	return toTime(transition), isInstant(transition)
}

// String returns a short phrase for traces and messages, such as
// "window nights: Mon-Fri 20:00-08:00 Europe/Skopje".
func (t Timeline) String() string {
	if t.root == nil {
		return "never"
	}
	return t.text
}

func (t Timeline) node() node {
	if t.root == nil {
		return never{}
	}
	return t.root
}

// node is a rule of a timeline. Instants are seconds since the Unix epoch. A rule of the clock face takes wall-clock
// readings instead of instants; a wall turns it into a rule of instants.
type node interface {
	// state returns whether the rule is on at the instant, and the responsible label.
	state(at int64) (on bool, label string)
	// transition returns the state at the instant, and a transition of the state's run. With forward, the transition is the first
	// instant after the run. With backward, it is the first instant of the run.
	transition(at int64, d direction) (on bool, transition int64)
}

type never struct{}

func (never) state(int64) (bool, string)                    { return false, "" }
func (never) transition(_ int64, d direction) (bool, int64) { return false, d.farthest() }

type direction int8

const (
	forward direction = iota
	backward
)

// forever and always stand for transitions that do not exist. Time begins at the Unix epoch, which spares policies the local
// mean times of the nineteenth century. Time ends with the year 9999, the last year that RFC 3339 can write. Transitions
// outside this time count as missing, and instants outside as the nearest instant inside.
const (
	forever = int64(1)<<62 - 1
	always  = -forever

	earliest = int64(0)            // 1970-01-01T00:00:00Z
	latest   = int64(253402300800) // 10000-01-01T00:00:00Z
)

func (d direction) farthest() int64 {
	if d == forward {
		return forever
	}
	return always
}

func (d direction) nearer(a, b int64) int64 {
	if d == forward {
		return min(a, b)
	}
	return max(a, b)
}

// beyond returns the instant directly outside a transition, in the direction. A backward transition is the first instant of a run,
// so the instant before it is outside.
func (d direction) beyond(transition int64) int64 {
	if d == forward {
		return transition
	}
	return transition - 1
}

func isInstant(u int64) bool { return u > earliest && u < latest }

func toSeconds(t time.Time) int64 { return min(max(t.Unix(), earliest), latest) }

func toTime(u int64) time.Time {
	if !isInstant(u) {
		return time.Time{}
	}
	return time.Unix(u, 0).UTC()
}
