// Command controllers puts objects of the shipped kinds to sleep for three nights beside the real controllers that act on them, one
// project after another, each on a control plane of its own. It writes adapters/tried.yaml. Arguments are the projects, the folders
// beside this file; without arguments it tries all.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/test/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctrl.SetLogger(logr.Discard())
	var err error
	if len(os.Args) == 3 && os.Args[1] == "manager" {
		err = serve(ctx, os.Args[2], os.Stdin)
	} else {
		err = try(ctx, os.Args[1:])
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

// try tries the kinds of projects and writes the table. Kinds with a fault leave the table, and the error names the faults.
func try(ctx context.Context, only []string) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "test", "controllers", "*", "project.yaml"))
	if err != nil {
		return fmt.Errorf("list the projects: %w", err)
	}
	table := filepath.Join(root, "adapters", "tried.yaml")
	var faults error
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		p, err := load(file)
		if err != nil {
			return err
		}
		scenarios, err := p.nights(ctx, root)
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s: %w", name, err)) // the others are tried all the same
			continue
		}
		// Each project's rows are kept as soon as they are known.
		faults = errors.Join(faults, record(table, p, scenarios))
	}
	return faults
}

// record prints the results of a project and writes them into the table.
func record(file string, p *project, scenarios []*scenario) error {
	table, err := adapters.ReadTrials(file)
	if err != nil {
		return err
	}
	var faults error
	for _, s := range scenarios {
		fmt.Printf("%-40s %-28s %-20s nights %d  exact %-5t pods gone after %4.1f s  ready after %4.1f s\n", s.adapter.Name, p.with(),
			filepath.Base(s.file), s.night, s.fault == nil, s.gone.Seconds(), s.ready.Seconds())
		digest, err := adapters.Digest(&s.adapter)
		if err != nil {
			return err
		}
		rows := table[s.adapter.Name]
		rows = slices.DeleteFunc(rows, func(t adapters.Trial) bool { return t.LeftOut != "" || strings.HasPrefix(t.With, p.Name+" ") })
		trial := adapters.Trial{With: p.with(), Date: time.Now().UTC().Format(time.DateOnly), Adapter: digest}
		table[s.adapter.Name] = append(rows, trial)
		faults = errors.Join(faults, s.fault)
	}
	for _, s := range scenarios {
		if s.fault != nil {
			table[s.adapter.Name] = slices.DeleteFunc(table[s.adapter.Name], func(t adapters.Trial) bool { return t.With == p.with() })
		}
	}
	return errors.Join(faults, adapters.WriteTrials(file, table))
}
