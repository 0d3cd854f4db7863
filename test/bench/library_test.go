package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOnlyPassingAdaptersCount checks that an adapter without golden cases, or with a case that fails, is not counted.
func TestOnlyPassingAdaptersCount(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../adapters/batch/CronJob")); err != nil {
		t.Fatal(err)
	}
	if failures := failuresOf(dir); len(failures) > 0 {
		t.Errorf("a copy of a good adapter has failures: %q", failures)
	}
	golden, err := filepath.Glob(filepath.Join(dir, "testdata", "*", "sleep-patch.json"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	if err := os.WriteFile(golden[0], []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if failures := failuresOf(dir); len(failures) == 0 {
		t.Errorf("nothing fails with another %s", golden[0])
	}
	if err := os.RemoveAll(filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	if failures := failuresOf(dir); len(failures) == 0 {
		t.Error("an adapter without cases passes")
	}
}
