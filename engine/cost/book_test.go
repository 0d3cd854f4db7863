package cost

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/workload"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

func TestBudgetsSaveUpForFiveSeconds(t *testing.T) {
	b := &budget{rate: 2, saved: 10}
	now, taken := start, 0
	for b.take(now) == 0 {
		taken++
	}
	if taken != 10 {
		t.Errorf("%d writes at once", taken)
	}
	if wait := b.take(now); wait != 500*time.Millisecond {
		t.Errorf("the next one comes after %s", wait)
	}
	if now = now.Add(500 * time.Millisecond); b.take(now) != 0 || b.take(now) == 0 {
		t.Error("after half a second there is not one write")
	}
	now, taken = now.Add(time.Hour), 0
	for b.take(now) == 0 {
		taken++
	}
	if taken != 10 {
		t.Errorf("%d writes at once after an hour", taken)
	}
}

func TestWritesOfTheLastHour(t *testing.T) {
	b, id := newBook(), workload.Policy{Kind: "K", Name: "p"}
	for i := range 90 {
		b.wrote(id, start.Add(time.Duration(i)*time.Minute))
	}
	at := start.Add(89 * time.Minute)
	if got := b.summary(id, at).Writes; got != 60 {
		t.Errorf("%d writes in the last hour", got)
	}
	if ids := b.aged(at); len(ids) > 0 {
		t.Errorf("%v have changed at once", ids)
	}
	at = at.Add(30 * time.Minute)
	if ids := b.aged(at); len(ids) != 1 {
		t.Errorf("%v have changed after half an hour", ids)
	}
	if got := b.summary(id, at).Writes; got != 30 {
		t.Errorf("%d writes half an hour later", got)
	}
}

func TestSummaries(t *testing.T) {
	b, id, other := newBook(), workload.Policy{Kind: "K", Name: "p"}, workload.Policy{Kind: "K", Name: "q"}
	web, api := workload.Ref{Name: "web"}, workload.Ref{Name: "api"}
	b.set(web, id, stat{pods: 10, spread: 3, half: 0, foreign: map[string]int{"x": 2}})
	b.note(web, Note{Policy: id})
	b.set(api, id, stat{pods: 5, spread: 1, half: 2, foreign: map[string]int{"x": 1, "y": 1}})
	b.note(api, Note{Policy: id})
	if s := b.summary(id, start); s.Pods != 15 || s.Spread != 3 || s.SpreadAtHalf != 2 || s.Foreign["x"] != 3 || s.Foreign["y"] != 1 {
		t.Errorf("%+v", s)
	}
	b.set(api, other, stat{pods: 5})
	b.note(api, Note{Policy: other})
	if got, was := b.drop(web); got != id || !was {
		t.Errorf("web was of %v: %t", got, was)
	}
	if s := b.summary(id, start); s.Pods != 0 {
		t.Errorf("of what has gone to another or was dropped there is still %+v", s)
	}
}

func TestCostsLingerAfterTheClaim(t *testing.T) {
	b, web := newBook(), workload.Ref{Name: "web"}
	if b.claim(web, false, start) || b.lingers(web, start) > 0 {
		t.Error("what was never claimed lingers")
	}
	if !b.claim(web, true, start) || b.claim(web, true, start) {
		t.Error("a claim is news once")
	}
	if !b.claim(web, false, start) || b.lingers(web, start.Add(time.Second)) != lingering-time.Second || b.lingers(web, start.Add(lingering)) != 0 {
		t.Error("costs do not stay for three seconds")
	}
	b.claim(web, true, start)
	b.claim(web, false, start)
	if b.claim(web, true, start); b.lingers(web, start) > 0 {
		t.Error("what is claimed again lingers")
	}
}

func TestWhatIsWrittenCountsUntilTheWatchBringsIt(t *testing.T) {
	w := newWritten()
	w.add(fleet.Change{Pod: &fleet.Pod{UID: "u", Version: "1"}, Cost: -7}, start)
	for version, want := range map[string]int32{"1": -7, "2": 0} {
		f := &fleet.Fleet{Own: "flyball", Pods: []*fleet.Pod{{UID: "u", Version: version}}}
		if w.overlay(f, start); f.Pods[0].Cost != want {
			t.Errorf("as of version %s the pod costs %d", version, f.Pods[0].Cost)
		}
	}
}

func TestWhatKeepsBeingRemovedIsLeft(t *testing.T) {
	w := newWritten()
	c := fleet.Change{Pod: &fleet.Pod{UID: "u", Version: "1"}, Cost: -7}
	for i := range tries {
		if w.isUndone(c, start) {
			t.Fatalf("left after %d writes", i)
		}
		w.add(c, start)
	}
	if !w.isUndone(c, start) || w.isUndone(fleet.Change{Pod: c.Pod, Cost: -8}, start) {
		t.Error("the same cost is not left, or another one is")
	}
	if w.isUndone(c, start.Add(patience+time.Second)) {
		t.Error("it is left for ever")
	}
}
