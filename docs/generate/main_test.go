package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPagesAreCurrent compares docs/cli with what the commands say of themselves.
func TestPagesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	want, have := pages(t, dir), pages(t, filepath.Join("..", "cli"))
	if diff := cmp.Diff(have, want); diff != "" {
		t.Errorf("run make generate; docs/cli (-) and the commands (+) differ:\n%s", diff)
	}
	if len(want) < 5 {
		t.Errorf("there are only %d pages", len(want))
	}
}

func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}
