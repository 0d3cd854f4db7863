package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"time"
)

// profileCPU writes a CPU profile until stop is called. If the name is empty, it writes no profile.
func profileCPU(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(filepath.Clean(name))
	if err != nil {
		return nil, fmt.Errorf("make the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// writeHeap writes a heap profile. If the name is empty, it writes none.
func writeHeap(name string) error {
	if name == "" {
		return nil
	}
	file, err := os.Create(filepath.Clean(name))
	if err != nil {
		return fmt.Errorf("make the profile: %w", err)
	}
	if err := errors.Join(pprof.WriteHeapProfile(file), file.Close()); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	return nil
}

// serverProfile is the duration of the API server's profile: about as long as a transition takes on an idle machine.
const serverProfile = 3 * time.Second

// profile writes a CPU profile of this program, until stop is called, and a CPU profile of the API server in the same
// time. If the name is empty, it writes no profile.
func (s *stage) profile(ctx context.Context, name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	stopOwn, err := profileCPU(name + "-client.pprof")
	if err != nil {
		return nil, err
	}
	fetched := make(chan error, 1)
	go func() {
		raw, err := s.clients.Discovery().RESTClient().Get().AbsPath("/debug/pprof/profile").
			Param("seconds", strconv.Itoa(int(serverProfile.Seconds()))).DoRaw(ctx)
		if err == nil {
			err = os.WriteFile(filepath.Clean(name+"-server.pprof"), raw, 0o600)
		}
		fetched <- err
	}()
	return func() error {
		if err := errors.Join(stopOwn(), <-fetched); err != nil {
			return fmt.Errorf("write the profiles: %w", err)
		}
		return nil
	}, nil
}
