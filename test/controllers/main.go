// Command controllers puts objects of the shipped kinds to sleep for three nights beside the controllers that act on them, and
// writes adapters/tried.yaml.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/discovery"

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

// try runs the scenario of each manifest in adapters/*/*/real and writes the table. It returns an error if a scenario has faults.
func try(ctx context.Context) (err error) {
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
	server, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		return fmt.Errorf("make a client of the API server: %w", err)
	}
	version, err := server.ServerVersion()
	if err != nil {
		return fmt.Errorf("read the API server's version: %w", err)
	}
	table, faults := map[string]adapters.Trial{}, 0
	for _, s := range r.scenarios {
		fmt.Printf("%-24s %-16s nights %d  exact %t  pods gone after %s  ready after %s  %v\n", s.adapter.Name, filepath.Base(s.file), s.night,
			len(s.faults) == 0, s.gone.Round(100*time.Millisecond), s.ready.Round(100*time.Millisecond), s.faults)
		faults += len(s.faults)
		t, seen := table[s.adapter.Name]
		hash, err := adapters.Hash(&s.adapter)
		if err != nil {
			return err
		}
		table[s.adapter.Name] = adapters.Trial{With: "Kubernetes " + strings.TrimPrefix(version.GitVersion, "v"),
			Date:    time.Now().UTC().Format(time.DateOnly),
			Adapter: hash, Nights: s.night,
			Exact: len(s.faults) == 0 && (!seen || t.Exact), PodsGoneMilliseconds: max(s.gone.Milliseconds(), t.PodsGoneMilliseconds),
			PodsReadyMilliseconds: max(s.ready.Milliseconds(), t.PodsReadyMilliseconds), Faults: append(t.Faults, s.faults...)}
	}
	err = adapters.WriteTrials(filepath.Join(env.Root, "adapters", "tried.yaml"), table)
	if faults > 0 {
		err = errors.Join(err, fmt.Errorf("the scenarios have %d faults, listed above", faults))
	}
	return err
}
