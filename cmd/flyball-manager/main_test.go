package main

import (
	"runtime/debug"
	"testing"
)

// TestATenthOfTheLimitIsLeft checks that the runtime does not take the whole limit of the container.
func TestATenthOfTheLimitIsLeft(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(512 << 20)) // as GOMEMLIMIT does
	leaveMemory()
	if got, want := debug.SetMemoryLimit(-1), int64(512<<20)/100*90; got != want {
		t.Errorf("the runtime may take %d bytes, want %d", got, want)
	}
}
