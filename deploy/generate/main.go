// Command generate writes the JSON Schemas of Flyball's kinds and the files that the Helm chart copies. Run it from the
// root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"flyball.dev/flyball/deploy"
	"flyball.dev/flyball/schemas"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate schemas and the chart's files:", err)
		os.Exit(1)
	}
}

// run writes the files below the root, and removes files whose original is gone.
func run(root string) error {
	files, err := deploy.Files(root)
	if err != nil {
		return err
	}
	made, err := schemas.FromCRDs(filepath.Join(root, "crds"))
	if err != nil {
		return err
	}
	for name, text := range made {
		files["schemas/"+name] = text
	}
	for _, pattern := range append(deploy.Copied(), "schemas/*/*_*.json") {
		old, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, file := range old {
			if err := os.Remove(file); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
