// Command controllers puts objects of the shipped kinds to sleep for three nights beside the controllers that act on them, and
// writes adapters/tried.yaml.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

func main() {
	ctx := context.Background()
	var err error
	if len(os.Args) == 3 && os.Args[1] == "manager" {
		err = serve(ctx, os.Args[2], os.Stdin)
	} else {
		err = try(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

// try runs the scenario of each manifest in adapters/*/*/real and writes the table.
func try(ctx context.Context) error {
	env, err := harness.Up(ctx, local.Options{Level: local.LevelWorkloads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Cluster.Stop()) }()
	if err := env.InstallAdapters(ctx); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(env.Root, "adapters", "*", "*", "real", "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the manifests: %w", err)
	}
	r := &run{env: env}
	for i, file := range files {
		if err := r.add(ctx, file, fmt.Sprintf("real-%d", i+1)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := r.nights(ctx); err != nil {
		return err
	}
	table := map[string]adapters.Trial{}
	for _, s := range r.scenarios {
		fmt.Printf("%-24s %-16s nights %d  exact %t  pods gone after %s  ready after %s  %v\n", s.adapter.Name, filepath.Base(s.file), s.night,
			len(s.faults) == 0, s.gone.Round(100*time.Millisecond), s.ready.Round(100*time.Millisecond), s.faults)
		t, seen := table[s.adapter.Name]
		hash, err := adapters.Hash(&s.adapter)
		if err != nil {
			return err
		}
		table[s.adapter.Name] = adapters.Trial{With: "Kubernetes 1.37.1", Date: time.Now().UTC().Format(time.DateOnly),
			Adapter: hash, Nights: s.night,
			Exact: len(s.faults) == 0 && (!seen || t.Exact), PodsGoneMilliseconds: max(s.gone.Milliseconds(), t.PodsGoneMilliseconds),
			PodsReadyMilliseconds: max(s.ready.Milliseconds(), t.PodsReadyMilliseconds), Faults: append(t.Faults, s.faults...)}
	}
	return adapters.WriteTrials(filepath.Join(env.Root, "adapters", "tried.yaml"), table)
}
