// Package demand decides by the use of targets. A demand is a PromQL query with a series for each target. A target is used while
// its demand is above a limit. It is idle only if complete answers over the whole time prove it: a missing answer is no proof.
//
// Decisions (docs/decisions): 0055.
package demand

import (
	"math"
	"time"

	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Rule is a compiled rule by the use of targets.
type Rule struct {
	// Namespace is the namespace of the policy. Series of other namespaces do not count. Empty: all namespaces count.
	Namespace string
	// Text is the demand. NamespaceLabel and NameLabel are the labels that name a target.
	Text                      string
	NamespaceLabel, NameLabel string
	// Above is the largest demand that is no use.
	Above float64
	// AsleepAfter is the time without use after which a target sleeps. AwakeAtLeast is the same inside windows.
	AsleepAfter, AwakeAtLeast time.Duration
	// Interval is the time between two queries.
	Interval time.Duration
	// AbsentIdle is true if a target without a series is not used. InWindows is true if use wakes targets inside windows.
	AbsentIdle, InWindows bool
}

// Fresh is the time for which an answer counts.
func (r *Rule) Fresh() time.Duration { return 2 * r.Interval }

// Whole returns the last instant of a subquery of the demand before now. Prometheus evaluates it at multiples of the interval.
func (r *Rule) Whole(now time.Time) time.Time {
	return time.UnixMilli(now.UnixMilli() - now.UnixMilli()%r.Interval.Milliseconds())
}

// LongestWait is the longest time from the first demand to the write that wakes the target. The scrape interval is at most the interval.
func (r *Rule) LongestWait() time.Duration { return 2*r.Interval + time.Second }

// Answer is the decision about a target.
type Answer struct {
	// Class is Awake, Sleep or Keep. Since is the begin of Sleep; zero: unknown.
	Class workload.Class
	Since time.Time
	// Wake is the earliest instant of another answer; zero: only another use changes it.
	Wake time.Time
	// Text is the explanation.
	Text string
}

// At returns the decision at an instant. A nil use is unknown. The target counts as used at the instant awake, such as its creation
// or the end of a window. inWindow is true inside a window.
func (r *Rule) At(u *workload.Use, now, awake time.Time, inWindow bool) Answer {
	after := r.AsleepAfter
	if inWindow {
		after, awake = r.AwakeAtLeast, time.Time{}
	}
	last, what := awake, "counts as used at "
	if u != nil && u.Last.After(last) {
		last, what = u.Last, "last used at "
	}
	until := last.Add(after)
	if !last.IsZero() && now.Before(until) {
		return Answer{Class: workload.ClassAwake, Wake: until,
			Text: what + clock(last) + "; asleep from " + clock(until) + " unless somebody uses it"}
	}
	keep := Answer{Class: workload.ClassKeep}
	switch {
	case u == nil:
		keep.Text = "its use is unknown yet, or here without --prometheus"
	case u.Doubt != "":
		keep.Text = u.Doubt
	case u.Quiet.IsZero() || now.Sub(u.Seen) > r.Fresh():
		keep.Text = "the last complete answer about it is of " + clock(u.Seen)
	default:
		quiet := timeline.Later(u.Quiet, awake)
		due := quiet.Add(after)
		if !u.Seen.Before(due) {
			a := Answer{Class: workload.ClassSleep, Text: "not used since " + clock(quiet) + ", at least"}
			if !last.IsZero() {
				a.Since = until
			}
			return a
		}
		keep.Wake = timeline.Later(due, now).Add(r.Interval)
		keep.Text = "no use is known since " + clock(quiet) + "; asleep from " + clock(due) + " unless somebody uses it"
	}
	keep.Text += ": it stays as it is"
	return keep
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "no known time"
	}
	return t.UTC().Format(time.RFC3339)
}

// Value is the meaning of an answer for a target.
type Value uint8

// Values, in the order of precedence of several series of a target.
const (
	// Missing: there is no series.
	Missing Value = iota
	Quiet
	// Unknown: a part of the demand vanished, or the value is no number.
	Unknown
	Used
)

// Doubt returns the reason why a meaning proves nothing; empty: it proves use, or none.
func (v Value) Doubt() string {
	switch v {
	case Missing:
		return "the demand has no series for it"
	case Unknown:
		return "a part of its demand has vanished or come, or is no number"
	}
	return ""
}

// Of returns the meaning of a number.
func (r *Rule) Of(v float64) Value {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Unknown
	case v > r.Above:
		return Used
	}
	return Quiet
}

// Observe returns the use after an answer. The answer is that of the time span before the instant at, and zero for the instant
// alone. gap is the longest time between two successive answers. Late and repeated answers add nothing but use.
func Observe(u workload.Use, at time.Time, span time.Duration, v Value, gap time.Duration) workload.Use {
	switch v {
	case Used:
		if !u.Quiet.IsZero() || at.After(u.Seen) {
			u.Quiet = timeline.Later(u.Quiet, at)
		}
		// The use was at any instant of the span. Last is the first of them, and Quiet the last, so that a target is neither awake
		// nor asleep by use that is not proven.
		u.Last, u.Seen = timeline.Later(u.Last, at.Add(-span)), timeline.Later(u.Seen, at)
	case Quiet:
		if !at.After(u.Seen) {
			return u
		}
		if u.Quiet.IsZero() || at.Sub(u.Seen) > gap {
			u.Quiet = at
		}
		u.Seen = at
	default:
		if !at.Before(u.Seen) {
			u.Quiet = time.Time{}
		}
	}
	return u
}

// Begins reports whether the time without use of a target may have begun before Quiet. gap is as in Observe.
func Begins(u workload.Use, gap time.Duration) bool {
	return !u.Quiet.IsZero() && u.Last.Before(u.Quiet.Add(-gap))
}

// Join returns the use with the knowledge of an earlier time. gap is as in Observe.
func Join(earlier, u workload.Use, gap time.Duration) workload.Use {
	if Begins(u, gap) && !earlier.Quiet.IsZero() && u.Quiet.Sub(earlier.Seen) <= gap {
		u.Quiet = earlier.Quiet
	}
	u.Last = timeline.Later(u.Last, earlier.Last)
	return u
}
