// Command generate writes the files that the Helm chart copies; run it from the root of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"flyball.dev/flyball/deploy"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate the chart's files:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	files, err := deploy.Files(root)
	if err != nil {
		return err
	}
	for _, pattern := range deploy.Copied() {
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
