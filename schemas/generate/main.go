// Command generate writes the JSON Schemas of Flyball's kinds; run it from the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"flyball.dev/flyball/schemas"
)

func main() {
	if err := run("crds", "schemas"); err != nil {
		fmt.Fprintln(os.Stderr, "generate schemas:", err)
		os.Exit(1)
	}
}

// run writes the schemas of the CRDs in one directory to another, and removes those of kinds that are gone.
func run(crds, out string) error {
	made, err := schemas.FromCRDs(crds)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(out, "*", "*_*.json"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for name, text := range made {
		file := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
