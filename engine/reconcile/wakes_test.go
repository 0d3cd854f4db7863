package reconcile

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func wakeOf(i int) wakeKey {
	return wakeKey{target: workload.Ref{GroupKind: schema.GroupKind{Kind: "X"}, Name: fmt.Sprint(i)}}
}

// TestWakesFireWhatIsDueInOrder compares the heap with a plain map, under random settings and steps of the clock.
func TestWakesFireWhatIsDueInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := clocktesting.NewFakeClock(noon)
		w := newWakes(clock)
		want := map[wakeKey]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "step") > 0 {
				key := wakeOf(rapid.IntRange(0, 9).Draw(t, "key"))
				at := time.Time{}
				if rapid.IntRange(0, 5).Draw(t, "remove") > 0 {
					at = noon.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "at")) * time.Second)
				}
				w.Set(key, at)
				if at.IsZero() {
					delete(want, key)
				} else {
					want[key] = at
				}
				continue
			}
			clock.Step(time.Duration(rapid.IntRange(0, 120).Draw(t, "seconds")) * time.Second)
			var fired []wakeKey
			wait := w.fireDue(func(due []wakeKey) { fired = append(fired, due...) })
			for i, k := range fired {
				if want[k].IsZero() || want[k].After(clock.Now()) {
					t.Fatalf("%v fired though it is due at %v, now %v", k, want[k], clock.Now())
				}
				if i > 0 && want[k].Before(want[fired[i-1]]) {
					t.Fatalf("%v fired after a later one", k)
				}
			}
			next := time.Duration(-1)
			for k, at := range want {
				if !at.After(clock.Now()) {
					if !slices.Contains(fired, k) {
						t.Fatalf("%v is due and did not fire", k)
					}
					delete(want, k)
				} else if d := at.Sub(clock.Now()); next < 0 || d < next {
					next = d
				}
			}
			if wait != next {
				t.Fatalf("waits %v for the next, want %v", wait, next)
			}
		}
	})
}

func TestWakesRunWakesForASoonerOne(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	w := newWakes(clock)
	fired := make(chan wakeKey, 10)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func(due []wakeKey) {
			for _, k := range due {
				fired <- k
			}
		})
	}()
	w.Set(wakeOf(1), noon.Add(time.Hour))
	w.Set(wakeOf(2), noon.Add(time.Minute))
	deadline := time.After(time.Minute)
	for {
		clock.Step(10 * time.Second)
		select {
		case k := <-fired:
			if k != wakeOf(2) {
				t.Fatalf("%v fired first", k)
			}
			stop()
			<-done
			return
		case <-deadline:
			t.Fatal("the sooner wake-up never fired")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestContestSlowsDownToOneAMinute(t *testing.T) {
	c := newContests()
	ref := wakeOf(1).target
	now := noon
	var corrected []time.Time
	for now.Before(noon.Add(30 * time.Minute)) {
		if again := c.Hold(ref, now, true); !again.IsZero() {
			if !again.After(now) {
				t.Fatalf("told at %v to come again at %v", now, again)
			}
			now = again
			continue
		}
		name := ""
		if c.Unnamed(ref, now) {
			name = "argocd"
		}
		c.Corrected(ref, now, name)
		corrected = append(corrected, now)
	}
	for i := 4; i < len(corrected); i++ {
		if gap := corrected[i].Sub(corrected[i-1]); gap < time.Minute {
			t.Errorf("correction %d came %v after the one before, want at least a minute", i, gap)
		}
	}
	if got := c.Writer(ref); got != "argocd" {
		t.Errorf("the other writer is %q, want argocd", got)
	}
	last := corrected[len(corrected)-1]
	if again := c.Calm(ref, last.Add(peace-time.Second)); !again.Equal(last.Add(peace)) {
		t.Errorf("before peace, looks again at %v", again)
	}
	c.Calm(ref, last.Add(peace))
	if got := c.Writer(ref); got != "" {
		t.Errorf("after peace the contest with %q goes on", got)
	}
	if again := c.Hold(ref, last.Add(peace), true); !again.IsZero() {
		t.Errorf("after peace a correction waits until %v", again)
	}
	if again := c.Hold(ref, last, false); !again.IsZero() {
		t.Errorf("what is no correction waits until %v", again)
	}
}

func TestContestKnowsAWriteThatWasUndoneWithItsLedger(t *testing.T) {
	c := newContests()
	ref, other := wakeOf(1).target, wakeOf(2).target
	nights := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	asleep, awake := digest(adapter.Result{By: nights, Message: "replicas 3 -> 0"}), digest(adapter.Result{By: nights, Message: "replicas 0 -> 3"})
	others := digest(adapter.Result{By: workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "weekends"}, Message: "replicas 3 -> 0"})
	c.Wrote(ref, asleep, noon)
	for _, tc := range []struct {
		name string
		ref  workload.Ref
		sum  uint64
		at   time.Time
		want bool
	}{
		{"the same", ref, asleep, noon.Add(time.Minute), true},
		{"the same, long after", ref, asleep, noon.Add(peace + time.Second), false},
		{"another", ref, awake, noon.Add(time.Minute), false},
		{"that of another policy", ref, others, noon.Add(time.Minute), false},
		{"that of another target", other, asleep, noon.Add(time.Minute), false},
	} {
		if got := c.Repeated(tc.ref, tc.sum, tc.at); got != tc.want {
			t.Errorf("%s: repeated is %t, want %t", tc.name, got, tc.want)
		}
	}
	c.Wrote(ref, awake, noon.Add(time.Minute))
	if c.Repeated(ref, asleep, noon.Add(time.Minute)) {
		t.Error("to sleep again after waking repeats nothing")
	}
	c.Wrote(other, asleep, noon.Add(2*peace))
	if len(c.wrote) != 1 {
		t.Errorf("%d writes are remembered, want the one that is not long past", len(c.wrote))
	}
	c.Forget(other)
	if c.Repeated(other, asleep, noon.Add(2*peace)) {
		t.Error("a target that is gone is remembered")
	}
}

func TestUnknownNamespaceKeepsWhatIs(t *testing.T) {
	e := &Engine{namespaces: nothing{}}
	nights := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	obj := &workload.Object{Namespace: "shop", Name: "web", Ledger: workload.Ledger{{Pointer: "/spec/replicas", By: nights.String()}}}
	v, intents := e.opinions(&kind{}, obj, noon)
	want := []workload.Intent{{By: nights, Class: workload.ClassKeep}}
	if len(v.opinions) != 0 || !reflect.DeepEqual(intents, want) {
		t.Errorf("in a namespace not seen yet: %d opinions, intents %+v, want %+v", len(v.opinions), intents, want)
	}
}

// nothing is a watch that has seen nothing.
type nothing struct{ objects }

func (nothing) Get(string, string) *workload.Object { return nil }

func TestLedgersAreIdempotentAndSayWhatEmptied(t *testing.T) {
	l := newLedgers()
	ref := wakeOf(1).target
	nights := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	ledger := workload.Ledger{{Pointer: "/spec/replicas", By: nights.String()}, {Pointer: "/spec/paused", By: nights.String()}}
	for i := range 2 {
		if emptied, turned := l.Update(ref, ledger); len(emptied) > 0 || turned != (i == 0) {
			t.Fatalf("adding, time %d, emptied %v and turned the kind: %t", i+1, emptied, turned)
		}
	}
	if l.OfPolicy(nights) != 1 || l.OfKind(ref.GroupKind) != 1 || len(l.Refs(nights)) != 1 {
		t.Errorf("counts %d, %d, %d; want one object", l.OfPolicy(nights), l.OfKind(ref.GroupKind), len(l.Refs(nights)))
	}
	emptied, kind := l.Update(ref, nil)
	if len(emptied) != 1 || emptied[0] != nights || !kind {
		t.Errorf("removing the last emptied %v, %t", emptied, kind)
	}
	if emptied, kind := l.Update(ref, nil); len(emptied) > 0 || kind {
		t.Errorf("removing it again emptied %v, %t", emptied, kind)
	}
}

func TestGovernors(t *testing.T) {
	g := newGovernors()
	hpa, web, api := wakeOf(1).target, wakeOf(2).target, wakeOf(3).target
	if before := g.Set(hpa, web); before != (workload.Ref{}) {
		t.Errorf("governed %v before", before)
	}
	if before := g.Set(hpa, api); before != web {
		t.Errorf("governed %v before, want %v", before, web)
	}
	if of := g.Of(web); len(of) != 0 {
		t.Errorf("%v is still governed by %v", web, of)
	}
	if of := g.Of(api); len(of) != 1 || of[0] != hpa {
		t.Errorf("%v is governed by %v", api, of)
	}
	g.DropKind(hpa.GroupKind)
	if of := g.Of(api); len(of) != 0 {
		t.Errorf("after its kind is gone, %v still governs", of)
	}
}
