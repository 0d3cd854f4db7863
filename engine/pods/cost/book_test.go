package cost

import (
	"errors"
	"slices"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

var start = time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)

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

// The writes in a status count for an hour from the last write. A restart does not extend the hour.
func TestWritesOfTheLastHourSurviveRestarts(t *testing.T) {
	id := workload.Policy{Kind: "K", Name: "p"}
	for range 3 { // the manager restarts several times
		b := newBook()
		b.resume(id, 30, start)
		b.wrote(id, start.Add(30*time.Minute))
		for after, want := range map[time.Duration]int{40 * time.Minute: 31, 61 * time.Minute: 1, 91 * time.Minute: 0} {
			if got := b.summary(id, start.Add(after)).Writes; got != want {
				t.Errorf("after %s there are %d writes in the last hour, want %d", after, got, want)
			}
		}
		if last := b.summary(id, start).LastWrite; !last.Equal(start.Add(30 * time.Minute)) {
			t.Errorf("the last write was at %s", last)
		}
	}
}

func TestSummariesAddUpOverTargets(t *testing.T) {
	b, id, other := newBook(), workload.Policy{Kind: "K", Name: "p"}, workload.Policy{Kind: "K", Name: "q"}
	web, api := workload.Ref{Name: "web"}, workload.Ref{Name: "api"}
	b.setStats(web, id, stats{pods: 10, spread: 3, spreadAtHalf: 0, foreign: map[string]int{"x": 2}})
	b.setStatus(web, PodStatus{Policy: id})
	b.setStats(api, id, stats{pods: 5, spread: 1, spreadAtHalf: 2, foreign: map[string]int{"x": 1, "y": 1}})
	b.setStatus(api, PodStatus{Policy: id})
	if s := b.summary(id, start); s.Pods != 15 || s.Spread != 3 || s.SpreadAtHalf != 2 || s.Foreign["x"] != 3 || s.Foreign["y"] != 1 {
		t.Errorf("%+v", s)
	}
	b.setStats(api, other, stats{pods: 5})
	b.setStatus(api, PodStatus{Policy: other})
	if got, was := b.drop(web); got != id || !was {
		t.Errorf("web was of %v: %t", got, was)
	}
	if s := b.summary(id, start); s.Pods != 0 {
		t.Errorf("of what has gone to another or was dropped there is still %+v", s)
	}
}

func TestCostsLingerAfterTheClaim(t *testing.T) {
	b, web := newBook(), workload.Ref{Name: "web"}
	if b.claim(web, false, true, start) || b.gracePeriod(web, start) > 0 {
		t.Error("what was never claimed lingers")
	}
	if !b.claim(web, true, false, start) || b.claim(web, true, false, start) {
		t.Error("a claim is news once")
	}
	if !b.claim(web, false, true, start) || b.gracePeriod(web, start.Add(time.Second)) != lingering-time.Second ||
		b.gracePeriod(web, start.Add(lingering)) != 0 {
		t.Error("costs do not stay for three seconds")
	}
	b.claim(web, true, false, start)
	if b.claim(web, false, false, start); b.gracePeriod(web, start) > 0 {
		t.Error("the costs of a target that stays linger")
	}
	b.claim(web, true, false, start)
	b.claim(web, false, true, start)
	if b.claim(web, true, false, start); b.gracePeriod(web, start) > 0 {
		t.Error("what is claimed again lingers")
	}
}

func TestWrittenCostsCountUntilTheWatchDeliversThem(t *testing.T) {
	w := newWritten()
	w.add(workload.CostChange{Pod: &workload.Pod{UID: "u", Version: "1"}, Cost: -7}, start)
	for version, want := range map[string]int32{"1": -7, "2": 0} {
		f := &workload.Fleet{Own: "flyball", Pods: []*workload.Pod{{UID: "u", Version: version}}}
		if w.setCostsIn(f, start); f.Pods[0].Cost != want {
			t.Errorf("as of version %s the pod costs %d", version, f.Pods[0].Cost)
		}
	}
}

func TestRepeatedlyRemovedCostsAreLeft(t *testing.T) {
	w := newWritten()
	c := workload.CostChange{Pod: &workload.Pod{UID: "u", Version: "1"}, Cost: -7}
	for i := range tries {
		if w.isUndone(c, start) {
			t.Fatalf("left after %d writes", i)
		}
		w.add(c, start)
	}
	if !w.isUndone(c, start) || w.isUndone(workload.CostChange{Pod: c.Pod, Cost: -8}, start) {
		t.Error("the same cost is not left, or another one is")
	}
	if w.isUndone(c, start.Add(patience+time.Second)) {
		t.Error("it is left for ever")
	}
}

// Pods with a refused cost do not delay the others.
func TestRefusedPodsAreTriedLast(t *testing.T) {
	w := newWritten()
	var changes []workload.CostChange
	for _, uid := range []string{"a", "b", "c", "d"} {
		changes = append(changes, workload.CostChange{Pod: &workload.Pod{UID: uid}})
	}
	w.refuse(changes[1].Pod, start, errors.New("no"))
	w.refuse(changes[0].Pod, start.Add(time.Second), errors.New("never"))
	order := func(now time.Time) (uids string) {
		all := slices.Clone(changes)
		w.sortRefusedIn(all, now)
		for _, c := range all {
			uids += c.Pod.UID
		}
		return uids
	}
	if got := order(start.Add(2 * time.Second)); got != "cdba" {
		t.Errorf("they are tried as %s", got)
	}
	if got := order(start.Add(patience + time.Minute)); got != "abcd" {
		t.Errorf("much later they are tried as %s", got)
	}
	if got := w.refusalOf([]*workload.Pod{changes[2].Pod, changes[0].Pod}); got != "never" {
		t.Errorf("they are refused because of %q", got)
	}
	if got := w.refusalOf([]*workload.Pod{changes[2].Pod}); got != "" {
		t.Errorf("one that is not refused is refused because of %q", got)
	}
}

// If the API server accepts a cost but the pod is unchanged, the cost does not count as set and is not retried soon.
func TestWritesWithoutEffectAreNotRetriedSoon(t *testing.T) {
	w := newWritten()
	c := workload.CostChange{Pod: &workload.Pod{UID: "a", Version: "7"}, Cost: -3}
	w.addUndone(c, start)
	f := &workload.Fleet{Own: "flyball", Pods: []*workload.Pod{{UID: "a", Version: "7"}}}
	w.setCostsIn(f, start)
	if p := f.Pods[0]; p.Cost != 0 || p.Writer != "" {
		t.Errorf("it counts as set: %+v", p)
	}
	if !w.isUndone(c, start.Add(patience)) || w.isUndone(c, start.Add(patience+time.Second)) {
		t.Error("it is to be left for ten minutes")
	}
}
