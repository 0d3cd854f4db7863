//go:build unix

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// tryLock takes an exclusive lock on a file, released by the kernel when its holder dies. ok is false if another
// process holds the lock.
func tryLock(path string) (f *os.File, ok bool, err error) {
	f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, false, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, true, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock %s: %w", path, err)
}

// waitLock takes the lock, waiting for its holder; waiting is called once before the first wait and must not block.
func waitLock(ctx context.Context, path string, waiting func() (stop func())) (*os.File, error) {
	var stop func()
	for {
		f, ok, err := tryLock(path)
		if err != nil || ok {
			if stop != nil {
				stop()
			}
			return f, err
		}
		if stop == nil {
			stop = waiting()
		}
		select {
		case <-ctx.Done():
			stop()
			return nil, fmt.Errorf("wait for lock %s: %w", path, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}
