package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// idleGoroutines counts the goroutines of a manager that has all adapters of the library and nothing to do.
func (b *bench) idleGoroutines(ctx context.Context) (err error) {
	s, err := b.start(ctx, local.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	library, err := adapters.All()
	if err != nil {
		return err
	}
	var others []string
	for i := range library {
		if library[i].Name != deployments { // which is installed already
			others = append(others, library[i].Name)
		}
	}
	if err := s.env.InstallAdapters(ctx, others...); err != nil {
		return err
	}
	before, counted := runtime.NumGoroutine(), &meter{}
	m := s.env.Start(harness.Options{Config: counted.on(s.env.Config)})
	defer func() { err = errors.Join(err, m.Stop()) }()
	if err := s.env.AwaitAdapters(ctx, deployments, "cronjobs.batch"); err != nil {
		return err
	}
	if err := counted.settle(ctx, 5*time.Second, time.Minute); err != nil {
		return err
	}
	b.report.figure("goroutines_idle", float64(runtime.NumGoroutine()-before), "goroutines")
	return nil
}
