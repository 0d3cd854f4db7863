package deploy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/deploy"
)

// TestCopiesAreUpToDate compares the copies with their originals. make generate writes the copies.
func TestCopiesAreUpToDate(t *testing.T) {
	want, err := deploy.Files("..")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for _, pattern := range deploy.Copied() {
		files, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name, err := filepath.Rel("..", file)
			if err != nil {
				t.Fatal(err)
			}
			if got[filepath.ToSlash(name)], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run make generate; originals (-) and copies (+) differ:\n%s", diff)
	}
}
