package apply_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/workload"
)

func key(name string) apply.BatchKey {
	return apply.BatchKey{Policy: workload.Policy{Kind: "Schedule", Namespace: "shop", Name: name}, Direction: workload.DirectionDown}
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func take(t *testing.T, b *apply.Batches, k apply.BatchKey, now time.Time) time.Time {
	t.Helper()
	_, again := takePlace(t, b, k, now)
	return again
}

func takePlace(t *testing.T, b *apply.Batches, k apply.BatchKey, now time.Time) (apply.Place, time.Time) {
	t.Helper()
	place, again, err := b.Take(context.Background(), k, 2, 10*time.Second, now)
	if err != nil {
		t.Fatal(err)
	}
	return place, again
}

func TestBatchLetsThroughSizeThenWaits(t *testing.T) {
	var recorded []time.Time
	b := apply.NewBatches(func(_ context.Context, _ apply.BatchKey, at time.Time) error {
		recorded = append(recorded, at)
		return nil
	})
	for i := range 2 {
		if again := take(t, b, key("a"), noon.Add(time.Duration(i)*time.Second)); !again.IsZero() {
			t.Fatalf("change %d of the first batch has to wait until %v", i, again)
		}
	}
	if again := take(t, b, key("a"), noon.Add(2*time.Second)); !again.Equal(noon.Add(10 * time.Second)) {
		t.Errorf("third change may ask again at %v, want 10 s after the batch was opened", again)
	}
	if again := take(t, b, key("b"), noon.Add(2*time.Second)); !again.IsZero() {
		t.Errorf("another policy waits until %v, want no wait", again)
	}
	if again := take(t, b, key("a"), noon.Add(10*time.Second)); !again.IsZero() {
		t.Errorf("the second batch has to wait until %v", again)
	}
	if len(recorded) != 3 {
		t.Errorf("%d batches recorded, want 3: two of a, one of b", len(recorded))
	}
}

func TestBatchReturnMakesRoom(t *testing.T) {
	b := apply.NewBatches(func(context.Context, apply.BatchKey, time.Time) error { return nil })
	take(t, b, key("a"), noon)
	place, _ := takePlace(t, b, key("a"), noon)
	b.Return(place)
	if again := take(t, b, key("a"), noon); !again.IsZero() {
		t.Errorf("room that was given back is not there: wait until %v", again)
	}
}

// TestBatchTakesBackOnlyItsOwnPlaces: a write can take longer than a batch. A place returned then belongs to the old
// batch, and makes no room in the open one.
func TestBatchTakesBackOnlyItsOwnPlaces(t *testing.T) {
	b := apply.NewBatches(func(context.Context, apply.BatchKey, time.Time) error { return nil })
	late, _ := takePlace(t, b, key("a"), noon)
	other, _ := takePlace(t, b, key("b"), noon.Add(10*time.Second))
	second := noon.Add(10 * time.Second)
	own, again := takePlace(t, b, key("a"), second)
	if !again.IsZero() {
		t.Fatalf("the second batch has to wait until %v", again)
	}
	take(t, b, key("a"), second)
	full := func(why string) {
		t.Helper()
		if again := take(t, b, key("a"), second); !again.Equal(second.Add(10 * time.Second)) {
			t.Errorf("%s: a third change of a batch of two is let through, or told to come at %v", why, again)
		}
	}
	full("nothing was given back")
	b.Return(late)
	full("a place of the batch before came back")
	b.Return(other)
	full("a place of another policy came back")
	b.Return(apply.Place{})
	full("a place in no batch came back")
	b.Return(own)
	if again := take(t, b, key("a"), second); !again.IsZero() {
		t.Errorf("its own place came back, and makes no room until %v", again)
	}
	b.Forget(key("a").Policy)
	b.Return(own) // the policy is gone
	b.Resume(key("a"), second)
	b.Return(own)
	full("the batch was taken over from an earlier run")
}

func TestBatchSurvivesRestart(t *testing.T) {
	b := apply.NewBatches(func(context.Context, apply.BatchKey, time.Time) error { return nil })
	b.Resume(key("a"), noon)
	if again := take(t, b, key("a"), noon.Add(3*time.Second)); !again.Equal(noon.Add(10 * time.Second)) {
		t.Errorf("after a restart in the middle of a batch, asks again at %v, want %v", again, noon.Add(10*time.Second))
	}
	if again := take(t, b, key("a"), noon.Add(10*time.Second)); !again.IsZero() {
		t.Errorf("after the pause the next batch waits until %v", again)
	}
}

func TestBatchThatCannotBeRecordedLetsNothingThrough(t *testing.T) {
	broken := true
	b := apply.NewBatches(func(context.Context, apply.BatchKey, time.Time) error {
		if broken {
			return errors.New("no API server")
		}
		return nil
	})
	place, again, err := b.Take(context.Background(), key("a"), 2, time.Second, noon)
	if err == nil || again.IsZero() {
		t.Fatalf("let through (again %v, err %v) though nothing was recorded", again, err)
	}
	if place != (apply.Place{}) {
		t.Errorf("has a place (%v) in a batch that was not recorded", place)
	}
	broken = false
	if again := take(t, b, key("a"), noon.Add(time.Second)); !again.IsZero() {
		t.Errorf("still waits until %v after the record works again", again)
	}
}

func TestBatchBeingOpenedLetsOthersAskAgain(t *testing.T) {
	var b *apply.Batches
	b = apply.NewBatches(func(ctx context.Context, k apply.BatchKey, at time.Time) error {
		if _, _, err := b.Take(ctx, k, 2, 10*time.Second, at); !errors.Is(err, apply.ErrOpening) {
			t.Errorf("while the batch is recorded, error %v, want ErrOpening", err)
		}
		return nil
	})
	for range 2 {
		if again := take(t, b, key("a"), noon); !again.IsZero() {
			t.Errorf("has to wait until %v, though nobody else took room", again)
		}
	}
}

// TestBatchNeverExceedsSize plays random arrivals, restarts and returned places, early or late, and counts, for every
// batch length, the places taken and not returned.
func TestBatchNeverExceedsSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 4).Draw(t, "size")
		delay := time.Duration(rapid.IntRange(1, 10).Draw(t, "delay")) * time.Second
		var opened []time.Time
		record := func(_ context.Context, _ apply.BatchKey, at time.Time) error { opened = append(opened, at); return nil }
		b := apply.NewBatches(record)
		type passed struct {
			at    time.Time
			place apply.Place
		}
		var through []passed
		now := noon
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "step")) * time.Millisecond)
			if rapid.IntRange(0, 30).Draw(t, "crash") == 0 {
				b = apply.NewBatches(record)
				if len(opened) > 0 {
					b.Resume(key("a"), opened[len(opened)-1])
				}
			}
			if len(through) > 0 && rapid.IntRange(0, 5).Draw(t, "return") == 0 {
				i := rapid.IntRange(0, len(through)-1).Draw(t, "place")
				b.Return(through[i].place)
				through = append(through[:i], through[i+1:]...)
			}
			place, again, err := b.Take(context.Background(), key("a"), size, delay, now)
			if err != nil {
				t.Fatal(err)
			}
			if again.IsZero() {
				through = append(through, passed{now, place})
			} else if !again.After(now) {
				t.Fatalf("told at %v to ask again at %v", now, again)
			}
		}
		for i := 1; i < len(opened); i++ {
			if gap := opened[i].Sub(opened[i-1]); gap < delay {
				t.Fatalf("batches opened %v apart, want at least %v", gap, delay)
			}
			count := 0
			for _, p := range through {
				if !p.at.Before(opened[i-1]) && p.at.Before(opened[i]) {
					count++
				}
			}
			if count > size {
				t.Fatalf("%d changes in one batch of %d", count, size)
			}
		}
	})
}
