package demand_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

var rule = demand.Rule{AsleepAfter: time.Hour, AwakeAtLeast: 10 * time.Minute, Interval: time.Minute, InWindows: true}

func TestTargetsAreAwakeByUseAndAsleepByProof(t *testing.T) {
	for name, c := range map[string]struct {
		use      *workload.Use
		awake    time.Time
		inWindow bool
		class    workload.Class
		since    time.Time
		wake     time.Time
		text     string
	}{
		"unknown": {class: workload.ClassKeep, text: "its use is unknown yet, or here without --prometheus: it stays as it is"},
		"used an hour ago less a minute": {use: &workload.Use{Last: at(-59), Quiet: at(-59), Seen: at(0)},
			class: workload.ClassAwake, wake: at(1),
			text: "last used at 2037-05-11T11:01:00Z; asleep from 2037-05-11T12:01:00Z unless somebody uses it"},
		"used an hour ago": {use: &workload.Use{Last: at(-60), Quiet: at(-60), Seen: at(0)}, class: workload.ClassSleep, since: at(0),
			text: "not used since 2037-05-11T11:00:00Z, at least"},
		"never used as far as known": {use: &workload.Use{Quiet: at(-90), Seen: at(0)}, class: workload.ClassSleep,
			text: "not used since 2037-05-11T10:30:00Z, at least"},
		"used an hour ago, the newest answer is older": {use: &workload.Use{Last: at(-60), Quiet: at(-60), Seen: at(-1)},
			class: workload.ClassKeep, wake: at(1),
			text: "no use is known since 2037-05-11T11:00:00Z; asleep from 2037-05-11T12:00:00Z unless somebody uses it: it stays as it is"},
		"quiet for a part of the time": {use: &workload.Use{Quiet: at(-30), Seen: at(0)}, class: workload.ClassKeep, wake: at(31),
			text: "no use is known since 2037-05-11T11:30:00Z; asleep from 2037-05-11T12:30:00Z unless somebody uses it: it stays as it is"},
		"no answer for three intervals": {use: &workload.Use{Last: at(-90), Quiet: at(-90), Seen: at(-3)}, class: workload.ClassKeep,
			text: "the last complete answer about it is of 2037-05-11T11:57:00Z: it stays as it is"},
		"the newest answer is incomplete": {use: &workload.Use{Last: at(-90), Seen: at(0)}, class: workload.ClassKeep,
			text: "the last complete answer about it is of 2037-05-11T12:00:00Z: it stays as it is"},
		"no series": {use: &workload.Use{Quiet: at(-90), Seen: at(0), Doubt: "no series"}, class: workload.ClassKeep,
			text: "no series: it stays as it is"},
		"new": {use: &workload.Use{Quiet: at(-90), Seen: at(0)}, awake: at(-10), class: workload.ClassAwake, wake: at(50),
			text: "counts as used at 2037-05-11T11:50:00Z; asleep from 2037-05-11T12:50:00Z unless somebody uses it"},
		"in a window, used": {use: &workload.Use{Last: at(-9), Quiet: at(-9), Seen: at(0)}, awake: at(-1), inWindow: true,
			class: workload.ClassAwake, wake: at(1),
			text: "last used at 2037-05-11T11:51:00Z; asleep from 2037-05-11T12:01:00Z unless somebody uses it"},
		"in a window, not used": {use: &workload.Use{Last: at(-11), Quiet: at(-11), Seen: at(0)}, awake: at(-1), inWindow: true,
			class: workload.ClassSleep, since: at(-1), text: "not used since 2037-05-11T11:49:00Z, at least"},
	} {
		t.Run(name, func(t *testing.T) {
			got := rule.At(c.use, noon, c.awake, c.inWindow)
			if want := (demand.Answer{Class: c.class, Since: c.since, Wake: c.wake, Text: c.text}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// world draws the true use of a target, and the answers to queries about it: missing, late, repeated, out of order and incomplete.
type world struct {
	used []time.Time
	rapid.TB
}

// seen returns the true answer at an instant. A demand looks back for at least two intervals.
func (w world) seen(at time.Time, back time.Duration) demand.Value {
	for _, u := range w.used {
		if !u.After(at) && u.After(at.Add(-back)) {
			return demand.Used
		}
	}
	return demand.Quiet
}

// lastUse returns the last true use up to an instant.
func (w world) lastUse(at time.Time) (last time.Time) {
	for _, u := range w.used {
		if !u.After(at) && u.After(last) {
			last = u
		}
	}
	return last
}

func drawWorld(r *rapid.T) world {
	w := world{TB: r}
	for _, s := range rapid.SliceOfN(rapid.IntRange(-4*3600, 4*3600), 0, 6).Draw(r, "seconds of use") {
		w.used = append(w.used, noon.Add(time.Duration(s)*time.Second))
	}
	return w
}

// TestNoUsedTargetSleeps: no sequence of missing, late, repeated or incomplete answers, and no restart, puts a target to sleep within
// asleepAfter of a use of which the last answer could tell, or keeps it asleep for longer than an answer counts.
func TestNoUsedTargetSleeps(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawWorld(r)
		now, u, step := at(-120), workload.Use{}, 3*rule.Interval
		for range rapid.IntRange(1, 200).Draw(r, "answers") {
			now = now.Add(time.Duration(rapid.IntRange(1, 240).Draw(r, "seconds to the next answer")) * time.Second)
			switch rapid.IntRange(0, 9).Draw(r, "fate") {
			case 0: // missing
			case 1:
				u = demand.Observe(u, now, 0, demand.Unknown, rule.Fresh())
			case 2: // late or repeated
				late := now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(r, "seconds late")) * time.Second)
				u = demand.Observe(u, late, 0, w.seen(late, rule.Fresh()), rule.Fresh())
			case 3:
				u = recalled(r, w, now, step)
			default:
				u = demand.Observe(u, now, 0, w.seen(now, rule.Fresh()), rule.Fresh())
			}
			if a := rule.At(&u, now, time.Time{}, false); a.Class == workload.ClassSleep {
				known := now.Add(-rule.Fresh())
				if u.Seen.After(known) {
					known = u.Seen
				}
				if last := w.lastUse(known); now.Before(last.Add(rule.AsleepAfter)) {
					r.Fatalf("asleep at %s, after use at %s: %+v", now, last, u)
				}
			}
		}
	})
}

// recalled returns the knowledge from a history alone, read in parts from the newest to the oldest, with holes.
func recalled(r *rapid.T, w world, now time.Time, step time.Duration) workload.Use {
	u := demand.Observe(workload.Use{}, now, 0, w.seen(now, rule.Fresh()), rule.Fresh())
	end := now.Truncate(rule.Interval)
	for range 5 {
		part := workload.Use{}
		first := end.Add(-9 * step)
		for i := range 10 {
			at := first.Add(time.Duration(i) * step)
			if rapid.IntRange(0, 30).Draw(r, "hole") > 0 {
				part = demand.Observe(part, at, step, w.seen(at, step+rule.Fresh()-rule.Interval), step)
			} else {
				part = demand.Observe(part, at, step, demand.Missing, step)
			}
		}
		u = demand.Join(part, u, step)
		end = first.Add(-step)
	}
	return u
}

// TestARestartNeitherWakesNorPutsToSleep: with complete answers, the knowledge from a history gives the same decision as the knowledge
// from all answers, or leaves the target as it is.
func TestARestartNeitherWakesNorPutsToSleep(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawWorld(r)
		now, u := at(-180), workload.Use{}
		asleep := false
		for range rapid.IntRange(121, 300).Draw(r, "answers") {
			now = now.Add(rule.Interval)
			u = demand.Observe(u, now, 0, w.seen(now, rule.Fresh()), rule.Fresh())
			switch rule.At(&u, now, time.Time{}, false).Class {
			case workload.ClassSleep:
				asleep = true
			case workload.ClassAwake:
				asleep = false
			}
		}
		again := recalledWhole(w, now, 3*rule.Interval)
		switch a := rule.At(&again, now, time.Time{}, false); {
		case a.Class == workload.ClassSleep && !asleep, a.Class == workload.ClassAwake && asleep:
			r.Fatalf("asleep is %t, and %+v is known after a restart: %+v, before %+v", asleep, again, a, u)
		}
	})
}

func recalledWhole(w world, now time.Time, step time.Duration) workload.Use {
	past := workload.Use{}
	end := now.Truncate(rule.Interval)
	for i := range 40 {
		at := end.Add(-time.Duration(39-i) * step)
		past = demand.Observe(past, at, step, w.seen(at, step+rule.Fresh()-rule.Interval), step)
	}
	return demand.Join(past, demand.Observe(workload.Use{}, now, 0, w.seen(now, rule.Fresh()), rule.Fresh()), step)
}

func TestValuesOfADemand(t *testing.T) {
	r := demand.Rule{Above: 0.5}
	zero := 0.0
	for v, want := range map[float64]demand.Value{0: demand.Quiet, 0.5: demand.Quiet, 0.6: demand.Used, -1: demand.Quiet,
		1 / zero: demand.Unknown, -1 / zero: demand.Unknown} {
		if got := r.Of(v); got != want {
			t.Errorf("%g is %d, want %d", v, got, want)
		}
	}
	if got := r.Of(zero / zero); got != demand.Unknown {
		t.Errorf("no number is %d", got)
	}
}

// TestReplayCountsSleepAndWakes: two stretches of use in a history by the minute. The target sleeps two hours after each, and after an
// unknown minute two hours after that.
func TestReplayCountsSleepAndWakes(t *testing.T) {
	var history []demand.Value
	add := func(v demand.Value, minutes int) {
		for range minutes {
			history = append(history, v)
		}
	}
	add(demand.Used, 10)
	add(demand.Quiet, 180) // asleep for 60 minutes and a step
	add(demand.Used, 1)
	add(demand.Quiet, 60)
	add(demand.Missing, 1)
	add(demand.Quiet, 150) // asleep from the 121st minute
	r := rule
	r.AsleepAfter = 2 * time.Hour
	got := r.Replay(history, at(0), time.Minute)
	want := demand.Replay{Total: 402 * time.Minute, Asleep: (61 + 30) * time.Minute, Unknown: time.Minute, Wakes: 1}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if idle := r.Replay(history[10:190], at(0), time.Minute); idle.Asleep != 60*time.Minute || idle.Wakes != 0 {
		t.Errorf("without use it sleeps for %s", idle.Asleep)
	}
}
