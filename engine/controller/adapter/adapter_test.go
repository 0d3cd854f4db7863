package adapter

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// TestAdaptersSettleTogether has each one wait for all others: one after the other they would wait for ever.
func TestAdaptersSettleTogether(t *testing.T) {
	names := []string{"a", "b", "c"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	all.Add(len(names))
	there := make(chan struct{})
	go func() { all.Wait(); close(there) }()
	bad := errors.New("b is bad")
	err := together(names, func(name string) error {
		all.Done()
		select {
		case <-there:
		case <-ctx.Done():
			return ctx.Err()
		}
		if name == "b" {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
}
