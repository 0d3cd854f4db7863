package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"flyball.dev/flyball/adapters/cases"
	"flyball.dev/flyball/test/harness"
)

// library counts the adapters of the library whose golden cases pass. It names the adapters whose cases do not pass.
func (b *bench) library(ctx context.Context) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(root, "adapters", "*", "*", "adapter.yaml"))
	if err != nil {
		return fmt.Errorf("find the adapters: %w", err)
	}
	pass := 0
	for _, file := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failures := failuresOf(filepath.Dir(file))
		if len(failures) == 0 {
			pass++
			continue
		}
		b.report.say("%s does not pass: %s", file, strings.Join(failures, "; "))
	}
	b.report.figure("library_kinds", float64(pass), "kinds")
	return nil
}

// failuresOf returns the failures of the golden cases in a folder. It returns nothing if all cases pass.
func failuresOf(dir string) []string {
	results, err := cases.Run(dir, false)
	if err != nil {
		return []string{err.Error()}
	}
	var failures []string
	for _, r := range results {
		failures = slices.Concat(failures, r.Failures)
	}
	return failures
}
