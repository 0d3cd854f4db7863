package rollout_test

import (
	"slices"
	"testing"
	"time"

	"flyball.dev/flyball/engine/tuning/rollout"
	"flyball.dev/flyball/engine/workload"
)

var rolling = workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}

func named(name string) workload.Ref { return workload.Ref{Namespace: "shop", Name: name} }

func rollOut(name string) rollout.Turn { return rollout.Turn{Ref: named(name)} }

func inPlace(name string) rollout.Turn { return rollout.Turn{Ref: named(name), InPlace: true} }

// asks has the Rollouts under test, and the targets that it has queued again since the last check.
type asks struct {
	*rollout.Places
	again []string
}

func newAsks() *asks {
	a := &asks{}
	a.Places = rollout.NewPlaces(func(refs ...workload.Ref) {
		for _, ref := range refs {
			a.again = append(a.again, ref.Name)
		}
	})
	return a
}

func (a *asks) called(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(a.again, want) {
		t.Errorf("asked for again: %v, want %v", a.again, want)
	}
	a.again = nil
}

func yes() bool { return true }
func no() bool  { return false }

// TestRolloutsInTurn: a shortage of memory comes first, then the longest wait; a freed place goes to the next.
func TestRolloutsInTurn(t *testing.T) {
	r, now := newAsks(), time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	take := func(name string, memory bool, since time.Duration) bool {
		_, ok := r.Take(rolling, rollOut(name), "1", rollout.Need{Memory: memory, Since: now.Add(-since)}, 2, now)
		return ok
	}
	for _, step := range []struct {
		name   string
		memory bool
		since  time.Duration
		want   bool
	}{
		{"a", false, 0, true}, {"b", false, 0, true}, {"b", false, 0, true}, // it has its place
		{"new", false, time.Minute, false}, {"old", false, time.Hour, false}, {"short", true, 0, false},
	} {
		if got := take(step.name, step.memory, step.since); got != step.want {
			t.Errorf("%s gets a place: %t", step.name, got)
		}
	}
	other := workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "other"}
	if took, ok := r.Take(other, rollOut("elsewhere"), "1", rollout.Need{}, 1, now); !took || !ok {
		t.Error("policies are in each other's way")
	}
	if took, ok := r.Take(other, rollOut("elsewhere"), "1", rollout.Need{}, 1, now); took || !ok {
		t.Error("who asks again, before the watch has the first write, takes a place that it would give back")
	}
	r.Record(rollOut("a"), "1", yes, now) // the object as it was before the write
	r.called(t)
	r.Record(rollOut("a"), "2", no, now)
	r.called(t)
	r.Record(rollOut("a"), "3", yes, now)
	r.called(t, "short")
	if take("old", false, time.Hour) {
		t.Error("old comes before short")
	}
	if !take("short", true, 0) {
		t.Error("short has no place")
	}
	r.Return(rollOut("b")) // its write was refused
	r.called(t, "old")
	r.Record(rollOut("old"), "1", no, now)
	r.EndWait(rollOut("old")) // it needs none any more
	r.called(t, "new")
	if !take("new", false, time.Minute) || r.Waits(rollOut("new")) || r.Waits(rollOut("old")) {
		t.Error("who needs no place keeps others from one")
	}
	if running, waiting, late := r.Counts(rolling); running != 2 || waiting != 0 || late != 0 {
		t.Errorf("%d run, %d wait, %d are late", running, waiting, late)
	}
	take("gone", false, 0)
	r.Forget(rolling)
	if running, waiting, _ := r.Counts(rolling); running+waiting != 0 {
		t.Error("a policy that is gone is remembered")
	}
}

// TestLateRollouts checks that late roll-outs lose their place, are reported until they have settled, and then wait for
// a place like all others.
func TestLateRollouts(t *testing.T) {
	r, now := newAsks(), time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	take := func(name string) bool {
		_, ok := r.Take(rolling, rollOut(name), "1", rollout.Need{}, 1, now)
		return ok
	}
	if !take("slow") || take("next") {
		t.Fatal("not one at a time")
	}
	if at := r.Deadline(named("slow")); !at.Equal(now.Add(rollout.Longest)) {
		t.Errorf("late at %s", at)
	}
	r.Record(rollOut("slow"), "2", no, now.Add(rollout.Longest-1))
	r.called(t)
	r.Record(rollOut("slow"), "2", no, now.Add(rollout.Longest))
	r.called(t, "next")
	if by, late := r.Late(named("slow")); !late || by != rolling || !r.Deadline(named("slow")).IsZero() {
		t.Error("it is not late")
	}
	if !take("next") || take("slow") {
		t.Error("what is late keeps its place")
	}
	r.Record(rollOut("slow"), "3", yes, now.Add(time.Hour))
	if _, late := r.Late(named("slow")); late {
		t.Error("it is late after it has settled")
	}
}

// TestRolloutsOfAnEarlierRun checks that roll-outs of an earlier run keep their places until they have settled.
func TestRolloutsOfAnEarlierRun(t *testing.T) {
	r, now := newAsks(), time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	for range 2 {
		r.Resume(rolling, now, func() []rollout.Turn { return []rollout.Turn{rollOut("begun")} })
	}
	r.called(t, "begun") // once, and it may have settled meanwhile
	if _, ok := r.Take(rolling, rollOut("next"), "1", rollout.Need{}, 1, now); ok {
		t.Error("an earlier run's roll-out does not count")
	}
	r.Record(rollOut("begun"), "9", yes, now)
	r.called(t, "next")
}

// TestRestartsInPlaceTakeTurns checks that restarts in place and roll-outs share the places, and that a target with both
// has one place.
func TestRestartsInPlaceTakeTurns(t *testing.T) {
	r, now := newAsks(), time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	take := func(turn rollout.Turn) bool {
		_, ok := r.Take(rolling, turn, "", rollout.Need{}, 1, now)
		return ok
	}
	if !take(rollOut("a")) || take(inPlace("b")) || !take(inPlace("a")) {
		t.Error("the one place is not that of a")
	}
	if running, waiting, late := r.Counts(rolling); running != 1 || waiting != 1 || late != 0 {
		t.Errorf("%d run, %d wait, %d are late", running, waiting, late)
	}
	r.Record(rollOut("a"), "2", yes, now) // it goes on restarting pods in place
	r.called(t)
	if take(inPlace("b")) || take(rollOut("c")) {
		t.Error("two targets are disrupted at once")
	}
	r.Record(inPlace("a"), "", no, now)
	r.called(t)
	r.Record(inPlace("a"), "", yes, now)
	r.called(t, "b")
	if !take(inPlace("b")) || take(rollOut("c")) {
		t.Error("b does not come next")
	}
	if at := r.Deadline(named("b")); !at.Equal(now.Add(rollout.Longest)) {
		t.Errorf("late at %s", at)
	}
	r.Record(inPlace("b"), "", no, now.Add(rollout.Longest))
	r.called(t, "c")
	if by, late := r.Late(named("b")); !late || by != rolling || !take(rollOut("c")) {
		t.Error("restarts that hang delay the others")
	}
}
