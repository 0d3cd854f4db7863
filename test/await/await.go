// Package await has the wait of tests for a condition that comes true by itself. No test sleeps for a fixed time instead.
package await

import (
	"testing"
	"time"
)

// Patience is how long a test waits. It is far longer than any promise, because a busy machine may be slow.
const Patience = time.Minute

// True returns once a condition holds. It looks every millisecond, and fails the test after Patience.
func True(t testing.TB, condition string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(Patience); !holds(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", Patience, condition)
		}
	}
}

// NoError returns once a check returns no error. It checks every 20 milliseconds, and fails the test after Patience.
func NoError(t testing.TB, condition string, check func() error) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(Patience); ; <-look.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s: %v", Patience, condition, err)
		}
	}
}
