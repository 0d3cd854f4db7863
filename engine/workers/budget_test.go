package workers

import (
	"testing"
	"time"
)

var start = time.Date(2037, 3, 2, 8, 0, 0, 0, time.UTC)

// takeAll takes all available writes, and returns the wait of the first failed take.
func takeAll(b *Budget, now time.Time) (taken int, wait time.Duration) {
	for {
		if wait = b.Take(now); wait > 0 {
			return taken, wait
		}
		taken++
	}
}

func TestBudgetsSaveUpForFiveSeconds(t *testing.T) {
	b := NewBudget(2)
	if taken, wait := takeAll(b, start); taken != 10 || wait != 500*time.Millisecond {
		t.Errorf("%d writes at once, and the next one comes after %s", taken, wait)
	}
	now := start.Add(500 * time.Millisecond)
	if taken, _ := takeAll(b, now); taken != 1 {
		t.Errorf("after half a second there are %d writes", taken)
	}
	if taken, _ := takeAll(b, now.Add(time.Hour)); taken != 10 {
		t.Errorf("%d writes at once after an hour", taken)
	}
}

// Any number of waiting targets retry at the rate of writes, and each within a minute.
func TestWaitingTargetsRetryOneByOne(t *testing.T) {
	b := &Budget{rate: 2, saved: 1}
	b.Take(start)
	for i := range 200 {
		want := min(time.Duration(i+1)*500*time.Millisecond, longestWait)
		if wait := b.Take(start); wait != want {
			t.Fatalf("target %d waits for %s, want %s", i, wait, want)
		}
	}
	now := start.Add(500 * time.Millisecond)
	if wait := b.Take(now); wait != 0 {
		t.Errorf("the first one gets nothing for %s", wait)
	}
}
