package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const rootModule = "flyball.dev/flyball"

// FindSource returns the directory of this module, below the root of the repository. The operator's go.mod, in or above
// the working directory, marks the root.
func FindSource() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		module, err := moduleOf(filepath.Join(dir, "go.mod"))
		if err != nil {
			return "", err
		}
		if module == rootModule {
			return filepath.Join(dir, "test", "cluster"), nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of module %s in %s or above it", rootModule, start)
		}
	}
}

// moduleOf returns the module path of a go.mod file, or "" if there is no file.
func moduleOf(file string) (string, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read module path: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if path, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`), nil
		}
	}
	return "", lines.Err()
}
